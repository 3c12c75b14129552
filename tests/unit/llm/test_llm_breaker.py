"""The circuit breaker by itself, on a clock of its own, and inside the client against a real endpoint."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposal import ReasonerUnavailable
from streams.llm import BreakerState, CircuitBreaker, Outcome
from streams.llm.breaker import LONGEST_RETRY_AFTER_SECONDS
from streams.llm.calls import CallFailed
from streams.llm.client import LlmClient
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.llm.llm_builders import SCHEMA, client_of

AWAY = CallFailed(Outcome.SERVER_ERROR, "HTTP 500", may_pass=True)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def breaker(clock: Clock, changes: list[BreakerState] | None = None, **more: Any) -> CircuitBreaker:
    told = changes if changes is not None else []
    chosen = {"failures": 3, "pause_seconds": 1.0, "max_pause_seconds": 8.0, "chance": lambda: 0.0} | more
    return CircuitBreaker(clock=clock, on_change=lambda it: told.append(it.state), **chosen)


def fail(circuit: CircuitBreaker, times: int = 1, failure: CallFailed = AWAY) -> None:
    for _ in range(times):
        ticket = circuit.admit()
        assert ticket is not None
        circuit.failed(ticket, failure)


def limited(seconds: float) -> CallFailed:
    return CallFailed(Outcome.RATE_LIMITED, "HTTP 429", may_pass=True, retry_after_seconds=seconds)


class TestByItself:
    def test_failures_in_a_row_open_it_and_no_call_goes_out(self) -> None:
        circuit = breaker(Clock())
        fail(circuit, 3)
        assert circuit.state is BreakerState.OPEN
        assert circuit.admit() is None

    def test_after_the_pause_exactly_one_call_is_the_probe(self) -> None:
        clock = Clock()
        circuit = breaker(clock)
        fail(circuit, 3)
        clock.now += 0.99
        assert circuit.admit() is None
        clock.now += 0.02
        assert [circuit.admit() is None for _ in range(4)] == [False, True, True, True]
        assert circuit.state is BreakerState.HALF_OPEN

    def test_a_probe_that_succeeds_closes_it_and_pauses_start_small_again(self) -> None:
        clock, changes = Clock(), list[BreakerState]()
        circuit = breaker(clock, changes)
        for _ in range(2):
            fail(circuit, 3)
            assert circuit.remaining_seconds == 1.0
            clock.now += 1
            fail(circuit)
            assert circuit.remaining_seconds == 2.0
            clock.now += 2
            ticket = circuit.admit()
            assert ticket is not None
            circuit.succeeded(ticket)
        opened = [BreakerState.OPEN, BreakerState.HALF_OPEN]
        assert changes == 2 * [*opened, *opened, BreakerState.CLOSED]

    @pytest.mark.parametrize(
        ("asked", "pause"), [(0.1, 1.0), (30.0, 30.0), (9e9, LONGEST_RETRY_AFTER_SECONDS), (float("inf"), 3_600.0)]
    )
    def test_retry_after_is_honoured_within_reason(self, asked: float, pause: float) -> None:
        circuit = breaker(Clock())
        fail(circuit, 3, limited(asked))
        assert circuit.remaining_seconds == pause

    def test_late_results_of_calls_from_before_change_nothing(self) -> None:
        clock = Clock()
        circuit = breaker(clock)
        early = [circuit.admit() for _ in range(10)]
        assert None not in early
        for ticket in early[:3]:
            circuit.failed(ticket or 0, AWAY)
        for ticket in early[3:6]:
            circuit.failed(ticket or 0, AWAY)
        circuit.succeeded(early[6] or 0)
        assert (circuit.state, circuit.remaining_seconds) == (BreakerState.OPEN, 1.0)
        clock.now += 1
        assert circuit.admit() is not None
        circuit.succeeded(early[7] or 0)
        circuit.left(early[8] or 0)
        circuit.failed(early[9] or 0, AWAY)
        assert circuit.state is BreakerState.HALF_OPEN

    @given(st.lists(st.tuples(st.sampled_from(["admit", "ok", "fail", "leave"]), st.integers(0, 9), st.floats(0, 3))))
    def test_whatever_happens_only_one_probe_is_out_and_it_is_never_stuck(self, steps: list[Any]) -> None:
        clock = Clock()
        circuit = breaker(clock)
        out: list[int] = []
        for what, which, seconds in steps:
            clock.now += seconds
            if what == "admit":
                before = circuit.state
                ticket = circuit.admit()
                assert (ticket is None) == (before is not BreakerState.CLOSED and circuit.state is before)
                if ticket is not None:
                    out.append(ticket)
            elif out:
                ticket = out.pop(which % len(out))
                if what == "fail":
                    circuit.failed(ticket, AWAY)
                else:
                    (circuit.succeeded if what == "ok" else circuit.left)(ticket)
            probes = [ticket for ticket in out if ticket == circuit._era]
            assert circuit.state is not BreakerState.HALF_OPEN or len(probes) == 1
        for ticket in out:
            circuit.left(ticket)
        clock.now += LONGEST_RETRY_AFTER_SECONDS * 2
        assert circuit.admit() is not None


def circuit(failures: int = 3, pause: float = 0.2, **more: Any) -> CircuitBreaker:
    return CircuitBreaker(
        failures=failures,
        pause_seconds=pause,
        max_pause_seconds=max(1.0, pause),
        clock=time.monotonic,
        chance=lambda: 0.0,
        **more,
    )


async def ask(client: LlmClient) -> str:
    """How one question ends."""
    try:
        await client.ask("Well?", SCHEMA, name="test", max_tokens=50)
    except ReasonerUnavailable as error:
        return error.outcome
    return "ok"


class TestInTheClient:
    @pytest.mark.parametrize("status", [401, 403, 404])
    async def test_a_wrong_key_or_model_opens_it_too_and_is_told_apart(self, status: int) -> None:
        async with OpenAiServer(Act(Do.FAIL, status=status)) as server:
            breaker = circuit(failures=2, pause=60.0)
            client = client_of(server, breaker=breaker)
            assert [await ask(client) for _ in range(3)] == ["client-error", "client-error", "circuit-open"]
            assert breaker.failure is not None
            assert breaker.failure.misconfigured
            await client.aclose()

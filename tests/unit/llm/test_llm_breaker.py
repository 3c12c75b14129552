"""The circuit breaker by itself, on a clock of its own, and inside the client against a real endpoint."""

import asyncio
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposal import ReasonerUnavailable
from streams.llm import BreakerState, CallRecord, CircuitBreaker, EndpointAway, Outcome
from streams.llm.breaker import LONGEST_RETRY_AFTER_SECONDS
from streams.llm.client import LlmClient
from streams.llm.failures import CallFailed
from tests.openai_server import Act, Do, OpenAiServer
from tests.patience import PATIENCE_SECONDS
from tests.unit.llm.llm_builders import SCHEMA, client_of, until

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

    def test_an_answer_in_between_starts_the_count_again(self) -> None:
        circuit = breaker(Clock())
        for _ in range(5):
            fail(circuit, 2)
            ticket = circuit.admit()
            assert ticket is not None
            circuit.succeeded(ticket)
        assert circuit.state is BreakerState.CLOSED

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

    def test_each_failed_probe_doubles_the_pause_up_to_the_longest(self) -> None:
        clock, pauses = Clock(), list[float]()
        circuit = breaker(clock)
        fail(circuit, 3)
        for _ in range(6):
            pauses.append(circuit.remaining_seconds)
            clock.now += circuit.remaining_seconds
            fail(circuit)
            assert circuit.still_away
        assert pauses == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]

    def test_chance_makes_pauses_longer_never_shorter(self) -> None:
        circuit = breaker(Clock(), chance=lambda: 1.0)
        fail(circuit, 3)
        assert circuit.remaining_seconds == pytest.approx(1.1)

    @pytest.mark.parametrize(
        ("asked", "pause"), [(0.1, 1.0), (30.0, 30.0), (9e9, LONGEST_RETRY_AFTER_SECONDS), (float("inf"), 3_600.0)]
    )
    def test_retry_after_is_honoured_within_reason(self, asked: float, pause: float) -> None:
        circuit = breaker(Clock())
        fail(circuit, 3, limited(asked))
        assert circuit.remaining_seconds == pause

    def test_a_long_retry_after_does_not_make_later_pauses_long(self) -> None:
        clock = Clock()
        circuit = breaker(clock)
        fail(circuit, 3, limited(600.0))
        clock.now += 600
        fail(circuit)
        assert circuit.remaining_seconds == 2.0

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

    def test_a_probe_that_is_cancelled_leaves_its_place_to_the_next(self) -> None:
        clock = Clock()
        circuit = breaker(clock)
        fail(circuit, 3)
        clock.now += 1
        ticket = circuit.admit()
        assert ticket is not None
        circuit.left(ticket)
        assert circuit.admit() is not None

    def test_zero_failures_never_open_it(self) -> None:
        circuit = breaker(Clock(), failures=0)
        fail(circuit, 100)
        assert circuit.state is BreakerState.CLOSED

    @pytest.mark.parametrize("wrong", [{"failures": -1}, {"pause_seconds": -1.0}, {"max_pause_seconds": 0.5}])
    def test_numbers_that_make_no_sense_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match="must not be"):
            breaker(Clock(), **wrong)

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


@pytest.fixture
def calls() -> list[CallRecord]:
    return []


async def ask(client: LlmClient) -> str:
    """How one question ends."""
    try:
        await client.ask("Well?", SCHEMA, name="test", max_tokens=50)
    except ReasonerUnavailable as error:
        return error.outcome
    return "ok"


class TestInTheClient:
    async def test_an_open_circuit_lets_nothing_out(self, calls: list[CallRecord]) -> None:
        async with OpenAiServer(Act(Do.FAIL)) as server:
            client = client_of(server, calls, attempts=2, breaker=circuit(failures=4, pause=60.0))
            assert [await ask(client) for _ in range(5)] == ["server-error", "server-error", *["circuit-open"] * 3]
            assert len(server.bodies) == 4
        assert {call.outcome for call in calls} == {Outcome.SERVER_ERROR}
        await client.aclose()

    async def test_retries_end_when_it_opens_and_say_why(self) -> None:
        async with OpenAiServer(Act(Do.FAIL)) as server:
            client = client_of(server, attempts=9, breaker=circuit(failures=3, pause=60.0))
            with pytest.raises(EndpointAway, match=r"HTTP 500 .*\(3 calls\)") as caught:
                await client.ask("Well?", SCHEMA, name="test", max_tokens=50)
            assert caught.value.outcome == "server-error"
            assert not caught.value.passable()
            await client.aclose()

    async def test_who_pauses_before_a_retry_does_not_sleep_on_when_it_opens(self) -> None:
        async with OpenAiServer() as server:
            server.then(Act(Do.RATE_LIMIT, retry_after="30"))
            client = client_of(server, attempts=2, max_retry_seconds=30.0, breaker=circuit(failures=2, pause=60.0))
            pausing = asyncio.create_task(ask(client))
            await until(lambda: bool(server.bodies))
            server.always = Act(Do.FAIL)
            assert await ask(client) == "server-error"
            assert await asyncio.wait_for(pausing, PATIENCE_SECONDS) == "circuit-open"
            await client.aclose()

    async def test_the_endpoint_is_back_when_one_probe_says_so(self) -> None:
        async with OpenAiServer(Act(Do.FAIL)) as server:
            breaker = circuit(failures=2)
            client = client_of(server, attempts=1, breaker=breaker)
            for _ in range(2):
                await ask(client)
            server.always = Act(delay=0.2)
            await until(lambda: breaker.passable)
            ends = await asyncio.gather(*(ask(client) for _ in range(8)))
            assert sorted(ends) == [*["circuit-open"] * 7, "ok"]
            assert await ask(client) == "ok"
            assert (server.peak, len(server.bodies)) == (1, 4)
            await client.aclose()

    @pytest.mark.parametrize("status", [401, 403, 404])
    async def test_a_wrong_key_or_model_opens_it_too_and_is_told_apart(self, status: int) -> None:
        async with OpenAiServer(Act(Do.FAIL, status=status)) as server:
            breaker = circuit(failures=2, pause=60.0)
            client = client_of(server, breaker=breaker)
            assert [await ask(client) for _ in range(3)] == ["client-error", "client-error", "circuit-open"]
            assert breaker.failure is not None
            assert breaker.failure.misconfigured
            await client.aclose()

    @pytest.mark.parametrize(
        "act", [Act(Do.LIE), Act(Do.TRUNCATE), Act(Do.REFUSE), Act(Do.FILTER), Act(Do.FAIL, status=400)]
    )
    async def test_an_endpoint_that_answers_badly_is_there(self, act: Act) -> None:
        async with OpenAiServer(act) as server:
            breaker = circuit(failures=1)
            client = client_of(server, attempts=1, breaker=breaker)
            for _ in range(3):
                assert await ask(client) != "circuit-open"
            assert breaker.state is BreakerState.CLOSED
            await client.aclose()

    async def test_a_rate_limit_counts_once_per_question_when_its_attempts_are_used_up(self) -> None:
        async with OpenAiServer(Act(Do.RATE_LIMIT, retry_after="0.5")) as server:
            breaker = circuit(failures=2)
            client = client_of(server, attempts=3, max_retry_seconds=0.01, breaker=breaker)
            assert await ask(client) == "rate-limited"
            assert breaker.state is BreakerState.CLOSED
            assert await ask(client) == "rate-limited"
            assert len(server.bodies) == 6
            assert breaker.state is BreakerState.OPEN
            assert 0.3 < breaker.remaining_seconds <= 0.5
            await client.aclose()

    async def test_a_question_that_is_cancelled_as_the_probe_does_not_keep_it_half_open(self) -> None:
        async with OpenAiServer(Act(Do.FAIL)) as server:
            breaker = circuit(failures=1, pause=0.0)
            client = client_of(server, attempts=1, breaker=breaker)
            await ask(client)
            server.always = Act(delay=9.0)
            probing = asyncio.create_task(ask(client))
            await until(lambda: len(server.bodies) >= 2)
            assert await ask(client) == "circuit-open"
            probing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probing
            server.always = Act()
            assert await ask(client) == "ok"
            await client.aclose()

    async def test_pauses_between_probes_grow_on_the_wire(self) -> None:
        async with OpenAiServer(Act(Do.FAIL)) as server:
            client = client_of(server, attempts=1, breaker=circuit(failures=1, pause=0.1))
            while len(server.times) < 5:
                await ask(client)
                await asyncio.sleep(0.005)
            gaps = [later - earlier for earlier, later in pairwise(server.times)]
            assert all(gap >= wanted for gap, wanted in zip(gaps, [0.1, 0.2, 0.4, 0.8], strict=True))
            await client.aclose()

"""The circuit breaker alone, in the client and in the reasoner."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from faust import streams as faust_streams
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import ReasonerUnavailable
from schemas import PolicySkill
from streams.llm.breaker import LONGEST_RETRY_AFTER_SECONDS, BreakerState, CircuitBreaker
from streams.llm.calls import CallFailed, Outcome
from streams.llm.client import LlmClient
from streams.settings import OnLlmFailure, Settings
from streams.worker import metrics
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.llm import models_of, reasoner_of, shared_client
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.membership import PartitionRevoked
from tests.builders import a_contrast, a_skill, an_attribute
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.llm.llm_builders import SCHEMA, client_of, until
from tests.waiting import WAIT_SECONDS

AWAY = CallFailed(Outcome.SERVER_ERROR, "HTTP 500", may_pass=True)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def breaker(clock: Clock, changes: list[BreakerState] | None = None, **more: Any) -> CircuitBreaker:
    told = changes if changes is not None else []
    chosen = {
        "failure_threshold": 3,
        "pause_seconds": 1.0,
        "max_pause_seconds": 8.0,
        "random_number": lambda: 0.0,
    } | more
    return CircuitBreaker(clock=clock, on_change=lambda it: told.append(it.state), **chosen)


def fail(circuit: CircuitBreaker, times: int = 1, failure: CallFailed = AWAY) -> None:
    for _ in range(times):
        ticket = circuit.admit()
        assert ticket is not None
        circuit.failed(ticket, failure)


def limited(seconds: float) -> CallFailed:
    return CallFailed(Outcome.RATE_LIMITED, "HTTP 429", may_pass=True, retry_after_seconds=seconds)


class TestCircuitBreaker:
    def test_one_call_probes_after_the_pause(self) -> None:
        clock = Clock()
        circuit = breaker(clock)
        fail(circuit, 3)
        clock.now += 0.99
        assert circuit.admit() is None
        clock.now += 0.02
        assert [circuit.admit() is None for _ in range(4)] == [False, True, True, True]
        assert circuit.state is BreakerState.HALF_OPEN

    def test_a_successful_probe_closes_it_and_resets_the_pause(self) -> None:
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
    def test_retry_after_prolongs_the_pause_up_to_a_limit(self, asked: float, pause: float) -> None:
        circuit = breaker(Clock())
        fail(circuit, 3, limited(asked))
        assert circuit.remaining_seconds == pause

    @given(st.lists(st.tuples(st.sampled_from(["admit", "ok", "fail", "leave"]), st.integers(0, 9), st.floats(0, 3))))
    def test_there_is_at_most_one_probe_and_it_never_gets_stuck(self, steps: list[Any]) -> None:
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
                    (circuit.succeeded if what == "ok" else circuit.abandoned)(ticket)
            probes = [ticket for ticket in out if ticket == circuit._generation]
            assert circuit.state is not BreakerState.HALF_OPEN or len(probes) == 1
        for ticket in out:
            circuit.abandoned(ticket)
        clock.now += LONGEST_RETRY_AFTER_SECONDS * 2
        assert circuit.admit() is not None


def circuit(failures: int = 3, pause: float = 0.2, **more: Any) -> CircuitBreaker:
    return CircuitBreaker(
        failure_threshold=failures,
        pause_seconds=pause,
        max_pause_seconds=max(1.0, pause),
        clock=time.monotonic,
        random_number=lambda: 0.0,
        **more,
    )


async def ask(client: LlmClient) -> str:
    try:
        await client.ask("Well?", SCHEMA, name="test", max_tokens=50)
    except ReasonerUnavailable as error:
        return error.outcome
    return "ok"


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_wrong_key_or_model_opens_it_as_misconfigured(status: int) -> None:
    async with OpenAiServer(Act(Do.FAIL, status=status)) as server:
        breaker = circuit(failures=2, pause=60.0)
        client = client_of(server, breaker=breaker)
        assert [await ask(client) for _ in range(3)] == ["client-error", "client-error", "circuit-open"]
        assert breaker.failure is not None
        assert breaker.failure.misconfigured
        await client.aclose()


async def test_all_clients_of_a_worker_share_one_concurrency_limit() -> None:
    async with OpenAiServer(always=Act(delay=0.05)) as server:
        settings = Settings(llm_base_url=server.base_url, llm_model="m", in_flight=4)
        live = shared_client(settings)
        clients = [live, shared_client(settings)]
        names = ("evolve", "facets", "rank", "listen")

        await asyncio.gather(
            *(
                client.ask("a prompt", SCHEMA, name=name, max_tokens=50)
                for client in clients
                for name in names
                for _ in range(3)
            )
        )
        await live.aclose()

    assert server.peak == 4
    assert len(server.bodies) == len(clients) * len(names) * 3


SKILL: PolicySkill = a_skill(an_attribute("genre: noir"))


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer(Act(Do.FAIL)) as running:
        yield running


def settings(server: OpenAiServer, **more: Any) -> Settings:
    chosen = {
        "reasoner": "llm",
        "llm_base_url": server.base_url,
        "llm_attempts": 1,
        "llm_retry_seconds": 0,
        "llm_breaker_failures": 2,
        "llm_breaker_seconds": 0.2,
        "llm_breaker_max_seconds": 0.4,
    }
    return Settings(**chosen | more)


def asking(of: Settings, on_failure: OnLlmFailure, touch: Callable[[], None] = lambda: None) -> Reasoning:
    return Reasoning(reasoner_of(of), on_failure, touch)


async def reason(by: Reasoning, number: int = 0) -> Any:
    return await by.reason(a_contrast([f"genre: new{number}"]), SKILL)


async def test_reasoner_and_ranker_share_one_client(server: OpenAiServer) -> None:
    one = settings(server, ranker="listwise")
    client = shared_client(one)

    assert reasoner_of(one).client is client  # type: ignore[attr-defined]
    assert shared_client(settings(server)) is client
    assert shared_client(settings(server, llm_model="another")) is not client
    assert models_of(one).rank is not None


async def test_counts_answer_while_it_is_open(server: OpenAiServer) -> None:
    by = asking(settings(server, llm_breaker_seconds=60, llm_breaker_max_seconds=60), OnLlmFailure.RULES)

    found = [await reason(by, number) for number in range(50)]

    assert {one.reasoned_by.reasoner for one in found} == {"counts"}
    assert len(server.bodies) == 2


async def test_waiting_contrasts_resume_after_a_successful_probe(
    server: OpenAiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    touched: list[int] = []
    # A back-off of each contrast's own would sleep through the endpoint's return.
    monkeypatch.setattr(reasoning, "FIRST_WAIT_SECONDS", 600.0)
    by = asking(settings(server, llm_breaker_failures=1), OnLlmFailure.WAIT, lambda: touched.append(1))
    all_of_them = asyncio.gather(*(reason(by, number) for number in range(20)))
    await until(lambda: metrics.LLM_CIRCUIT._value.get() == 2 and metrics.LLM_WAITING._value.get() == 20)
    so_far, touches = len(server.bodies), len(touched)
    server.peak = 0
    await until(lambda: len(server.bodies) >= so_far + 4)

    assert server.peak == 1, "while it is half-open, one call is out and no other"
    assert len(touched) > touches
    server.always = Act()
    found = await all_of_them

    assert {one.reasoned_by.reasoner for one in found} == {"llm"}
    assert metrics.LLM_WAITING._value.get() == 0
    assert metrics.LLM_CIRCUIT._value.get() == 0


async def test_a_waiting_contrast_can_be_cancelled(server: OpenAiServer) -> None:
    by = asking(settings(server, llm_breaker_seconds=60, llm_breaker_max_seconds=60), OnLlmFailure.WAIT)
    waiting = asyncio.create_task(reason(by))
    await until(lambda: metrics.LLM_CIRCUIT._value.get() == 2)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, WAIT_SECONDS)
    assert metrics.LLM_WAITING._value.get() == 0


@pytest.mark.parametrize("pause", [0.2, 60.0])
async def test_a_waiting_contrast_of_a_revoked_partition_is_dropped(server: OpenAiServer, pause: float) -> None:
    app = SimpleNamespace(consumer_generation_id=7, flow_control=SimpleNamespace(is_active=lambda: True))
    event = SimpleNamespace(message=SimpleNamespace(generation_id=7), app=app)
    by = asking(settings(server, llm_breaker_seconds=pause, llm_breaker_max_seconds=pause), OnLlmFailure.WAIT)

    async def handle() -> None:
        faust_streams._current_event.set(lambda: event)
        await reason(by)

    waiting = asyncio.create_task(handle())
    await until(lambda: metrics.LLM_CIRCUIT._value.get() == 2)
    app.consumer_generation_id = 8

    with pytest.raises(PartitionRevoked):
        await asyncio.wait_for(waiting, WAIT_SECONDS)


async def test_the_log_explains_a_wrong_key_without_quoting_it(
    server: OpenAiServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.always = Act(Do.FAIL, status=401)
    one = settings(server, llm_api_key="sk-secret", llm_breaker_seconds=60, llm_breaker_max_seconds=60)
    before = metrics.LLM_OPENINGS.labels("client-error")._value.get()
    by = asking(one, OnLlmFailure.RULES)
    for number in range(3):
        await reason(by, number)

    # Not asyncio's: another test's client may be collected just now.
    ours = [record for record in caplog.records if record.name.startswith("sager")]
    told = [record.getMessage() for record in ours if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "client-error: HTTP 401" in told[0]
    assert "SAGER_LLM_API_KEY" in told[0]
    assert "sk-secret" not in caplog.text
    assert metrics.LLM_OPENINGS.labels("client-error")._value.get() == before + 1

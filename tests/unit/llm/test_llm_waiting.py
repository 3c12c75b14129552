"""What a worker does while its endpoint is away: one breaker for all, one probe, and nobody waits in vain."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from faust import streams as faust_streams

from schemas import PolicySkill
from streams.settings import OnLlmFailure, RankerName, ReasonerName, Settings
from streams.worker import metrics
from streams.worker.reasoning import reasoner as reasoning
from streams.worker.reasoning.llm import models_of, reasoner_of, shared_client
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from streams.worker.runtime.ordered import Stale
from tests.builders import a_contrast, a_skill, an_attribute
from tests.openai_server import Act, Do, OpenAiServer
from tests.patience import PATIENCE_SECONDS
from tests.unit.llm.llm_builders import until

SKILL: PolicySkill = a_skill(an_attribute("genre: noir"))


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer(Act(Do.FAIL)) as running:
        yield running


def settings(server: OpenAiServer, **more: Any) -> Settings:
    chosen = {
        "reasoner": ReasonerName.LLM,
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
    one = settings(server, ranker=RankerName.LISTWISE)
    client = shared_client(one)

    assert reasoner_of(one).inner._client is client  # type: ignore[attr-defined]
    assert shared_client(settings(server)) is client
    assert shared_client(settings(server, llm_model="another")) is not client
    assert models_of(one).rank is not None


async def test_counts_alone_answer_at_once_while_it_is_open(server: OpenAiServer) -> None:
    by = asking(settings(server, llm_breaker_seconds=60, llm_breaker_max_seconds=60), OnLlmFailure.RULES)

    found = [await reason(by, number) for number in range(50)]

    assert {one.reasoned_by.reasoner for one in found} == {"counts"}
    assert len(server.bodies) == 2


async def test_dead_letters_are_given_up_at_once_while_it_is_open(server: OpenAiServer) -> None:
    by = asking(settings(server, llm_breaker_seconds=60, llm_breaker_max_seconds=60), OnLlmFailure.DEAD_LETTER)

    for why in ("server-error", "server-error", "circuit-open", "circuit-open"):
        with pytest.raises(GivenUp, match=why):
            await reason(by)


async def test_who_waits_lets_one_probe_go_and_goes_on_when_it_succeeds(
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


async def test_who_waits_is_cancelled_at_once(server: OpenAiServer) -> None:
    by = asking(settings(server, llm_breaker_seconds=60, llm_breaker_max_seconds=60), OnLlmFailure.WAIT)
    waiting = asyncio.create_task(reason(by))
    await until(lambda: metrics.LLM_CIRCUIT._value.get() == 2)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    assert metrics.LLM_WAITING._value.get() == 0


@pytest.mark.parametrize("pause", [0.2, 60.0])
async def test_who_waits_for_a_partition_that_has_moved_leaves(server: OpenAiServer, pause: float) -> None:
    app = SimpleNamespace(consumer_generation_id=7, flow_control=SimpleNamespace(is_active=lambda: True))
    event = SimpleNamespace(message=SimpleNamespace(generation_id=7), app=app)
    by = asking(settings(server, llm_breaker_seconds=pause, llm_breaker_max_seconds=pause), OnLlmFailure.WAIT)

    async def handle() -> None:
        faust_streams._current_event.set(lambda: event)
        await reason(by)

    waiting = asyncio.create_task(handle())
    await until(lambda: metrics.LLM_CIRCUIT._value.get() == 2)
    app.consumer_generation_id = 8

    with pytest.raises(Stale):
        await asyncio.wait_for(waiting, PATIENCE_SECONDS)


async def test_the_log_says_what_to_do_about_a_wrong_key_and_never_tells_it(
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

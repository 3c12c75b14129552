"""Who may ask a model: so many at once, and nobody any more once a rebalance or the end has begun."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from faust import streams as faust_streams

from operators.evolve.proposals import ReasonerUnavailable, RulesReasoner
from schemas import AttributeSource, Contrast, GlobalSkill, PolicySkill, Tier, encode
from streams.llm.calls import Outcome
from streams.settings import OnLlmFailure, Settings
from streams.worker.reasoning.domains import DomainFollower, KnownPopulation, global_skills
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from streams.worker.runtime.membership import Interrupted
from tests.builders import a_contrast, a_skill, a_time, an_attribute

SKILL = a_skill(an_attribute("genre: noir"))


class Slow:
    name = "slow"

    def __init__(self) -> None:
        self.asked = 0
        self.gate = asyncio.Event()
        self.fails = False

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Any:
        self.asked += 1
        await self.gate.wait()
        if self.fails:
            raise ReasonerUnavailable("timeout", "it is away")
        return RulesReasoner().propose(contrast, skill)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_event_waiting_for_a_slot_at_a_rebalance_calls_no_model() -> None:
    slow, flows = Slow(), [True]
    app = SimpleNamespace(consumer_generation_id=7, flow_control=SimpleNamespace(is_active=lambda: flows[0]))
    event = SimpleNamespace(message=SimpleNamespace(generation_id=7), app=app)
    reasoning = Reasoning(slow, OnLlmFailure.WAIT, places=1)

    async def handle() -> Any:
        faust_streams._current_event.set(lambda: event)
        return await reasoning.reason(a_contrast(), SKILL)

    asks, waits = asyncio.create_task(handle()), asyncio.create_task(handle())
    await turns()
    flows[0] = False
    slow.gate.set()

    assert await asks is not None, "what was asked is finished"
    with pytest.raises(Interrupted):
        await waits
    assert slow.asked == 1


async def test_an_event_waiting_for_the_endpoint_holds_no_slot() -> None:
    slow = Slow()
    slow.fails = True
    slow.gate.set()
    reasoning = Reasoning(slow, OnLlmFailure.WAIT, places=1)
    all_of_them = [asyncio.create_task(reasoning.reason(a_contrast(), SKILL)) for _ in range(3)]
    await turns()

    assert slow.asked == 3, "each has asked once, and pauses"
    for each in all_of_them:
        each.cancel()
    await asyncio.gather(*all_of_them, return_exceptions=True)


async def test_no_event_waits_for_a_model_that_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model refuses the same words again, and the partition would stop there."""
    monkeypatch.setattr("streams.worker.reasoning.reasoner.FIRST_WAIT_SECONDS", 0.01)
    outcomes = [Outcome.TIMEOUT, Outcome.INVALID_REPLY, Outcome.REFUSED]

    async def ask() -> Any:
        raise ReasonerUnavailable(outcomes.pop(0).value, "no answer")

    with pytest.raises(ReasonerFailed):
        await Reasoning(RulesReasoner(), OnLlmFailure.WAIT).retry(ask, lambda _: None)
    assert not outcomes, "what may pass is waited for"


def record(domain: str = "films") -> bytes:
    line = an_attribute("genre: sponsored", Tier.HIGH, AttributeSource.PRIOR, support=99, pinned=True)
    return encode(
        GlobalSkill(event_id="g", occurred_at=a_time(), domain=domain, users=9, attributes=(line,), shares={"a:b": 0.5})
    )


def held(key: bytes, value: bytes | None) -> DomainFollower[KnownPopulation]:
    skills = global_skills(Settings())
    skills.apply(key, value)
    return skills


def test_a_record_under_another_domains_key_and_a_broken_one_are_passed_over() -> None:
    assert held(b"books", record("films")).get("books").template == ()
    assert held(b"films", b"{not json").get("films").template == ()


def test_a_tombstone_ends_it() -> None:
    skills = held(b"films", record())
    assert skills.get("films").shares == {"a:b": 0.5}

    skills.apply(b"films", None)

    assert (skills.get("films").template, skills.get("films").shares) == ((), {})

"""The shadow arm beside the live skills: it learns from the same choices, and they do not depend on it in any way."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from schemas import Action, ForgetRequest, PolicySkill, ShadowOutcome, ShadowSkill, SkillCommand
from schemas.topics import WORKED_OFF
from streams.worker.reasoning import shadow
from tests.builders import a_time
from tests.fake_log import FakeDeployment, FakeLog, FakeWorker, settings_in
from tests.unit.worker.test_worker_exactly_once import assert_undisturbed, choice, choices, put

CHANGED = {"merge.attributes": 3, "merge.global_patience": 1}


@pytest_asyncio.fixture
async def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeDeployment]:
    """A deployment whose shadow follows everybody."""
    settings = settings_in(tmp_path, shadow_name="timid", shadow_share=1.0, shadow_set=CHANGED)
    running = FakeDeployment(settings, monkeypatch)
    yield running
    await running.close()


async def quiet(worker: FakeWorker) -> None:
    """Let the worker end all its work, the shadow's too, for which no acknowledgement waits."""
    await worker.quiet()
    assert not worker.running


async def all_acknowledged(worker: FakeWorker) -> None:
    """Let the worker come to where nothing waits but the shadow."""
    await worker.until(lambda: not any(worker.is_behind(source) for source in WORKED_OFF), "the rest")


def contrasts_of(log: FakeLog) -> tuple[dict[Any, int], dict[Any, int]]:
    """How many choices each user's live skill and shadow have learned from."""
    live: dict[str, int] = {skill.user_id: skill.contrasts for skill in log.newest(PolicySkill).values()}
    other: dict[str, int] = {each.user_id: each.skill.contrasts for each in log.newest(ShadowSkill).values()}
    return live, other


async def test_it_learns_from_the_same_choices_and_compares_at_each(followed: FakeDeployment) -> None:
    made = choices(12)
    put(followed.log, made)

    await quiet(followed.worker(slow=4))

    live, other = contrasts_of(followed.log)
    assert other == live
    outcomes = followed.log.values(ShadowOutcome)
    assert len(outcomes) == len(made)
    assert {(each.arm, each.candidates) for each in outcomes} == {("timid", 5)}
    assert_undisturbed(followed.log, made)


@pytest.mark.parametrize("base", ["shadow-skills", "shadow-outcomes"])
async def test_nobody_waits_for_it(followed: FakeDeployment, base: str) -> None:
    """Live skills come to their end, and all is acknowledged, while the shadow gets no answer from the broker."""
    worker = followed.worker()
    gate = worker.hold(base)
    made = choices(12)
    put(followed.log, made)

    await all_acknowledged(worker)

    assert gate.waiting > 0
    assert_undisturbed(followed.log, made)
    gate.open()
    await quiet(worker)
    assert contrasts_of(followed.log)[0] == contrasts_of(followed.log)[1]


async def test_a_defect_of_it_is_not_the_workers(followed: FakeDeployment, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> str:
        raise RuntimeError("a defect of ours")

    monkeypatch.setattr(shadow.Shadow, "_on_choice", broken)
    made = choices(8)
    put(followed.log, made)

    await quiet(followed.worker())

    assert_undisturbed(followed.log, made)
    assert followed.log.newest(ShadowSkill) == {}


async def test_a_command_of_a_person_counts_for_it_too(followed: FakeDeployment) -> None:
    worker = followed.worker()
    put(followed.log, [choice(0, "ann"), choice(4, "ann")])
    await quiet(worker)
    [state] = followed.log.newest(ShadowSkill).values()
    line = state.skill.attributes[0].attribute_id
    fields = {"event_id": "never again", "occurred_at": a_time(), "user_id": "ann", "domain": "films", "actor": "ann"}

    followed.log.put(SkillCommand(**fields, action=Action.REMOVE, attribute_id=line))
    await quiet(worker)

    [state] = followed.log.newest(ShadowSkill).values()
    assert line not in {attribute.attribute_id for attribute in state.skill.attributes}


async def test_what_it_was_at_when_the_person_was_forgotten_is_not_kept(followed: FakeDeployment) -> None:
    worker = followed.worker()
    put(followed.log, [choice(0, "ann")])
    await quiet(worker)
    gate = worker.hold("shadow-outcomes")
    put(followed.log, [choice(4, "ann")])
    await worker.until(lambda: gate.waiting > 0, "the shadow to be at it")

    followed.log.put(ForgetRequest(event_id="please", occurred_at=a_time(60), user_id="ann", actor="ann"))
    await worker.until(lambda: not worker.is_behind("forget-requests"), "the request to be carried out")
    gate.open()
    await quiet(worker)

    assert followed.log.compacted("shadow-skills") == {}


async def test_what_waits_for_it_is_bounded(followed: FakeDeployment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond that it misses choices, and the live skills none."""
    monkeypatch.setattr(shadow, "MOST_WAITING", 2)
    worker = followed.worker()
    gate = worker.hold("shadow-skills")
    made = choices(20)
    put(followed.log, made)
    await all_acknowledged(worker)
    assert gate.waiting <= 2
    gate.open()
    await asyncio.wait_for(quiet(worker), 10)

    live, other = contrasts_of(followed.log)
    assert sum(other.values()) < sum(live.values()) == len(made)
    assert_undisturbed(followed.log, made)

"""`kill -9` of the worker and the materializer under load: nothing lost, nothing twice (invariant 2)."""

import random
import time

import pytest

from schemas import Contrast, ItemMemory, Memory, PolicySkill, SkillDiff
from tests.harness import Harness, Outputs
from tests.openai_server import Act, OpenAiServer, threaded
from tests.worlds import slate

pytestmark = pytest.mark.broker

TOTAL = 240
USERS = 24


def play(harness: Harness, first: int, last: int) -> None:
    for number in range(first, last):
        shown = slate(number)
        ranking = harness.events.ranking(f"user-{number % USERS}", "films", shown, ranking_id=f"r{number}")
        harness.events.selection(ranking, shown[number % 10]["item_id"], event_id=f"s{number}")
    harness.events.flush()


def content(skill: PolicySkill) -> dict[str, object]:
    """A skill without what tells only how its events were delivered."""
    return skill.model_dump(exclude={"applied": True, "last_diff": {"source": True}})


def assert_nothing_lost_or_twice(harness: Harness) -> None:
    outputs = harness.until(lambda out: len(out.diffs) == TOTAL, f"{TOTAL} diffs", seconds=120)
    outputs = harness.quiet(2)
    assert {c.ranking_id for c in outputs.values(Contrast)} == {f"r{n}" for n in range(TOTAL)}
    assert len({d.event_id for d in outputs.diffs}) == TOTAL
    assert outputs.dead_letters == []
    for user in range(USERS):
        mine = sorted((d for d in outputs.diffs if d.user_id == f"user-{user}"), key=lambda d: d.version)
        assert [d.version for d in mine] == list(range(1, TOTAL // USERS + 1))
    assert_the_graph_knows_each_choice_once(outputs)
    harness.assert_all_stores_agree()


def assert_the_graph_knows_each_choice_once(outputs: Outputs) -> None:
    """Every choice counts once in its user's memory, and every item has heard of its newest takers."""
    memories = {memory.user_id: memory for memory in outputs.values(Memory)}
    assert {user: memory.interactions for user, memory in memories.items()} == {
        f"user-{user}": TOTAL // USERS for user in range(USERS)
    }
    items = {item.item_id: item for item in outputs.values(ItemMemory)}
    for memory in memories.values():
        newest = memory.taken[-1]
        taker = next(taker for taker in items[newest.item_id].takers if taker.user_id == memory.user_id)
        assert (taker.version, taker.times) == (memory.version, newest.times)


def test_kill_9_of_the_worker_and_the_materializer_under_load(harness: Harness) -> None:
    rng = random.Random(2)
    worker, materializer = harness.worker("w0"), harness.materializer()
    play(harness, 0, TOTAL // 3)
    harness.count(SkillDiff, 5)
    for turn in (1, 2):
        time.sleep(rng.random() * 0.5)
        harness.kill(worker)
        harness.kill(materializer)
        # Once on what its disk still holds, once on an empty one.
        worker, materializer = harness.worker("w0" if turn == 1 else "w1"), harness.materializer()
        play(harness, turn * TOTAL // 3, (turn + 1) * TOTAL // 3)
        harness.count(SkillDiff, len(harness.outputs.records[SkillDiff.TOPIC]) + 5)

    assert_nothing_lost_or_twice(harness)


def test_kill_9_with_llm_calls_in_flight(harness: Harness) -> None:
    with threaded(OpenAiServer(always=Act(delay=0.2))) as server:
        llm = {"reasoner": "llm", "llm_base_url": server.base_url, "llm_attempts": 2}
        harness.materializer()
        worker = harness.worker("w0", **llm)
        play(harness, 0, TOTAL)
        harness.count(SkillDiff, 20)
        harness.kill(worker)
        harness.worker("w1", **llm)

        assert_nothing_lost_or_twice(harness)


def test_a_disturbed_run_ends_in_the_same_skills_as_an_undisturbed_one(harness: Harness, settings: object) -> None:
    from streams.settings import Settings  # noqa: PLC0415

    calm = Harness(
        Settings(
            **{
                **harness.settings.model_dump(exclude_unset=True),
                "prefix": "calm-" + harness.settings.prefix,
                "app_id": "calm-" + harness.settings.app_id,
                "data_dir": harness.settings.data_dir / "calm",
            }
        )
    )
    with calm:
        worker, undisturbed = harness.worker(), calm.worker("calm")
        for one in (harness, calm):
            play(one, 0, TOTAL)
        harness.count(SkillDiff, 30)
        harness.kill(worker)
        harness.worker("again")
        harness.until(lambda out: len(out.diffs) == TOTAL, "all diffs")
        calm.until(lambda out: len(out.diffs) == TOTAL, "all diffs")

        disturbed = {key: content(skill) for key, skill in harness.skills().items()}
        expected = {key: content(skill) for key, skill in calm.skills().items()}

        assert undisturbed.poll() is None
        for key, wanted in expected.items():
            for times in (disturbed[key], wanted):
                times.pop("occurred_at"), times["last_diff"].pop("occurred_at")  # type: ignore[attr-defined]
            assert disturbed[key] == wanted

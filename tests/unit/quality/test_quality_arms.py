"""Arms of the paper's protocol: frozen at test, blind to the answer; simple ones by hand, SAGER's by their parts."""

import asyncio

import pytest

from evaluation.leave_one_out import ARMS, run
from evaluation.replies import Cost
from evaluation.simulation import no_progress
from evaluation.split import read
from evaluation.warm_up import ArmOptions
from operators.rank.weights import DEFAULT_WEIGHTS
from tests.unit.quality.quality_builders import data_set

FREE = [name for name, entry in ARMS.items() if not entry.asks]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films")))


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Everybody trains, and six are tested."""
    return read(data_set(tmp_path_factory.mktemp("films")), users=6)[0]


async def trained(name, split, **options):
    arm = ARMS[name].make(ArmOptions(**options))
    await arm.train(split, no_progress)
    return arm


async def orders(arm, split):
    return [await arm.rank(case) for case in split.cases]


@pytest.mark.parametrize("name", FREE)
async def test_a_ranking_changes_no_later_answer(name, few):
    arm, other = await trained(name, few), await trained(name, few)

    forwards = {case.user_id: await arm.rank(case) for case in few.cases}
    again = {case.user_id: await arm.rank(case) for case in few.cases}
    backwards = {case.user_id: await other.rank(case) for case in reversed(few.cases)}

    assert arm.name == name
    assert forwards == again == backwards
    assert all(set(forwards[case.user_id]) == set(case.candidates) for case in few.cases)


class Odd:
    name = "odd"
    spent = Cost(calls=1, prompt_tokens=100)

    def __init__(self, answer):
        self.answer = answer

    async def train(self, split, progress):
        progress("training", 1, 1)

    async def rank(self, case):
        return self.answer(case)


async def test_a_run_measures_counts_and_bounds_concurrency(world):
    split, answers = world
    under_way, most = 0, 0

    class Slow(Odd):
        async def rank(self, case):
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.001)
            under_way -= 1
            return await super().rank(case)

    stages = []
    knowing = Slow(lambda case: sorted(case.candidates, key=lambda item: item != answers[case.user_id]))
    result = await run(knowing, split, answers, 0, lambda *stage: stages.append(stage), concurrency=3)

    assert most == 3
    assert set(result.places.values()) == {1}
    assert list(result.places) == [case.user_id for case in split.cases]
    found = result.as_json()
    assert (found["hit_at_1"], found["ci95_hit_at_1"], found["prompt_tokens"]) == (1.0, [1.0, 1.0], 100)
    assert stages[0] == ("odd: training", 1, 1, "1 calls, 100 tokens")
    assert stages[-1][:3] == ("odd: ranking", 40, 40)


# SAGER's arms.


async def test_the_product_is_played_up_to_the_case_and_ranks_by_its_learned_skill(few):
    arm = await trained("sager", few, tau=2)

    shown = [(each.user_id, each.choice) for each in arm.skills.played if each.order]
    assert len(shown) == 2 * len(few.cases)
    for case in few.cases:
        last = [visit.item_id for visit in few.training[case.user_id][-2:]]
        assert [choice.taken.item_id for user_id, choice in shown if user_id == case.user_id] == last
        assert arm.skills.skills[case.user_id].contrasts == 2
    assert arm.skills.weights != DEFAULT_WEIGHTS
    assert await orders(arm, few) == await orders(await trained("sager", few, tau=2), few)

"""Arms of the paper's protocol: frozen at test, blind to the answer; simple ones by hand, SAGER's by their parts."""

import pytest

from evaluation.leave_one_out import ARMS
from evaluation.simulation import no_progress
from evaluation.split import read
from evaluation.warm_up import ArmOptions
from operators.weights import DEFAULT_WEIGHTS
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

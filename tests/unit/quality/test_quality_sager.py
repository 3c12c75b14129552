"""SAGER's arms: what they share, and what each leaves out."""

import pytest

from evaluation import world as worlds
from evaluation.arms import ArmOptions, make
from evaluation.split import read
from operators.rank.weights import DEFAULT_WEIGHTS
from schemas import ChangeKind, Tier
from tests.unit.quality.quality_builders import data_set


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films")), users=6)[0]


async def trained(name, split, **options):
    arm = make(name, ArmOptions(**options))
    await arm.train(split, lambda *_: None)
    return arm


async def orders(arm, split):
    return [(await arm.rank(case)).order for case in split.cases]


def test_arms_of_one_run_share_the_world(split):
    first = worlds.shared(split, lambda *_: None)

    assert worlds.shared(split, lambda *_: pytest.fail("built twice")) is first


async def test_evolving_changes_no_shared_world(split):
    world = worlds.shared(split, lambda *_: None)
    memories = dict(world.memories)

    alone = await orders(await trained("sager-rules", split), split)
    await trained("sager-replace", split)

    assert world.memories == memories
    assert await orders(await trained("sager-rules", split), split) == alone


async def test_without_rounds_sager_is_statinit(split):
    found = await orders(await trained("sager-counts", split, tau=0), split)

    assert found == await orders(await trained("statinit", split, tau=0), split)


async def test_a_replaced_skill_holds_only_what_the_last_choice_says(split):
    arm = await trained("sager-replace", split)

    for case in split.cases:
        last = split.facts[split.training[case.user_id][-1].item_id]
        skill = arm.skills[case.user_id]
        assert {line.value for line in skill.attributes} <= {fact.value for fact in last.facts}
        assert any(change.kind is ChangeKind.REMOVED for change in skill.last_diff.changes)


async def test_without_statinit_a_skill_is_what_the_rounds_taught(split):
    arm = await trained("sager-no-statinit", split, tau=1)

    assert all(line.tier is Tier.LOW for skill in arm.skills.values() for line in skill.attributes)


async def test_pointwise_a_candidates_score_knows_no_other_candidate(split):
    arm = await trained("sager-pointwise", split)
    for case in split.cases:
        whole = (await arm.rank(case)).order
        some = type(case)(case.user_id, case.candidates[::2], case.instruction, case.seed)

        judged = (await arm.rank(some)).order

        now = arm.now(case.user_id)
        scores = {item: arm.alone(now, split.facts[item], "") for item in case.candidates}
        for order in (whole, judged):
            sums = [scores[item].facets + scores[item].skill for item in order]
            assert sums == sorted(sums, reverse=True)


async def test_what_the_community_says_reaches_only_who_reads_it(split):
    told = await trained("sager-rules", split)
    alone = await trained("sager-no-collaborative", split)
    user_id = split.cases[0].user_id

    assert told.now(user_id).popularity
    assert told.now(user_id).context.companions
    assert not alone.now(user_id).popularity
    assert not alone.now(user_id).context.companions


async def test_the_product_is_played_up_to_the_case_and_ranks_by_what_it_learned(split):
    arm = await trained("sager", split, tau=2)

    turns = [turn for turn in arm.played.turns if turn.order]
    assert len(turns) == 2 * len(split.cases)
    for case in split.cases:
        last = [visit.item_id for visit in split.training[case.user_id][-2:]]
        assert [turn.choice.taken.item_id for turn in turns if turn.user_id == case.user_id] == last
        assert arm.played.skills[case.user_id].contrasts == 2
    assert arm.played.weights != DEFAULT_WEIGHTS
    ranked = await orders(arm, split)
    assert all(set(order) == set(case.candidates) for order, case in zip(ranked, split.cases, strict=True))
    assert ranked == await orders(await trained("sager", split, tau=2), split)


async def test_a_visit_is_in_the_history_or_a_choice_and_never_both(split):
    none, some = await trained("sager", split, tau=0), await trained("sager", split, tau=2)

    for case in split.cases:
        met = len(split.training[case.user_id])
        assert max(line.support for line in none.played.skills[case.user_id].attributes) <= met
        assert max(line.support for line in some.played.skills[case.user_id].attributes) <= met


@pytest.mark.parametrize("host", ["vanilla", "static-profile", "dynamic-profile"])
async def test_a_host_with_a_skill_differs_from_the_host_by_the_skill_alone(host, split):
    plain, skilled = await trained(host, split), await trained(f"{host}+skill", split)

    assert [(shown.user_id, shown.chosen) for shown in plain.rounds] == [
        (shown.user_id, shown.chosen) for shown in skilled.rounds
    ]
    assert [set(shown.order) for shown in plain.rounds] == [set(shown.order) for shown in skilled.rounds]
    assert len(plain.rounds) == len(split.cases)
    assert await orders(plain, split) != await orders(skilled, split)

"""Users' choices one after another: the lists shown, the future that no arm may know, the learning, the command."""

import pytest
from typer.testing import CliRunner

from evaluation.community import Community
from evaluation.dataset import sequences
from evaluation.leave_one_out import ARMS
from evaluation.plans import ListKind, plans
from evaluation.simulation import no_progress
from evaluation.skill_arms import STREAM_RULES, RankBy
from evaluation.split import read
from evaluation.stream import simulate_user
from operators.weights import DEFAULT_WEIGHTS
from streams.cli import app
from tests.unit.quality.quality_builders import data_set, tastes

KINDS = tuple(ListKind)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def made(folder):
    return {plan.lists: plan for plan in plans(folder, KINDS, [3], 20)}


async def played(arm, plan, **options):
    return await simulate_user(STREAM_RULES[arm], plan, **options)


# The lists.


@pytest.mark.parametrize("kind", KINDS)
def test_a_simulated_user_chooses_their_next_item(made, kind):
    plan = made[kind]

    assert len(plan.choices) == 20
    for user_id, choices in plan.choices.items():
        history = tastes()[user_id]
        assert [visit.item_id for visit in plan.past[user_id]] == history[:3]
        assert [choice.taken.item_id for choice in choices] == history[3:]
        for choice in choices:
            assert len(set(choice.candidates)) == 10
            assert set(choice.candidates) & set(history) == {choice.taken.item_id}


# The future.


def known_of(folder, user_id, visits):
    """All that a player is ranked by before each of their first visits, but for the candidates."""
    everybody = Community.of(sequences(folder), no_progress)
    population = everybody.population(user_id)
    return population, list(everybody.contexts(user_id, population, 0, visits - 1))


def two_futures(tmp_path):
    """All that is known of a player before their first choices, in two worlds that differ in what they take then."""
    user_id, after = "u03", 4
    histories = tastes()
    met = histories[user_id]
    others = [f"f{number:02}" for number in range(48) if f"f{number:02}" not in met]
    changed = {**histories, user_id: [*met[:after], *others[: len(met) - after]]}
    return [known_of(data_set(tmp_path, of_all), user_id, after + 1) for of_all in (histories, changed)]


def test_rankings_do_not_depend_on_future_choices(tmp_path):
    one, other = two_futures(tmp_path)

    assert one == other
    population, contexts = one
    assert population.items
    assert population.usual
    assert contexts[-1].companions
    assert contexts[-1].facets


# Learning.


@pytest.mark.parametrize("kind", KINDS)
async def test_all_arms_rank_the_same_choices(made, kind):
    plays = [await played(name, made[kind]) for name in STREAM_RULES]

    seen = {user_id: list(of_user) for user_id, of_user in plays[0].places[RankBy.MIX].items()}
    assert sum(map(len, seen.values())) == sum(
        choice.shown for choices in made[kind].choices.values() for choice in choices
    )
    for each in plays:
        for by in RankBy:
            assert {user_id: list(of_user) for user_id, of_user in each.places[by].items()} == seen
    assert plays[0].places[RankBy.MIX] != plays[-1].places[RankBy.MIX]


async def test_only_the_arm_with_sessions_counts_them(made):
    plain, in_sessions = [await played(name, made["uniform"]) for name in ("sager", "sessions")]

    assert not any(skill.sessions for skill in plain.arm.skills.values())
    assert all(skill.sessions for skill in in_sessions.arm.skills.values())


# The command.


def stream(*args):
    return CliRunner().invoke(app, ["eval", "stream", *map(str, args)], env={"COLUMNS": "200"})


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--arm", "popularity"), "no-skill, population, prior, paper, former, sager, sessions"),
        (("--candidates", "rare"), "uniform, popular, exposed"),
        (("--by", "chance"), "skill, fixed, mix"),
        (("--history", "three"), "no number of visits"),
        (("--arm", ","), "name at least one"),
    ],
)
def test_a_wrong_command_line_is_an_error(tmp_path, args, told):
    done = stream("--data", tmp_path, *args)

    assert done.exit_code == 2
    assert told in done.stderr


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films")), users=6)[0]


async def trained(name, split, tau=2):
    arm = ARMS[name].make(0, tau)
    await arm.train(split, no_progress)
    return arm


async def orders(arm, split):
    return [await arm.rank(case) for case in split.cases]


@pytest.mark.parametrize("name", ARMS)
async def test_ranking_a_case_has_no_side_effects(name, few):
    arm, other = await trained(name, few), await trained(name, few)

    forwards = {case.user_id: await arm.rank(case) for case in few.cases}
    again = {case.user_id: await arm.rank(case) for case in few.cases}
    backwards = {case.user_id: await other.rank(case) for case in reversed(few.cases)}

    assert arm.name == name
    assert forwards == again == backwards
    assert all(set(forwards[case.user_id]) == set(case.candidates) for case in few.cases)


# SAGER's arms.


async def test_the_product_arm_learns_up_to_the_case(few):
    arm = await trained("sager", few, tau=2)

    shown = [(each.user_id, each.choice) for each in arm.skills.played if each.order]
    assert len(shown) == 2 * len(few.cases)
    for case in few.cases:
        last = [visit.item_id for visit in few.training[case.user_id][-2:]]
        assert [choice.taken.item_id for user_id, choice in shown if user_id == case.user_id] == last
        assert arm.skills.skills[case.user_id].contrasts == 2
    assert arm.skills.weights != DEFAULT_WEIGHTS
    assert await orders(arm, few) == await orders(await trained("sager", few, tau=2), few)

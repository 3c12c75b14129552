"""Users' choices one after another: the lists shown, the future that no arm may know, the learning, the command."""

import json
import random
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from evaluation import community
from evaluation.community import Community
from evaluation.dataset import sequences
from evaluation.exceptions import QualityError
from evaluation.plans import EXPOSED_OF, Lists, expose, full_plan, plans
from evaluation.simulation import no_progress
from evaluation.skill_arms import PRIOR, SAGER, STREAM_RULES, By
from evaluation.stream import interleaved, play
from operators.global_skill import Population
from operators.propagate import neighbour_of
from streams.cli import app
from tests.unit.quality.quality_builders import data_set, films, tastes

KINDS = tuple(Lists)
KEYS = {
    *(
        "arm",
        "data",
        "candidates",
        "history",
        "by",
        "users",
        "choices",
        "hit_at_1",
        "ci95_hit_at_1",
        "ndcg_at_5",
        "mrr",
    ),
    *("by_seen", "choices_by_seen", "minus", "growth", "cpu_ms_per_choice", "seed"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def made(folder):
    """By kind of list."""
    return {plan.lists: plan for plan in plans(folder, KINDS, [3], 20)}


async def played(arm, plan, **options):
    return await play(STREAM_RULES[arm], plan, **options)


# The lists.


@pytest.mark.parametrize("kind", KINDS)
def test_a_player_chooses_what_they_took_next_among_ten(made, kind):
    plan = made[kind]

    assert len(plan.choices) == 20
    for user_id, choices in plan.choices.items():
        history = tastes()[user_id]
        assert [visit.item_id for visit in plan.past[user_id]] == history[:3]
        assert [choice.taken.item_id for choice in choices] == history[3:]
        for choice in choices:
            assert len(set(choice.candidates)) == 10
            assert set(choice.candidates) & set(history) == {choice.taken.item_id}


@pytest.mark.parametrize("kind", KINDS)
def test_lists_depend_on_no_other_player_and_on_no_length_of_history(folder, made, kind):
    few, later = plans(folder, [kind], [3, 5], 5)

    assert few.choices == {user_id: made[kind].choices[user_id] for user_id in few.choices}
    for user_id, choices in later.choices.items():
        if user_id in few.choices:
            assert choices == few.choices[user_id][2:]


def test_no_two_editions_of_a_work_are_in_a_list(tmp_path):
    editions = [{**film, "item_id": f"again-{film['item_id']}"} for film in films()]
    histories = {
        user: [f"again-{item}" if n % 2 else item for n, item in enumerate(met)] for user, met in tastes().items()
    }
    folder = data_set(tmp_path, histories, [*films(), *editions])

    for plan in plans(folder, KINDS, [2], 10):
        for choices in plan.choices.values():
            for choice in choices:
                assert len({item.removeprefix("again-") for item in choice.candidates}) == 10


def test_an_item_that_a_recommender_would_not_show_is_forced_in_and_one_that_it_would_is_not():
    others = [f"o{number}" for number in range(EXPOSED_OF - 1)]
    near = dict.fromkeys(others, 1.0)

    last, hidden = expose("taken", others, near, {}, random.Random(0))
    first, shown = expose("taken", others, {"taken": 1.0}, {}, random.Random(0))

    assert (last[-1], hidden) == ("taken", False)
    assert (first[0], shown) == ("taken", True)


# The future.


def known_of(folder, user_id, visits):
    """All that a player is ranked by before each of their first visits, but for the candidates."""
    everybody = Community.of(sequences(folder), no_progress)
    population = everybody.population(user_id)
    return population, list(everybody.contexts(user_id, population, 0, visits - 1))


def two_futures(tmp_path, user_id="u03", after=4):
    """All that is known of a player before their first choices, in two worlds that differ in what they take then."""
    histories = tastes()
    met = histories[user_id]
    others = [f"f{number:02}" for number in range(48) if f"f{number:02}" not in met]
    changed = {**histories, user_id: [*met[:after], *others[: len(met) - after]]}
    return [known_of(data_set(tmp_path, of_all), user_id, after + 1) for of_all in (histories, changed)]


def test_nothing_that_ranks_depends_on_what_a_player_takes_now_or_later(tmp_path):
    one, other = two_futures(tmp_path)

    assert one == other
    population, contexts = one
    assert population.items
    assert population.usual
    assert contexts[-1].companions
    assert contexts[-1].facets


@pytest.mark.parametrize("leak", ["the graph tells a player of themselves", "the population counts the player"])
def test_a_leak_would_be_seen(tmp_path, monkeypatch, leak):
    if leak.startswith("the graph"):
        name = neighbour_of
        monkeypatch.setattr(community, "neighbour_of", lambda user_id, secret: name("somebody else", secret))
    else:
        monkeypatch.setattr(Population, "without", lambda population, *_: population)

    one, other = two_futures(tmp_path)

    assert one != other


# Learning.


def test_turns_come_in_a_random_order_that_the_seed_repeats(made):
    choices = made[Lists.UNIFORM].choices

    def users(seed):
        return [turn.user_id for turn in interleaved(choices, seed)]

    assert users(1) == users(1) != users(2)
    for user_id, of_user in choices.items():
        assert tuple(turn.shown for turn in interleaved(choices, 1) if turn.user_id == user_id) == of_user


@pytest.mark.parametrize("kind", KINDS)
async def test_all_arms_are_measured_on_the_same_choices(made, kind):
    plays = [await played(name, made[kind]) for name in STREAM_RULES]

    seen = {user_id: list(of_user) for user_id, of_user in plays[0].places[By.MIX].items()}
    assert sum(map(len, seen.values())) == sum(
        choice.shown for choices in made[kind].choices.values() for choice in choices
    )
    for each in plays:
        for by in By:
            assert {user_id: list(of_user) for user_id, of_user in each.places[by].items()} == seen
    assert plays[0].places[By.MIX] != plays[-1].places[By.MIX]


async def test_a_frozen_prior_learns_nothing_and_the_product_learns_from_every_choice(made):
    frozen, learned = await played(PRIOR, made[Lists.UNIFORM]), await played(SAGER, made[Lists.UNIFORM])

    assert {skill.version for skill in frozen.arm.skills.values()} == {0}
    assert {user_id: skill.contrasts for user_id, skill in learned.arm.skills.items()} == {
        user_id: len(choices) for user_id, choices in made[Lists.UNIFORM].choices.items()
    }
    assert [each.user_id for each in frozen.arm.played] == [each.user_id for each in learned.arm.played]


async def test_a_choice_that_nobody_was_shown_is_learned_from_and_not_measured(made):
    plan = made[Lists.EXPOSED]
    hidden = {
        user: tuple(replace(choice, shown=place == 0) for place, choice in enumerate(choices))
        for user, choices in plan.choices.items()
    }

    found = await played(SAGER, replace(plan, choices=hidden))

    assert set(map(len, found.places[By.MIX].values())) == {1}
    for user_id, skill in found.arm.skills.items():
        assert (skill.contrasts, skill.version) == (1, len(hidden[user_id]))


async def test_without_a_history_the_skill_begins_with_the_domains_template(folder):
    [plan] = plans(folder, [Lists.UNIFORM], [0], 20)
    found = await played(PRIOR, plan)

    for user_id, skill in found.arm.skills.items():
        template = {line.attribute_id for line in plan.populations[user_id].attributes}
        assert {line.attribute_id for line in skill.attributes} == template
        assert template


def test_a_full_plan_has_users_with_as_many_choices_each(folder):
    plan = full_plan(folder, 5, 4, Lists.POPULAR, 3, 40)

    assert [len(choices) for choices in plan.choices.values()] == [4] * 5
    assert set(plan.past) == set(plan.choices) == set(plan.populations)
    with pytest.raises(QualityError, match="0 have 9 choices"):
        full_plan(folder, 5, 9, Lists.POPULAR, 3, 40)


# The command.


def stream(*args):
    """The command without a process of its own, which starts in less time."""
    return CliRunner().invoke(app, ["eval", "stream", *map(str, args)], env={"COLUMNS": "200"})


def test_json_is_one_line_per_arm_history_list_and_what_ranks(tmp_path):
    folder = data_set(tmp_path / "films")
    wanted = ("--history", "0,3", "--candidates", "uniform,exposed", "--by", "skill,mix", "--arm", "prior,sager")

    done = stream("--data", folder, *wanted, "--users", 12, "--choices", 3, "--seed", 2, "--json")

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["candidates"], line["history"], line["by"], line["arm"]) for line in lines] == [
        (kind, history, by, arm)
        for kind in ("uniform", "exposed")
        for history in (0, 3)
        for by in ("skill", "mix")
        for arm in ("prior", "sager")
    ]
    for line in lines:
        assert set(line) == KEYS
        assert (line["data"], line["seed"]) == ("films", 2)
        assert line["by_seen"].keys() == line["choices_by_seen"].keys() <= {"0", "1", "2"}
        assert sum(line["choices_by_seen"].values()) == line["choices"] <= 36
        [(other, found)] = line["minus"].items()
        assert other != line["arm"]
        low, high = found["ci95"]
        assert low <= found["difference"] <= high
    uniform = [line for line in lines if line["candidates"] == "uniform"]
    assert {(line["users"], line["choices"]) for line in uniform} == {(12, 36)}


def test_a_person_gets_tables(tmp_path):
    done = stream("--data", data_set(tmp_path / "films"), "--users", 10, "--arm", "no-skill,sager")

    assert done.exit_code == 0, done.output
    assert "films, uniform lists, 3 visits of history, by mix: 10 users, 40 choices, seed 0" in done.stdout
    assert "Hit@1 by choices seen before" in done.stdout
    assert "[+0." in done.stdout or "[-0." in done.stdout
    assert not done.stdout.count("{")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--arm", "popularity"), "no-skill, prior, rules, sager"),
        (("--candidates", "rare"), "uniform, popular, exposed"),
        (("--by", "chance"), "skill, fixed, mix"),
        (("--history", "three"), "no number of visits"),
        (("--arm", ","), "name at least one"),
    ],
)
def test_a_wrong_command_line_is_told(tmp_path, args, told):
    done = stream("--data", tmp_path, *args)

    assert done.exit_code == 2
    assert told in done.stderr

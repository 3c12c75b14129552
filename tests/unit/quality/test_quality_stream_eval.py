"""Users' choices one after another: what they are shown, what nobody may know, what is learned, and the figures."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import world as worlds
from evaluation.exceptions import QualityError, UnknownArm
from evaluation.sequences import sequences
from evaluation.stream.arms import ARMS, PRIOR, SAGER, known
from evaluation.stream.community import Community
from evaluation.stream.figures import BUCKETS, bucket_of, chart, figures, growth, minus
from evaluation.stream.lists import EXPOSED_OF, Lists, Shelf, expose
from evaluation.stream.plan import plans
from evaluation.stream.play import By, Play, Played, interleaved
from operators.global_skill import Population
from operators.propagate import neighbour_of
from tests.unit.quality.quality_builders import data_set, films, tastes

KINDS = tuple(Lists)
PLACES = st.lists(st.lists(st.integers(1, 10), max_size=30), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"))


@pytest.fixture(scope="module")
def made(folder):
    """By kind of list."""
    return {plan.lists: plan for plan in plans(folder, KINDS, [3], 20)}


async def played(arm, plan, **options):
    return await Play(ARMS[arm], plan, **options).run()


def told(places, arm="a"):
    """A play with these places, each choice after the last."""
    by_user = {f"u{number}": list(of_user) for number, of_user in enumerate(places)}
    return Played(arm, {By.MIX: by_user}, {user: list(range(len(of_user))) for user, of_user in by_user.items()})


# What is shown.


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


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_gives_other_lists(folder, made, kind):
    [other] = plans(folder, [kind], [3], 20, seed=1)

    shared = other.choices.keys() & made[kind].choices.keys()
    assert shared
    assert all(other.choices[user_id] != made[kind].choices[user_id] for user_id in shared)


def test_where_a_taken_item_stands_tells_nothing(folder):
    [plan] = plans(folder, [Lists.EXPOSED], [0], 40)

    places = [choice.candidates.index(choice.taken.item_id) for of_user in plan.choices.values() for choice in of_user]
    assert 3.5 < sum(places) / len(places) < 5.5
    assert len(set(places)) == 10


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


def test_popular_items_are_drawn_more_often(folder):
    found = sequences(folder)
    shelf, chance = Shelf(found, Lists.POPULAR), random.Random(0)
    drawn = [item for _ in range(400) for item in shelf.draw(chance, ())]

    ordered = sorted(found.popularity, key=lambda item: found.popularity[item])
    rare, common = ordered[:8], ordered[-8:]
    assert sum(map(drawn.count, common)) > 1.3 * sum(map(drawn.count, rare))


@given(st.integers(0, 2**32), st.floats(0, 1))
def test_an_exposed_list_is_the_ten_best_and_tells_when_the_taken_one_is_forced_in(seed, near):
    others = [f"o{number}" for number in range(EXPOSED_OF - 1)]
    companions = {item: number / EXPOSED_OF for number, item in enumerate(others)} | {"taken": near}

    shown, by_itself = expose("taken", others, companions, {}, random.Random(seed))

    assert len(set(shown)) == 10
    assert "taken" in shown
    assert by_itself == (shown[-1] != "taken") or shown[-1] == "taken"
    again, _ = expose("taken", others, companions, {}, random.Random(seed))
    assert again == shown


def test_an_item_that_a_recommender_would_not_show_is_forced_in_and_one_that_it_would_is_not():
    others = [f"o{number}" for number in range(EXPOSED_OF - 1)]
    near = dict.fromkeys(others, 1.0)

    last, hidden = expose("taken", others, near, {}, random.Random(0))
    first, shown = expose("taken", others, {"taken": 1.0}, {}, random.Random(0))

    assert (last[-1], hidden) == ("taken", False)
    assert (first[0], shown) == ("taken", True)


def test_too_few_players_are_told(folder):
    with pytest.raises(QualityError, match="gives 0 users who can choose from popular lists after 7 visits"):
        plans(folder, [Lists.POPULAR], [7], 5)


# What nobody may know.


def known_of(folder, user_id, visits):
    """All that a player is ranked by before each of their first visits, but for the candidates."""
    community = Community.of(sequences(folder), lambda *_: None)
    population = community.population(user_id)
    return population, list(community.told(user_id, population, 0, visits - 1))


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
        monkeypatch.setattr(worlds, "neighbour_of", lambda user_id, secret: name("somebody else", secret))
    else:
        monkeypatch.setattr(Population, "without", lambda population, *_: population)

    one, other = two_futures(tmp_path)

    assert one != other


# What is learned.


def test_turns_come_in_a_random_order_that_the_seed_repeats():
    choices = {"ann": "aaaa", "bob": "bbbb", "cy": "c"}

    assert interleaved(choices, 1) == interleaved(choices, 1) != interleaved(choices, 2)
    assert {user: interleaved(choices, 1).count(user) for user in choices} == {"ann": 4, "bob": 4, "cy": 1}


@pytest.mark.parametrize("kind", KINDS)
async def test_all_arms_are_measured_on_the_same_choices(made, kind):
    plays = [await played(name, made[kind]) for name in ARMS]

    for each in plays:
        assert each.seen == plays[0].seen
        assert sum(map(len, each.seen.values())) == made[kind].total
        for by in By:
            assert {user: len(places) for user, places in each.places[by].items()} == {
                user: len(seen) for user, seen in each.seen.items()
            }
    assert plays[0].places[By.MIX] != plays[-1].places[By.MIX]


async def test_a_play_repeats(made):
    one, other = [await played(SAGER, made[Lists.UNIFORM]) for _ in range(2)]

    assert (one.places, one.skills) == (other.places, other.skills)


async def test_a_frozen_prior_learns_nothing_and_the_product_learns_from_every_choice(made):
    frozen, learned = await played(PRIOR, made[Lists.UNIFORM]), await played(SAGER, made[Lists.UNIFORM])

    assert {skill.version for skill in frozen.skills.values()} == {0}
    assert {user_id: skill.contrasts for user_id, skill in learned.skills.items()} == {
        user_id: len(choices) for user_id, choices in made[Lists.UNIFORM].choices.items()
    }
    assert [turn.user_id for turn in frozen.turns] == [turn.user_id for turn in learned.turns]


async def test_a_choice_that_nobody_was_shown_is_learned_from_and_not_measured(made):
    plan = made[Lists.EXPOSED]
    hidden = {
        user: tuple(replace(choice, shown=place == 0) for place, choice in enumerate(choices))
        for user, choices in plan.choices.items()
    }

    found = await played(SAGER, replace(plan, choices=hidden))

    assert set(map(len, found.seen.values())) == {1}
    for user_id, skill in found.skills.items():
        assert (skill.contrasts, skill.version) == (1, len(hidden[user_id]))


async def test_visits_before_the_first_choice_are_in_what_the_skill_begins_with(made):
    plan = made[Lists.UNIFORM]
    hidden = {user: tuple(replace(choice, shown=False) for choice in choices) for user, choices in plan.choices.items()}

    found = await played(SAGER, replace(plan, choices=hidden))

    supports = [line.support for skill in found.skills.values() for line in skill.attributes]
    assert {skill.version for skill in found.skills.values()} == {0}
    assert max(supports) > 3, "more than the history alone gives"


async def test_without_a_history_the_skill_begins_with_the_domains_template(folder):
    [plan] = plans(folder, [Lists.UNIFORM], [0], 20)
    found = await played(PRIOR, plan)

    for user_id, skill in found.skills.items():
        template = {line.attribute_id for line in plan.populations[user_id].attributes}
        assert {line.attribute_id for line in skill.attributes} == template
        assert template


def test_an_arm_that_is_none_is_told():
    with pytest.raises(UnknownArm, match="no-skill, prior, rules, sager"):
        known(["sager", "popularity"])


# The figures.


@given(PLACES)
def test_every_choice_is_in_one_bucket(places):
    play = told(places)
    if not any(places):
        with pytest.raises(ValueError, match="no choice was measured"):
            figures(play, By.MIX)
        return

    found = figures(play, By.MIX)

    assert list(found.by_seen) == [name for name in BUCKETS if name in found.by_seen]
    assert sum(bucket.choices for bucket in found.by_seen.values()) == found.choices == sum(map(len, places))
    hits = sum(bucket.choices * bucket.hit_at_1 for bucket in found.by_seen.values())
    assert hits == pytest.approx(found.hit_at_1 * found.choices) == pytest.approx(sum(of.count(1) for of in places))


def test_figures_by_hand():
    found = figures(told([[1, 2, 10], [1]]), By.MIX)

    assert (found.users, found.choices, found.hit_at_1) == (2, 4, 0.5)
    assert found.mrr == pytest.approx((1 + 0.5 + 0.1 + 1) / 4)
    assert found.ndcg_at_5 == pytest.approx((1 + 0.63093 + 0 + 1) / 4, abs=1e-5)
    assert {name: (bucket.choices, bucket.hit_at_1) for name, bucket in found.by_seen.items()} == {
        "0": (2, 1.0),
        "1": (1, 0.0),
        "2": (1, 0.0),
    }


@pytest.mark.parametrize(
    ("seen", "bucket"), [(0, "0"), (2, "2"), (3, "3-4"), (4, "3-4"), (16, "9-16"), (17, "17+"), (99, "17+")]
)
def test_buckets_by_hand(seen, bucket):
    assert bucket_of(seen) == bucket


def test_a_difference_counts_choices_alike_and_its_interval_resamples_users():
    ours, theirs = [[1] * 8, [2, 2]], [[2] * 8, [1, 2]]

    found = minus(told(ours), told(theirs), By.MIX)

    assert found.difference == pytest.approx((8 - 1) / 10)
    # Two users: the same one twice in half of the resamples.
    assert found.ci95 == pytest.approx((-0.5, 1.0))
    assert not found.is_significant


def test_an_interval_covers_what_is_true_about_as_often_as_it_says():
    chance = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        ours = [np.where(chance.random(6) < 0.5, 1, 2).tolist() for _ in range(40)]
        theirs = [np.where(chance.random(6) < 0.3, 1, 2).tolist() for _ in range(40)]
        low, high = minus(told(ours), told(theirs), By.MIX).ci95
        covered += low <= 0.2 <= high
    assert covered >= 52


def test_growth_is_the_late_lead_minus_the_early_one():
    early_miss = [2, 2, *[2] * 15, *[1] * 5]
    always = [2, 1, *[2] * 15, *[1] * 5]

    grown = growth(told([early_miss] * 3), told([[2] * 22] * 3), By.MIX)
    level = growth(told([always] * 3), told([[2] * 22] * 3), By.MIX)

    assert (grown.difference, grown.ci95, grown.is_significant) == (1.0, (1.0, 1.0), True)
    assert (level.difference, level.is_significant) == (0.0, False)
    assert growth(told([[1, 1]]), told([[1, 2]]), By.MIX) is None


def test_arms_on_different_choices_are_not_compared():
    with pytest.raises(ValueError, match="different choices"):
        minus(told([[1, 1]]), told([[1]]), By.MIX)


def test_a_chart_is_to_one_scale():
    assert chart({"0": [0.5, 0.25], "1": [None, 0.0]}, 4) == [("0", ["████", "██"]), ("1", ["", ""])]

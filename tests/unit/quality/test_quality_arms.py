"""Every arm that needs neither LLM nor extra: frozen at test, never told the answer; and what the simple ones score."""

import asyncio
import math

import pytest

from evaluation.arms import ARMS, ArmOptions, known, make
from evaluation.arms.arm import Ranked
from evaluation.arms.neighbours import ItemKnn
from evaluation.arms.profile import Profile
from evaluation.arms.scores import standard
from evaluation.case import Case
from evaluation.exceptions import ArmFailed, UnknownArm
from evaluation.run import Setting, run, versus
from evaluation.split import read
from tests.unit.quality.quality_builders import data_set, tastes

OPTIONS = ArmOptions()
SETTING = Setting("uniform", 0)
FREE = [name for name, entry in ARMS.items() if not (entry.needs or entry.asks)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films")))


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Everybody trains, and eight are tested."""
    return read(data_set(tmp_path_factory.mktemp("films")), users=8)


async def ready(name, split):
    arm = make(name, OPTIONS)
    await arm.train(split, lambda *_: None)
    return arm


@pytest.mark.parametrize("name", FREE)
async def test_what_is_ranked_changes_no_later_answer(name, few):
    split, _ = few
    arm, other = await ready(name, split), await ready(name, split)

    forwards = {case.user_id: await arm.rank(case) for case in split.cases}
    again = {case.user_id: await arm.rank(case) for case in split.cases}
    backwards = {case.user_id: await other.rank(case) for case in reversed(split.cases)}

    assert arm.name == name
    assert forwards == again == backwards
    assert all(set(forwards[case.user_id].order) == set(case.candidates) for case in split.cases)


async def test_only_equal_scores_are_ordered_by_presentation(world):
    split, _ = world
    arm = await ready("item-knn", split)
    for case in split.cases:
        turned = Case(case.user_id, case.candidates[::-1], case.instruction, case.seed)
        score = dict(zip(case.candidates, arm.scores(case), strict=True))

        orders = [(await arm.rank(each)).order for each in (case, turned)]

        assert [[score[item] for item in order] for order in orders] == [sorted(score.values(), reverse=True)] * 2


async def test_taste_is_found_by_all_that_look_for_it(world):
    split, answers = world

    looking = ("profile", "profile-genre", "item-knn")
    runs = {name: await run(make(name, OPTIONS), split, answers, SETTING) for name in ("random", *looking)}

    assert all(runs[name].measures["hit_at_3"] > runs["random"].measures["hit_at_3"] for name in looking)


async def test_popularity_counts_users_not_visits(tmp_path):
    histories = {**tastes(8), "fan": ["f00"] * 30 + ["f01", "f02"]}
    split, _ = read(data_set(tmp_path, histories))
    arm = await ready("popularity", split)
    met = {item: sum(item in {v.item_id for v in visits} for visits in split.training.values()) for item in split.items}

    ranked = await arm.rank(Case("u00", tuple(split.items)))

    assert [met[item] for item in ranked.order] == sorted(met.values(), reverse=True)


async def test_neighbours_by_hand(tmp_path):
    """a and b were met together by two of a's three and b's two users."""
    histories = {"u1": ["a", "b"], "u2": ["a", "b"], "u3": ["a"], "u4": ["c", "d", "e", "f", "g"], "u5": list("hijkl")}
    items = [{"item_id": name, "title": name} for name in "abcdefghijklmnopq"]
    split, _ = read(data_set(tmp_path, histories, items))
    arm = ItemKnn(OPTIONS)
    await arm.train(split, lambda *_: None)

    assert list(arm.scores(Case("u3", ("b", "c")))) == pytest.approx([2 / (math.sqrt(6) + 5), 0])


async def test_profile_by_hand(tmp_path):
    """A user of one western by one director: the same two facts give 1 each, one of two genres gives less."""
    items = [{"item_id": n, "title": n, "genres": g, "directors": d} for n, g, d in WESTERNS]
    split, _ = read(data_set(tmp_path, {"u": ["a"], **WATCHED}, items))
    arm = Profile(OPTIONS)
    await arm.train(split, lambda *_: None)

    like, half, unlike = arm.scores(Case("u", ("b", "c", "d")))

    assert like == pytest.approx(2)
    assert 0 < half < 1
    assert unlike == 0


WESTERNS = [
    ("a", "Western", "Ann Lee"),
    ("b", "Western", "Ann Lee"),
    ("c", "Western|Comedy", "Bo Ray"),
    *((name, "Drama", f"Cy {name.upper()}") for name in "defghijklmnopqrst"),
]
WATCHED = {"x": list("defgh"), "y": list("ijklm")}


def test_standard_scores_of_equal_ones_are_nothing():
    assert list(standard([2, 2, 2])) == [0, 0, 0]
    assert list(standard([1, 3])) == [-1, 1]


def test_an_unknown_arm_is_told_with_all_that_there_are():
    with pytest.raises(UnknownArm, match=r"no arm 'nope'.*popularity"):
        known(["random", "nope"])


class Odd:
    name = "odd"

    def __init__(self, answer):
        self.answer = answer

    async def train(self, split, progress):
        progress(1, 1)

    async def rank(self, case):
        return Ranked(self.answer(case), calls=1, prompt_tokens=100, completion_tokens=10)


@pytest.mark.parametrize(
    "answer",
    [
        lambda case: case.candidates[1:],
        lambda case: (*case.candidates[1:], case.candidates[1]),
        lambda case: (*case.candidates, case.candidates[0]),
        lambda case: (*case.candidates[1:], "stranger"),
    ],
)
async def test_an_answer_that_is_not_the_candidates_is_an_error_that_names_the_arm(world, answer):
    with pytest.raises(ArmFailed, match="the arm odd answered user u"):
        await run(Odd(answer), *world, setting=SETTING)


async def test_what_an_arm_raises_is_told_with_arm_and_user(world):
    with pytest.raises(ArmFailed, match=r"the arm odd failed on user u.*ZeroDivisionError"):
        await run(Odd(lambda case: 1 / 0), *world, setting=SETTING)


async def test_a_run_measures_counts_and_bounds_what_is_under_way(world):
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

    told = []
    knowing = Slow(lambda case: sorted(case.candidates, key=lambda item: item != answers[case.user_id]))
    result = await run(knowing, split, answers, SETTING, lambda *stage: told.append(stage), concurrency=3)

    assert most == 3
    assert set(result.places.values()) == {1}
    assert list(result.places) == [case.user_id for case in split.cases]
    found = result.as_json()
    assert (found["hit_at_1"], found["ci95_hit_at_1"]) == (1.0, [1.0, 1.0])
    assert (found["llm_calls"], found["prompt_tokens"], found["completion_tokens"]) == (40, 4_000, 400)
    assert told[0] == ("odd: training", 1, 1)
    assert told[-1] == ("odd: ranking", 40, 40)


async def test_arms_are_compared_on_the_users_that_both_had(tmp_path):
    folder = data_set(tmp_path)
    whole, some = [read(folder, users=users) for users in (None, 10)]
    one = await run(make("profile", OPTIONS), *whole, SETTING)
    other = await run(make("profile", OPTIONS), *some, SETTING)

    found = versus(one, other)

    assert (found.users, found.difference, found.p) == (10, 0, 1)

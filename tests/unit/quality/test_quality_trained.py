"""The arms that train a network: what they say without their libraries, and what they learn with them."""

import sys
from typing import Any

import pytest

from evaluation.arms import ArmOptions, make
from evaluation.arms.trained.arm import NEEDED
from evaluation.arms.trained.visits import indexed, without_last
from evaluation.case import Case
from evaluation.split import read
from streams.exceptions import MissingExtra
from tests.unit.quality.quality_builders import data_set, tastes

NAMES = ("lightgcn", "sasrec")


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    few = {"once": ["f01"], "twice": ["f00", "f04"]}
    return read(data_set(tmp_path_factory.mktemp("films"), tastes() | few))[0]


@pytest.fixture
def short(monkeypatch):
    """Training for an instant; skipped where the libraries are not installed."""
    for library in NEEDED:
        pytest.importorskip(library)
    for learner in ("lightgcn.Graph", "sasrec.Sequences"):
        monkeypatch.setattr(f"evaluation.arms.trained.{learner}.steps", 30)
        monkeypatch.setattr(f"evaluation.arms.trained.{learner}.between", 10)


@pytest.mark.parametrize("name", [*NAMES, "lightgcn+profile"])
async def test_without_the_extra_training_says_what_to_install(name, split, monkeypatch):
    for library in NEEDED:
        monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(MissingExtra, match=r'pip install ".\[eval-trained\]"'):
        await make(name, ArmOptions()).train(split, lambda *_: None)


def test_what_tells_when_to_stop_is_left_out_of_training(split):
    visits = indexed(split)

    known, last = without_last(visits)

    assert set(last) == {user for user, history in enumerate(visits.histories) if len(history) >= 3}
    for user, history in enumerate(known.histories):
        assert [*history, *([last[user]] if user in last else [])] == visits.histories[user]


@pytest.mark.parametrize("name", NAMES)
async def test_the_same_seed_gives_the_same_order(name, split, short):
    told = []
    first, second = make(name, ArmOptions(seed=3)), make(name, ArmOptions(seed=3))
    await first.train(split, lambda *at: told.append(at))
    await second.train(split, lambda *_: None)

    for case in split.cases:
        ranked = await first.rank(case)
        assert ranked == await second.rank(case)
        assert sorted(ranked.order) == sorted(case.candidates)
    assert told[-1] == (30, 30)


@pytest.mark.parametrize("name", NAMES)
async def test_what_was_never_met_comes_last_and_a_stranger_gets_chance(name, split, short):
    arm = make(name, ArmOptions())
    await arm.train(split, lambda *_: None)
    case = split.cases[0]

    known = await arm.rank(Case(case.user_id, ("new", *case.candidates), seed=case.seed))
    stranger = [(await arm.rank(Case("stranger", case.candidates, seed=str(seed)))).order[0] for seed in range(40)]

    assert known.order[-1] == "new"
    assert len(set(stranger)) > 3


async def test_a_batch_of_one_short_history_trains_too(split, short, monkeypatch):
    monkeypatch.setattr("evaluation.arms.trained.sasrec.BATCH", 1)
    arm: Any = make("sasrec", ArmOptions())

    await arm.train(split, lambda *_: None)

    assert all(len(set(arm.scores(case))) > 1 for case in split.cases)

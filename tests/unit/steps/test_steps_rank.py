"""The step `rank`: which lines and which community order a list, and what an answer says."""

import pytest

from operators.graph import items as propagate
from operators.graph.facets import Retrieved
from operators.graph.items import neighbour_of
from operators.steps.rank import RankStep, answer
from schemas import Facet, Injected, ItemUpdate, RankedBy, Tier, TouchedItem
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, a_rank_request, a_skill, an_attribute, id_of, item_facts, texts


def a_touch(neighbour: str, version: int = 1, items: tuple[str, ...] = ("i1",)) -> ItemUpdate:
    touched = tuple(TouchedItem(item_id=name, at=NOW) for name in items)
    return ItemUpdate(domain=DOMAIN, taker=neighbour, version=version, degree=2, newest=("i1", "i2"), items=touched)


def test_an_item_update_excludes_the_item_itself() -> None:
    items = propagate.add_taker(lambda *_: None, a_touch(neighbour_of("ann"), items=("i1", "i2")))
    assert [(item.item_id, item.takers[0].others) for item in items] == [("i1", ("i2",)), ("i2", ("i1",))]


NOIR, SAGA = an_attribute("genre: noir", Tier.HIGH), an_attribute("genre: saga", Tier.LOW)
SKILL = a_skill(SAGA, NOIR)
ITEMS = [item_facts("i1", "genre: saga"), item_facts("i2", "genre: noir"), item_facts("i3", "genre: epic")]


@pytest.mark.parametrize(
    ("uses_skill", "lines"),
    [(True, ["genre: saga", "genre: noir"]), (False, [])],
)
def test_a_setting_selects_the_ranking_lines(uses_skill: bool, lines: list[str]) -> None:
    assert texts(RankStep(uses_skill, privacy=PRIVACY, gate=OUTPUT_GATE).lines(SKILL)) == lines


def test_task_slim_puts_requested_likes_first() -> None:
    skill = a_skill(*(an_attribute(f"genre: {name}", Tier.HIGH) for name in ("a", "b", "c", "saga")))

    assert RankStep(privacy=PRIVACY, gate=OUTPUT_GATE).extract(skill, "a saga, please").likes[0] == "saga"
    assert (
        "saga"
        not in RankStep(task_slim=False, privacy=PRIVACY, gate=OUTPUT_GATE).extract(skill, "a saga, please").likes
    )


def test_the_community_counts_only_if_retrieval_is_on() -> None:
    many = {"i3": 500}

    def first_by(step: RankStep, seed: str) -> str:
        return step.order(ITEMS, step.features_of(ITEMS, (), Retrieved(), many), "", seed).order[0]

    assert first_by(RankStep(privacy=PRIVACY, gate=OUTPUT_GATE), "seed") == "i3"
    alone = [first_by(RankStep(retrieves=False, privacy=PRIVACY, gate=OUTPUT_GATE), f"{n}") for n in range(20)]
    assert len(set(alone)) > 1, "ties are broken by the seed"


def test_an_answer_names_no_other_user() -> None:
    request = a_rank_request("i1", "i2")
    facet = Facet(
        facet="genre: noir",
        confidence=0.5,
        supporting_neighbors=("item:i9", "user:abc"),
        attribute_id=id_of("genre: noir"),
    )

    first = answer(request, ["i2", "i1"], Injected(skill_version=3, facets=(facet,)))
    again = answer(request, ["i2", "i1"], Injected(skill_version=3, facets=(facet,)))

    assert [candidate.item_id for candidate in first.candidates] == ["i2", "i1"]
    assert (first.ranking_id, first.ranked_by) == (request.request_id, RankedBy.SAGER)
    assert first.injected.facets[0].supporting_neighbors == ("item:i9",)
    assert first == again, "a request that comes twice is answered with one id"

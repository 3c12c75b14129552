"""The steps `rank` that no model does: state in, an order and what had its say out (paper 2.2 to 2.4)."""

import pytest

from operators.rank import RankSkill
from operators.retrieve import Retrieved
from operators.steps.rank import Rank, answer
from schemas import Facet, Injected, RankedBy, Tier
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import a_rank_request, a_skill, an_attribute, id_of, item_facts, texts

NOIR, SAGA = an_attribute("genre: noir", Tier.HIGH), an_attribute("genre: saga", Tier.LOW)
SKILL = a_skill(SAGA, NOIR)
ITEMS = [item_facts("i1", "genre: saga"), item_facts("i2", "genre: noir"), item_facts("i3", "genre: epic")]


@pytest.mark.parametrize(
    ("by", "said"),
    [(RankSkill.FULL, ["genre: saga", "genre: noir"]), (RankSkill.SLIM, ["genre: noir"]), (RankSkill.NONE, [])],
)
def test_which_lines_rank_is_a_setting(by: RankSkill, said: list[str]) -> None:
    assert texts(Rank(by, privacy=PRIVACY, vouching=VOUCHING).lines(SKILL)) == said


def test_a_slim_skill_that_somebody_else_has_chosen_ranks_by_its_own_lines() -> None:
    other = a_skill(NOIR, an_attribute("genre: epic", Tier.HIGH))
    chosen = Rank(slim_tokens=10, privacy=PRIVACY, vouching=VOUCHING).extract(a_skill(NOIR))

    assert texts(Rank(RankSkill.SLIM, privacy=PRIVACY, vouching=VOUCHING).lines(other, short=chosen)) == ["genre: noir"]


def test_what_is_asked_for_comes_first_in_the_slim_skill_if_wanted() -> None:
    skill = a_skill(*(an_attribute(f"genre: {name}", Tier.HIGH) for name in ("a", "b", "c", "saga")))

    assert Rank(privacy=PRIVACY, vouching=VOUCHING).extract(skill, "a saga, please").record.likes[0] == "saga"
    assert (
        "saga"
        not in Rank(task_slim=False, privacy=PRIVACY, vouching=VOUCHING).extract(skill, "a saga, please").record.likes
    )


def test_the_community_has_a_say_only_where_it_is_asked() -> None:
    many = {"i3": 500}

    assert Rank(privacy=PRIVACY, vouching=VOUCHING).order(ITEMS, (), "", Retrieved(), "seed", many)[0] == "i3"
    alone = [
        Rank(retrieves=False, privacy=PRIVACY, vouching=VOUCHING).order(ITEMS, (), "", Retrieved(), f"{n}", many)[0]
        for n in range(20)
    ]
    assert len(set(alone)) > 1, "ties are broken by the seed"


def test_an_answer_has_the_candidates_in_order_and_names_no_other_user() -> None:
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

"""Facets by template, and companions: figures reckoned by hand, bounds for anything."""

import unicodedata
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.graph import facets
from operators.graph.facets import Retrieved, retrieve
from operators.graph.neighbours import Neighbourhood
from operators.graph.prune import cite_item
from schemas import Facet, Memory
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.unit.graph.graph_builders import (
    MEMORIES,
    NEIGHBOURHOODS,
    NOW,
    a_user,
    an_item,
    member,
    memory,
    neighbourhood,
    neighbours,
    signal,
    taken,
    taste,
)

NOIR, WRY = "preference:genre:noir", "preference:mood:wry"


def proposed(*ones: Any) -> dict[str, Facet]:
    return {facet.attribute_id or "": facet for facet in facets.propose_facets(neighbours(*ones), ())}


@pytest.mark.parametrize("held", [None, memory(version=4)])
def test_user_without_memory_gets_nothing(held: Memory | None) -> None:
    heard = neighbourhood(signal("b1", member("x"), companions={"b2": 3}, tastes=(taste(NOIR, "x"),)), epoch=5)
    assert retrieve(held, heard, "books", NOW, gate=OUTPUT_GATE) == Retrieved(
        memory_version=4 if held else 0, graph_epoch=5
    )


def test_user_without_signals_gets_facets_of_own_items() -> None:
    found = retrieve(
        memory(taken("b1", "genre: noir"), taken("b2", "genre: noir"), version=2), None, "books", NOW, gate=OUTPUT_GATE
    )

    assert [(f.facet, f.attribute_id) for f in found.facets] == [("drawn to noir (genre)", NOIR)]
    assert found.facets[0].confidence == pytest.approx(2 / 3, abs=1e-4)  # all of it, from two neighbours
    assert (found.companions, found.memory_version, found.graph_epoch) == ({}, 2, 0)


@pytest.mark.parametrize(
    ("ones", "confidence"),
    [
        # No user's tastes are known: the share of the items alone, times n / (n + 1).
        ([an_item("b1", "genre: noir")], 1 * 1 / 2),
        ([an_item("b1", "genre: noir", score=9.0), an_item("b2")], 0.75 * 1 / 2),
        ([an_item("b1", "genre: noir"), an_item("b2"), a_user("x")], 0.5 * 1 / 2),
        # 0.7 of the items' share and 0.3 of the users'.
        ([an_item("b1", "genre: noir"), a_user("x", NOIR)], 1.0 * 2 / 3),
        ([an_item("b1", "genre: noir"), a_user("x", WRY)], 0.7 * 1 / 2),
        ([an_item("b1"), a_user("x", NOIR)], 0.3 * 1 / 2),
        ([an_item("b1"), a_user("x", NOIR, score=4.0), a_user("y", NOIR)], 0.3 * 2 / 3),
        (
            [an_item("b1", "genre: noir"), an_item("b2"), a_user("x", NOIR, score=4.0), a_user("y")],
            (0.7 * 0.5 + 0.3 * 2 / 3) * 2 / 3,
        ),
    ],
)
def test_confidence_is_the_weighted_share_with_shrinkage(
    ones: list[Any], confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets, "CONFIDENCE_FLOOR", 0.0)
    assert proposed(*ones)[NOIR].confidence == pytest.approx(confidence, abs=1e-4)


def test_rejected_facets_are_dropped() -> None:
    held = memory(taken("b1", "mood: never again", "mood: wry"), taken("b2", "mood: wry"))
    found = retrieve(held, None, "books", NOW, gate=OUTPUT_GATE)

    assert [f.attribute_id for f in found.facets] == [WRY]


def companions(
    *told: tuple[int, dict[str, int]], own: tuple[str, ...] = (), popularity: dict[str, int] | None = None
) -> dict[str, float]:
    signals = [signal(f"b{n}", takers=takers, companions=others) for n, (takers, others) in enumerate(told)]
    return facets.co_taken(signals, {*own, *(f"b{n}" for n in range(len(told)))}, popularity or {})


def test_companion_score_is_a_shrunk_share() -> None:
    # 3 of 3 takers: 3/8; 30 of 45: 30/50.
    assert companions((3, {"c1": 3}), (45, {"c2": 30})) == {"c2": 1.0, "c1": pytest.approx(0.625)}


def test_own_items_are_no_companions() -> None:
    assert companions((5, {"b0": 5, "own": 5, "c1": 1}), own=("own",)) == {"c1": 1.0}


def test_impossible_counts_are_harmless() -> None:
    assert companions((0, {"c1": 9})) == {}
    assert companions((5, {"c1": 99, "c2": 0})) == {"c1": 1.0}
    assert companions((5, {"c1": 5}), popularity={"c1": 0}) == {"c1": 1.0}
    assert companions() == {}


def test_companions_use_every_signal() -> None:
    held = memory(taken("b1"), taken("b2"))
    heard = neighbourhood(
        signal("b1", takers=5, companions={"b2": 5, "old": 5, "c1": 5}), signal("old", takers=5, companions={"c9": 5})
    )
    assert retrieve(held, heard, "books", NOW, gate=OUTPUT_GATE).companions == {"c1": 1.0, "c9": 1.0}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MEMORIES, NEIGHBOURHOODS, st.sampled_from(["books", "goodreads", "movietv", "yelp", "x"]))
def test_facets_stay_in_bounds(held: Memory, heard: Neighbourhood, domain: str) -> None:
    found = retrieve(held, heard, domain, NOW, gate=OUTPUT_GATE)
    known = {cite_item(one.item_id) for one in held.taken} | {c.neighbour for s in heard.signals for c in s.crowd}

    assert len(found.facets) <= facets.MAX_SHOWN
    assert len({facet.attribute_id for facet in found.facets}) == len(found.facets)
    for facet in found.facets:
        assert Facet.model_validate(facet.model_dump()) == facet
        assert facets.CONFIDENCE_FLOOR <= facet.confidence <= 1
        assert set(facet.supporting_neighbors) <= known
        assert facet.supporting_neighbors
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") or c in "<>[]{}|`" for c in facet.facet)
    assert len(found.companions) <= facets.MAX_COMPANIONS
    assert all(0 < share <= 1 for share in found.companions.values())
    assert not found.companions or max(found.companions.values()) == 1
    assert not set(found.companions) & {one.item_id for one in held.taken}
    assert retrieve(held, heard, domain, NOW, gate=OUTPUT_GATE) == found


def test_odd_value_of_enough_items_becomes_a_facet() -> None:
    taking = memory(*(taken(f"b{n}", "tag: kwimba sevlan") for n in range(3)))

    assert [facet.facet for facet in retrieve(taking, None, "books", NOW, gate=OUTPUT_GATE).facets] == [
        "drawn to kwimba sevlan (tag)"
    ]

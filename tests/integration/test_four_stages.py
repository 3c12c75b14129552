"""The paper's four stages on the stream: retrieve, extract, reason, evolve, and what the ranking logs of them."""

from typing import Any

import pytest

from schemas import ItemMemory, Ranking, encode
from tests.harness import Harness, Outputs
from tests.openai_server import OpenAiServer, threaded

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def film(name: str, *genres: str) -> dict[str, Any]:
    return {"item_id": name, "title": name.title(), "metadata": {"genres": list(genres)}}


def cohort(harness: Harness, users: int = 5) -> None:
    """So many users who took the same two noir films; the last of them has not seen the second."""
    for number in range(users - 1):
        harness.events.interaction(f"user-{number}", "films", film("laura", "mystery"))
        harness.events.interaction(f"user-{number}", "films", film("vertigo", "mystery", "thriller"))
    harness.events.flush()

    def knows_all(out: Outputs) -> bool:
        lauras = [item for item in out.values(ItemMemory) if item.item_id == "laura"]
        return bool(lauras) and sum("vertigo" in taker.others for taker in lauras[-1].takers) == users - 1

    harness.until(knows_all, "the items to hear of all others")
    harness.events.interaction(f"user-{users - 1}", "films", film("laura", "mystery"))
    harness.events.flush()


def ranking_of(harness: Harness, request_id: str) -> Ranking:
    def answer(out: Outputs) -> list[Ranking]:
        return [ranking for ranking in out.values(Ranking) if ranking.ranking_id == request_id]

    return answer(harness.until(lambda out: bool(answer(out)), "the ranking"))[0]


def ask(harness: Harness, user: str, request_id: str, *candidates: dict[str, Any], instruction: str = "") -> Ranking:
    harness.events.rank_request(user, "films", candidates, instruction, request_id=request_id)
    harness.events.flush()
    return ranking_of(harness, request_id)


def until_told(harness: Harness, user: str) -> None:
    """Ask until the items have something to tell: they are written once in a while, and then followed."""
    shown = film("vertigo", "mystery"), film("up", "animation")
    told = (bool(ask(harness, user, f"look-{number}", *shown).injected.companions) for number in range(300))
    assert any(told), harness.logs()


@pytest.mark.thorough
def test_what_others_took_with_the_same_items_reaches_a_ranking_and_its_log(harness: Harness) -> None:
    harness.worker(support_floor=2, statinit=False)
    cohort(harness)
    until_told(harness, "user-4")

    ranking = ask(
        harness, "user-4", "r1", film("shane", "western"), film("vertigo", "mystery"), film("up", "animation")
    )

    assert ranking.candidates[0].item_id == "vertigo"
    told = ranking.injected
    assert told.companions == {"vertigo": 1.0}
    assert [facet.attribute_id for facet in told.facets] == ["preference:genre:mystery"]
    assert told.facets[0].supporting_neighbors == ("item:laura",), "no user is told of, under any name"
    assert (told.memory_version, told.reasoner) == (1, "deterministic")
    assert told.graph_epoch >= 1
    assert not any(f"user-{n}" in encode(ranking).decode().replace("user-4", "") for n in range(4))


@pytest.mark.thorough
def test_a_model_ranks_and_picks_the_slim_skill(harness: Harness) -> None:
    with threaded(OpenAiServer()) as server:
        harness.worker(
            support_floor=2, ranker="listwise", extract_by="llm", llm_base_url=server.base_url, llm_model="test-model"
        )
        cohort(harness)
        until_told(harness, "user-4")
        shown = [film("vertigo", "mystery"), film("up", "animation"), film("shane", "western")]
        ranking = ask(harness, "user-4", "r1", *shown, instruction="something dark")

    told = ranking.injected.ranked_by
    assert told is not None
    assert (told.reasoner, told.prompt, told.model, told.calls) == ("llm", "rank-listwise.v1", "test-model", 2)
    assert told.prompt_hash
    assert {c.item_id for c in ranking.candidates} == {"vertigo", "up", "shane"}

"""The paper's four stages on the stream: retrieve, extract, reason, evolve, and what the ranking logs of them."""

from typing import Any

import pytest

from operators.global_skill import Population, global_skill
from operators.merge import merge
from operators.statinit import facts_of, observe, parser_for
from schemas import (
    Candidate,
    ChangeKind,
    GlobalSkill,
    Interaction,
    ItemMemory,
    Ranking,
    SkillDiff,
    SlimSkill,
    Source,
    Tier,
    encode,
)
from tests.builders import a_time
from tests.harness import Harness, Outputs
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

GENRES = ("mystery", "western")


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


@pytest.mark.seldom
def test_too_few_others_are_told_of_to_nobody(harness: Harness) -> None:
    harness.worker(support_floor=5)
    cohort(harness)
    harness.until(lambda out: any(len(i.takers) == 5 for i in out.values(ItemMemory)), "the item to know all takers")

    ranking = ask(harness, "user-4", "r1", film("vertigo", "mystery"), film("up", "animation"))

    assert ranking.injected.companions == {}
    assert '"user:' not in encode(ranking).decode(), "nobody's pseudonym"


@pytest.mark.seldom
def test_a_rankings_facets_go_with_the_contrast_into_the_models_question(harness: Harness) -> None:
    with threaded(OpenAiServer()) as server:
        harness.worker(support_floor=2, reasoner="llm", llm_base_url=server.base_url)
        cohort(harness)
        until_told(harness, "user-4")
        ranking = ask(harness, "user-4", "r1", film("vertigo", "mystery"), film("up", "animation"))
        harness.events.selection(user_id="user-4", ranking_id=ranking.ranking_id, item_id="vertigo")
        harness.events.flush()
        harness.count(SkillDiff, 1)
        prompts = [prompt for prompt in server.prompts if "vertigo" in prompt.casefold()]

    assert ranking.injected.facets[0].facet in prompts[0]


@pytest.mark.thorough
def test_a_model_ranks_writes_facets_and_picks_the_slim_skill(harness: Harness) -> None:
    with threaded(OpenAiServer()) as server:
        harness.worker(
            support_floor=2,
            ranker="first-token",
            facets_by="llm",
            extract_by="llm",
            llm_base_url=server.base_url,
            llm_model="test-model",
        )
        cohort(harness)
        until_told(harness, "user-4")
        shown = [film("vertigo", "mystery"), film("up", "animation"), film("shane", "western")]
        ranking = ask(harness, "user-4", "r1", *shown, instruction="something dark")
        # What others took may still come in: for another graph the facets are asked for anew.
        asked = (ask(harness, "user-4", f"r{n}", *shown, instruction="something dark") for n in range(2, 30))
        again = next(
            each for each in asked if each.injected.facets_by is not None and not each.injected.facets_by.calls
        )

    told = ranking.injected.ranked_by
    assert told is not None
    assert (told.reasoner, told.prompt, told.model, told.calls) == ("llm", "rank-first-token.v1", "test-model", 2)
    assert told.prompt_hash
    assert ranking.injected.facets_by is not None
    assert ranking.injected.facets_by.prompt == "facets.v1"
    assert {c.item_id for c in ranking.candidates} == {"vertigo", "up", "shane"}
    # The facets are kept for the same graph, so that only the ranking costs calls again.
    assert again.injected.facets
    assert again.injected.facets_by is not None
    assert again.injected.facets_by.prompt_hash == ranking.injected.facets_by.prompt_hash


@pytest.mark.thorough
def test_without_an_answer_the_rule_ranks_and_the_ranking_says_so(harness: Harness) -> None:
    with threaded(OpenAiServer(always=Act(Do.FAIL))) as server:
        harness.worker(ranker="listwise", llm_base_url=server.base_url, llm_attempts=1, llm_retry_seconds=0.1)
        ranking = ask(
            harness, "ann", "r1", film("vertigo", "mystery"), film("up", "animation"), instruction="animation"
        )

    assert ranking.candidates[0].item_id == "up"
    by = ranking.injected.ranked_by
    assert by is not None
    assert by.reasoner == "deterministic"
    assert by.fallback is not None
    assert "server-error" in by.fallback


@pytest.mark.seldom
def test_a_newcomer_starts_from_the_global_skill_and_leaves_it_behind(harness: Harness) -> None:
    population = Population("films")
    parse = parser_for("films", {})
    for number in range(10):
        profile = None
        for place in range(3):
            item = Candidate(**film(f"film-{place}", "romance"))
            event = Interaction(
                event_id=f"{number}-{place}", occurred_at=a_time(), user_id=f"u{number}", domain="films", item=item
            )
            profile = observe(profile, event, facts_of(item, parse).facts)
        assert profile is not None
        population.add(profile)
    template = global_skill(population, "global-1", a_time())
    harness.raw.produce(harness.settings.topic(GlobalSkill.TOPIC), encode(template), key=b"films")
    harness.raw.flush(10)
    harness.worker()

    first = ask(harness, "newcomer", "r0", film("laura", "mystery"), film("emma", "romance"))
    assert first.candidates[0].item_id == "emma"
    assert "romance" in first.injected.slim_skill
    for number in range(6):
        shown = [film(f"noir-{number}", "mystery"), film(f"other-{number}", "western")]
        harness.events.selection(harness.events.ranking("newcomer", "films", shown), f"noir-{number}")
    harness.events.flush()
    diffs = harness.count(SkillDiff, 6).diffs

    seed = diffs[0].seed
    assert seed is not None
    assert {(line.attribute_id, line.source) for line in seed} == {("preference:genre:romance", Source.GLOBAL)}
    gone = [c for d in diffs for c in d.changes if c.kind is ChangeKind.EVICTED]
    assert [change.attribute_id for change in gone] == ["preference:genre:romance"]
    skill = None
    for diff in diffs:
        skill = merge(skill, diff)
    assert skill is not None
    assert [(a.attribute_id, a.tier) for a in skill.attributes] == [("preference:genre:mystery", Tier.MEDIUM)]
    slim = harness.until(lambda out: bool(out.values(SlimSkill)), "slim skills").values(SlimSkill)[-1]
    assert slim.text == "likes: mystery"


@pytest.mark.thorough
def test_a_skill_freezes_after_its_warm_up(harness: Harness) -> None:
    harness.worker(warmup_rounds=2)
    for number in range(5):
        shown = slate(number)
        harness.events.selection(harness.events.ranking("ann", "films", shown), shown[0]["item_id"])
    harness.events.flush()
    harness.count(SkillDiff, 2)
    harness.quiet()

    assert [diff.version for diff in harness.outputs.diffs] == [1, 2]
    assert harness.outputs.dead_letters == []

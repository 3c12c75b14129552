"""The paper's four stages on the stream: retrieve, extract, reason, evolve, and what the ranking logs of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from operators.attributes import ranked_lines
from schemas import Contrast, ItemMemory, Ranking, RankingOutcome, SkillDiff, encode
from streams.local.children import environment
from tests.builders import film, slate
from tests.e2e.cli_user import answer, sager
from tests.harness import Harness, Outputs

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def titled(name: str, *genres: str) -> dict[str, Any]:
    return {"item_id": name, "title": name.title(), "metadata": {"genres": list(genres)}}


def cohort(harness: Harness) -> None:
    """Five users who took the same two noir films; the last of them has not seen the second."""
    for number in range(4):
        harness.events.interaction(f"user-{number}", "films", titled("laura", "mystery"))
        harness.events.interaction(f"user-{number}", "films", titled("vertigo", "mystery", "thriller"))
    harness.events.flush()

    def knows_all(out: Outputs) -> bool:
        lauras = [item for item in out.values(ItemMemory) if item.item_id == "laura"]
        return bool(lauras) and sum("vertigo" in taker.others for taker in lauras[-1].takers) == 4

    harness.until(knows_all, "the items to hear of all others")
    harness.events.interaction("user-4", "films", titled("laura", "mystery"))
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
    shown = titled("vertigo", "mystery"), titled("up", "animation")
    told = (bool(ask(harness, user, f"look-{number}", *shown).injected.companions) for number in range(300))
    assert any(told), harness.logs()


def test_lists_name_items_of_the_catalogue_by_their_ids(harness: Harness) -> None:
    harness.worker()
    shown = slate(1)
    for item in shown:
        harness.events.item("films", item)
    alone = [{"item_id": item["item_id"]} for item in shown]
    ranking = harness.events.ranking("ann", "films", alone)
    harness.events.selection(ranking, alone[3]["item_id"])
    harness.events.rank_request("ann", "films", [*alone, {"item_id": "none such"}], request_id="unknown")
    harness.events.flush()

    out = harness.until(lambda out: bool(out.values(SkillDiff) and out.dead_letters), "a diff and a dead letter")

    [contrast] = out.values(Contrast)
    assert all(item.facts for item in (contrast.chosen, *contrast.unchosen))
    [letter] = out.dead_letters
    assert (letter.reason, "'none such'" in letter.detail) == ("unknown-item", True)
    assert len(ask(harness, "ann", "known", *alone).candidates) == len(alone)


@pytest.mark.thorough
def test_neighbours_choices_reach_a_ranking_and_its_log(harness: Harness) -> None:
    harness.worker(support_floor=2, statinit=False)
    cohort(harness)
    until_told(harness, "user-4")

    ranking = ask(
        harness, "user-4", "r1", titled("shane", "western"), titled("vertigo", "mystery"), titled("up", "animation")
    )

    assert ranking.candidates[0].item_id == "vertigo"
    told = ranking.injected
    assert told.companions == {"vertigo": 1.0}
    assert [facet.attribute_id for facet in told.facets] == ["preference:genre:mystery"]
    assert told.facets[0].supporting_neighbors == ("item:laura",), "no user is told of, under any name"
    assert (told.memory_version, told.reasoner) == (1, "deterministic")
    assert told.graph_epoch >= 1
    assert not any(f"user-{n}" in encode(ranking).decode().replace("user-4", "") for n in range(4))


DOMAIN = "films"


@pytest.mark.thorough
def test_an_operator_freezes_and_resets_the_weights_of_rankings(harness: Harness) -> None:
    env = environment(harness.settings)
    harness.worker()
    for number in range(6):
        harness.events.interaction(f"u{number % 2}", DOMAIN, film(number))
    harness.events.flush()
    harness.quiet()
    for number in range(8):
        harness.events.rank_request(f"u{number % 2}", DOMAIN, slate(number, 8, 60), request_id=f"r{number}")
    harness.events.flush()
    for ranking in harness.count(Ranking, 8).values(Ranking):
        assert ranking.injected.weights_version == 0
        harness.events.selection(ranking, ranking.candidates[2].item_id)
    harness.events.flush()
    harness.count(Contrast, 8)
    outcomes = harness.quiet().values(RankingOutcome)
    assert outcomes

    frozen = answer("weights", "freeze", "--domain", DOMAIN, env=env)
    assert (frozen["domain"], frozen["choices"], frozen["frozen"]) == (DOMAIN, len(outcomes), True)
    unsure = sager("weights", "reset", "--domain", DOMAIN, env=env)
    assert (unsure.returncode, "--yes" in unsure.stderr) == (2, True)
    reset = answer("weights", "reset", "--domain", DOMAIN, "--yes", env=env)
    assert (reset["choices"], reset["frozen"]) == (0, True)

    # Workers follow the topic: one of the next rankings uses the weights after the reset.
    asked: list[str] = []

    def uses_them(out: Outputs) -> bool:
        if {ranking.ranking_id for ranking in out.values(Ranking)} >= set(asked):
            asked.append(f"last-{len(asked)}")
            harness.events.rank_request("u1", DOMAIN, slate(99, 8, 60), request_id=asked[-1])
            harness.events.flush()
        return any(ranking.injected.weights_version == reset["version"] for ranking in out.values(Ranking))

    harness.until(uses_them, "a ranking with the weights after the reset")


PARSER = """
from operators.statinit.generic import parse

def read(candidate):
    if candidate.item_id == "bad":
        raise ValueError(candidate.title)
    return parse(candidate)
"""


@pytest.mark.thorough
def test_a_list_with_an_unreadable_item_is_ranked_and_learned_from(
    harness: Harness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostile_parser.py").write_text(PARSER)
    installed = tmp_path / "hostile-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[sager.domains]\ntoys = hostile_parser:read\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    harness.worker()
    shown = [
        {"item_id": "bad", "title": "A secret title", "metadata": {"kind": "train"}},
        {"item_id": "a", "title": "A", "metadata": {"kind": "train"}},
        {"item_id": "b", "title": "B", "metadata": {"kind": "doll"}},
    ]

    request = harness.events.rank_request("ann", "toys", shown)
    harness.events.flush()
    harness.count(Ranking, 1)
    harness.events.selection(request, "a")
    harness.events.flush()

    outputs = harness.count(SkillDiff, 1)
    harness.quiet()
    [ranking], [contrast] = outputs.values(Ranking), outputs.values(Contrast)
    assert sorted(candidate.item_id for candidate in ranking.candidates) == ["a", "b", "bad"]
    assert (contrast.chosen.item_id, [item.item_id for item in contrast.unchosen]) == ("a", ["b"])
    assert outputs.dead_letters == []
    log = (harness.settings.data_dir / "worker.log").read_text()
    assert "ValueError in hostile_parser.py:6" in log
    assert "secret title" not in log


SAID = (
    "something dark, send it to anna@example.org",
    "do not remember this: something silly",
    "a gift for my mother",
    "something dark again",
)


@pytest.mark.thorough
def test_private_data_reaches_no_output_of_a_worker(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    shown = [
        {"item_id": "a", "title": "A", "metadata": {"genre": ["noir"], "about": "diabetic"}},
        {"item_id": "b", "title": "B", "metadata": {"genre": ["comedy"]}},
    ]

    for said in SAID:
        ranking = harness.events.ranking("ann", "shop", shown, instruction=said)
        harness.events.selection(ranking, "a")
    harness.events.flush()

    outputs = harness.count(SkillDiff, 2)
    harness.quiet()
    contrasts = outputs.values(Contrast)
    assert [contrast.instruction for contrast in contrasts] == ["something dark, send it to [e-mail]", SAID[3]]
    [skill] = harness.skills().values()
    assert {line.attribute_id for line in ranked_lines(skill) if line.taken} == {"preference:genre:noir"}
    assert outputs.dead_letters == []
    rows = harness.duckdb("SELECT instruction FROM rankings", lambda found: len(found) == len(SAID))
    kept = json.dumps([rows, [contrast.model_dump(mode="json") for contrast in contrasts]])
    assert not [word for word in ("anna@", "diabetic", "silly") if word in kept]

"""The paper's four stages on the stream: retrieve, extract, reason, evolve, and what the ranking logs of them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from operators.seals import seal_record
from operators.weights import apply_outcome, initial_weights
from schemas import Contrast, ItemMemory, Position, Ranking, RankingOutcome, SkillDiff, Weights, decode, encode
from tests.builders import film, slate
from tests.e2e.cli_user import answer, sager
from tests.harness import Harness, Outputs

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def titled(name: str, *genres: str) -> dict[str, Any]:
    return {"item_id": name, "title": name.title(), "metadata": {"genres": list(genres)}}


def cohort(harness: Harness, users: int = 5) -> None:
    """So many users who took the same two noir films; the last of them has not seen the second."""
    for number in range(users - 1):
        harness.events.interaction(f"user-{number}", "films", titled("laura", "mystery"))
        harness.events.interaction(f"user-{number}", "films", titled("vertigo", "mystery", "thriller"))
    harness.events.flush()

    def knows_all(out: Outputs) -> bool:
        lauras = [item for item in out.values(ItemMemory) if item.item_id == "laura"]
        return bool(lauras) and sum("vertigo" in taker.others for taker in lauras[-1].takers) == users - 1

    harness.until(knows_all, "the items to hear of all others")
    harness.events.interaction(f"user-{users - 1}", "films", titled("laura", "mystery"))
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


USERS, EACH, DOMAIN = 6, 4, "films"
SHARED = "what both workers seal rankings with"


def newest(harness: Harness) -> Weights:
    """The domain's weights as they were last published."""
    return decode(Weights, harness.outputs.newest(Weights)[DOMAIN.encode()])


def folded(harness: Harness) -> Weights:
    """What the outcomes on the topic make of the start values, offline."""
    weights = None
    for message in harness.outputs.records["outcomes"]:
        outcome = decode(RankingOutcome, message.value())
        where = Position(
            topic=str(message.topic()),
            partition=int(message.partition() or 0),
            offset=int(message.offset() or 0),
            timestamp_ms=message.timestamp()[1],
        )
        weights = apply_outcome(initial_weights(DOMAIN, outcome) if weights is None else weights, outcome, where)
    assert weights is not None
    return seal_record(weights)


@pytest.mark.thorough
def test_weights_are_learned_once_used_by_all_and_reset_by_a_person(harness: Harness) -> None:
    env = {
        "SAGER_BOOTSTRAP": harness.settings.bootstrap,
        "SAGER_PREFIX": harness.settings.prefix,
        "SAGER_PARTITIONS": str(harness.settings.partitions),
        "SAGER_EMBEDDED": "true",
        "SAGER_DATA_DIR": str(harness.settings.data_dir),
    }
    one = harness.worker("one", pseudonym_key=SHARED)
    harness.has_started("one")
    for user in range(USERS):
        for number in range(3):
            harness.events.interaction(f"u{user}", DOMAIN, film(6 * number + user))
    harness.events.flush()
    harness.quiet()
    for number in range(USERS * EACH):
        harness.events.rank_request(f"u{number % USERS}", DOMAIN, slate(number, 8, 60), request_id=f"r{number}")
    harness.events.flush()
    rankings: list[Ranking] = harness.count(Ranking, USERS * EACH).values(Ranking)
    assert {ranking.injected.weights_version for ranking in rankings} == {0}
    rng = random.Random(1)
    half = len(rankings) // 2
    for place, ranking in enumerate(rankings):
        if place == half:
            # In the middle of it all another worker takes over some partitions, and the first one is gone.
            harness.worker("two", pseudonym_key=SHARED)
            harness.has_started("two")
            harness.kill(one)
        taken = rng.choice(ranking.candidates[:4]).item_id
        harness.events.selection(ranking, taken)
    harness.events.flush()
    harness.count(Contrast, len(rankings))
    harness.quiet()

    telling = {c.event_id for c in harness.outputs.values(Contrast) if c.features is not None}
    outcomes: list[RankingOutcome] = harness.outputs.values(RankingOutcome)
    assert len(telling) > USERS
    assert len({outcome.event_id for outcome in outcomes}) == len(outcomes) == len(telling)
    assert newest(harness) == folded(harness)

    frozen = answer("weights", "freeze", "--domain", DOMAIN, env=env)
    assert (frozen["domain"], frozen["choices"], frozen["frozen"]) == (DOMAIN, len(telling), True)
    unsure = sager("weights", "reset", "--domain", DOMAIN, env=env)
    assert unsure.returncode == 2
    assert "--yes" in unsure.stderr
    reset = answer("weights", "reset", "--domain", DOMAIN, "--yes", env=env)
    assert (reset["choices"], reset["frozen"]) == (0, True)

    # Workers follow the topic: the next ranking but one or two goes by what was reset.
    asked: list[str] = []

    def goes_by(out: Outputs) -> bool:
        if all(any(r.ranking_id == name for r in out.values(Ranking)) for name in asked):
            asked.append(f"last-{len(asked)}")
            harness.events.rank_request("u1", DOMAIN, slate(99, 8, 60), request_id=asked[-1])
            harness.events.flush()
        return any(r.injected.weights_version == reset["version"] for r in out.values(Ranking))

    harness.until(goes_by, "a ranking by the weights that were reset")


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
    assert {line.attribute_id for line in skill.attributes} == {"preference:genre:noir"}
    assert outputs.dead_letters == []
    rows = harness.duckdb("SELECT instruction FROM rankings", lambda found: len(found) == len(SAID))
    kept = json.dumps([rows, [contrast.model_dump(mode="json") for contrast in contrasts]])
    assert not [word for word in ("anna@", "diabetic", "silly") if word in kept]

"""Shadow arms in a worker, and replays of what a worker did: other knobs beside the live skills, never in them."""

import socket
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from operators.whatif import Tally
from schemas import TOPICS, Action, ShadowOutcome, ShadowSkill, SkillCommand, SkillDiff, compound_key, decode, encode
from streams.kafka.scanner import Scanner
from streams.local.broker import free_port
from streams.materializer.read import connect
from streams.settings import Settings
from streams.whatif.arms import knobs_of
from streams.whatif.reading import Chosen
from streams.whatif.report import Report
from streams.whatif.run import replay_all
from tests.builders import a_command
from tests.harness import Harness
from tests.probes import metric
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS = ("ann", "bob", "cleo")
DOMAIN = "films"
CHANGED = {"merge.attributes": 6, "merge.global_patience": 1}


@pytest.fixture
def harness(settings: Settings) -> Iterator[Harness]:
    """On one partition: what is read of each is read one after the other."""
    with Harness(settings.model_copy(update={"partitions": 1})) as running:
        yield running


def choose(harness: Harness, first: int, times: int) -> None:
    for number in range(first, first + times):
        for place, user in enumerate(USERS):
            shown = slate(number)
            ranking = harness.events.ranking(user, DOMAIN, shown, ranking_id=f"r{number}")
            harness.events.selection(ranking, shown[(number + 3 * place) % 10]["item_id"])
    harness.events.flush()


def command(harness: Harness, said: SkillCommand) -> None:
    harness.send(said)
    harness.events.flush()


def kept(harness: Harness) -> dict[str, int | str]:
    """How long every topic is, and what is in every file."""
    with Scanner(harness.settings) as scanner:
        everything = [where for base in TOPICS for where in scanner.partitions(base)]
        lengths = Counter(str(message.topic()) for message in scanner.read(everything))
    files = harness.settings.data_dir.glob("*.duckdb")
    return {**lengths, **{file.name: sha256(file.read_bytes()).hexdigest() for file in files}}


def a_replay(harness: Harness, name: str, changed: dict[str, object]) -> Report:
    knobs = knobs_of(harness.settings, changed)
    out = harness.settings.data_dir / "replays" / "side.duckdb"
    return replay_all(harness.settings, knobs, Chosen(), name=name, out=out)


def side_rows(harness: Harness, query: str) -> list[tuple[Any, ...]]:
    """What an analyst finds who attaches the side tables beside the snapshot."""
    with connect(harness.settings, files=True) as con:
        con.execute(f"ATTACH '{harness.settings.data_dir / 'replays' / 'side.duckdb'}' AS side (READ_ONLY)")
        return con.execute(query).fetchall()


@pytest.mark.thorough
def test_a_shadow_learns_beside_the_live_skills_and_a_replay_learns_the_same(harness: Harness) -> None:
    port = free_port()
    worker = harness.worker(shadow_name="timid", shadow_share=1.0, shadow_set=CHANGED, metrics_port=port)
    materializer = harness.materializer()
    choose(harness, 0, 4)
    harness.count(ShadowOutcome, 12)
    line = harness.skills()[compound_key("ann", DOMAIN)].attributes[0]
    command(harness, a_command(Action.REMOVE, f"{line.dimension}: {line.value}", user_id="ann", domain=DOMAIN))
    harness.count(SkillDiff, 13)
    choose(harness, 4, 3)
    harness.count(ShadowOutcome, 21)
    harness.until(lambda _: metric(port, "sager_shadow_events_total", outcome="learned") == 21, "the shadow to learn")

    # Live skills are what they would be without it.
    harness.quiet(0.5)
    harness.assert_all_stores_agree(duckdb=False)
    shadows = {key: decode(ShadowSkill, raw).skill for key, raw in harness.outputs.newest(ShadowSkill).items()}
    outcomes = harness.outputs.values(ShadowOutcome)
    assert {(o.arm, o.candidates, o.live_contrasts - o.shadow_contrasts) for o in outcomes} == {("timid", 10, 0)}
    assert any(o.live_rank != o.shadow_rank for o in outcomes)
    assert metric(port, "sager_shadow_rank_count", arm="shadow:timid", domain=DOMAIN) == 21
    assert metric(port, "sager_shadow_events_total", outcome="commanded") == 1
    view = """
        SELECT arm, users, choices, choices_behind, live_hit_at_5, shadow_hit_at_5, difference, difference_error
        FROM shadow_arms
    """
    [row] = harness.duckdb(view, lambda rows: bool(rows) and rows[0][2] == 21)
    tally = Tally()
    for o in outcomes:
        tally.add(o.user_id, o.live_rank, o.shadow_rank)
    hits, ndcg = tally.differences()["hit_at_5"], tally.differences()["ndcg_at_5"]
    assert row[:4] == ("timid", 3, 21, 0)
    assert row[4:] == pytest.approx((hits.live, hits.other, ndcg.delta, ndcg.error)), "SQL and Python reckon alike"

    harness.kill(worker)
    harness.kill(materializer)
    before = kept(harness)
    same, other = a_replay(harness, "same", {}), a_replay(harness, "other", CHANGED)
    assert kept(harness) == before, "neither Kafka nor a live file was written to"

    assert (same.skills, same.identical, same.tally.choices, same.commands) == (3, 3, 21, 1)
    assert (same.pending, same.missing, same.broken) == (0, 0, 0)
    assert (other.skills, other.identical) == (3, 0)
    # The oracle of one is the other: offline and live, the arm has learned the same.
    told = side_rows(harness, "SELECT user_id, whatif_skill FROM side.replay_skills WHERE run = 'other'")
    assert {compound_key(user, DOMAIN): text.encode() for user, text in told} == {
        key: encode(skill) for key, skill in shadows.items()
    }
    joined = """
        SELECT count(*), bool_and(o.live_rank = s.live_rank AND o.whatif_rank = s.shadow_rank)
        FROM side.replay_outcomes o JOIN shadow_outcomes s USING (user_id, ranking_id) WHERE run = 'other'
    """
    assert side_rows(harness, joined) == [(21, True)]


@pytest.mark.seldom
def test_a_shadow_that_gets_no_answer_holds_nobody_up(harness: Harness) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        arm = {"reasoner": "llm", "llm_base_url": f"http://127.0.0.1:{silent.getsockname()[1]}/v1", "gate": False}
        worker = harness.worker(shadow_name="slow", shadow_share=1.0, shadow_set=arm)
        choose(harness, 0, 3)
        harness.count(SkillDiff, 9)
        # One choice of each user was compared, and is waited for.
        harness.count(ShadowOutcome, 3)
        assert harness.stop(worker) == 0, "the worker ends in time, whatever the arm waits for"

    assert sorted(diff.version for diff in harness.outputs.diffs) == sorted([1, 2, 3] * 3)
    assert harness.outputs.dead_letters == []

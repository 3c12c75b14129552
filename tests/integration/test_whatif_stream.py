"""A shadow deployment beside a live one, and replays of what a worker did."""

import threading
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

import pytest

from schemas import TOPICS, Action, SkillCommand, SkillDiff, compound_key, encode
from streams.kafka import topics
from streams.kafka.scanner import Scanner
from streams.settings import Settings
from streams.whatif.mirror import mirror
from streams.whatif.replay import Chosen, Report, compare_shadow, replay_all
from streams.whatif.variant import variant_of
from tests.builders import a_command
from tests.harness import Harness
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS = ("ann", "bob", "cleo")
DOMAIN = "films"


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


def a_replay(harness: Harness, *changes: str) -> Report:
    return replay_all(harness.settings, variant_of(harness.settings, list(changes)), Chosen())


@pytest.mark.thorough
def test_a_replay_ends_at_the_live_skills_and_writes_nothing(harness: Harness) -> None:
    worker = harness.worker()
    choose(harness, 0, 4)
    harness.count(SkillDiff, 12)
    line = harness.skills()[compound_key("ann", DOMAIN)].attributes[0]
    command(harness, a_command(Action.REMOVE, f"{line.dimension}: {line.value}", user_id="ann", domain=DOMAIN))
    harness.count(SkillDiff, 13)
    choose(harness, 4, 3)
    harness.count(SkillDiff, 22)
    harness.kill(worker)

    before = kept(harness)
    same, other = a_replay(harness), a_replay(harness, "merge.attributes=6", "merge.global_patience=1")
    assert kept(harness) == before, "neither Kafka nor a live file was written to"

    assert (same.skills, same.identical, len(same.choices), same.commands) == (3, 3, 21, 1)
    assert (same.skipped, same.missing, same.broken) == (0, 0, 0)
    assert (other.skills, other.identical) == (3, 0)


@pytest.mark.thorough
def test_a_shadow_learns_from_the_copies_and_is_compared(harness: Harness) -> None:
    shadow = harness.settings.model_copy(
        update={"prefix": f"{harness.settings.prefix}shadow.", "app_id": f"{harness.settings.app_id}-shadow"}
    )
    topics.ensure(shadow)
    stop = threading.Event()
    copying = threading.Thread(target=mirror, args=(shadow, harness.settings.prefix, 1.0, stop))
    copying.start()
    try:
        harness.worker()
        choose(harness, 0, 4)
        harness.count(SkillDiff, 12)
        with Harness(shadow) as other:
            other.worker(warmup_rounds=2)
            other.count(SkillDiff, 6)
            other.quiet(0.5)
            live, theirs = harness.skills(), other.skills()
            assert live.keys() == theirs.keys()
            assert {skill.version for skill in theirs.values()} == {2}
    finally:
        stop.set()
        copying.join()

    report = compare_shadow(harness.settings, shadow, Chosen())
    assert len(report.choices) == 6, "those that both have learned from"
    assert all(one == two for _, one, two in report.choices), "until then both have learned the same"
    assert [encode(skill) for skill in harness.skills().values()] == [encode(skill) for skill in live.values()]

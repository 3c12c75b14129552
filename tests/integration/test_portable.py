"""What is held about a person: verified, taken out whole, and taken in elsewhere."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_core import to_json

from operators.graph.items import neighbour_of
from operators.learning.fold import initial_skill, merge
from operators.seals import seal_diff
from schemas import TOPICS, DeadLetter, OpenRankings, PolicySkill, Profile, SkillDiff, Stance, encode, topic_of
from schemas.state import ItemMemory, ItemUpdate, Memory, Taker, TouchedItem
from streams.analytics import rows
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.snapshot import copy_and_rename
from streams.analytics.store import DuckDBStore
from streams.kafka import topics
from streams.kafka.clients import partition_of
from streams.kafka.producer import RecordWriter
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.pseudonyms import secret_of
from streams.rights.exporting import ExportCounts, export
from streams.rights.importing import ImportOrder, import_bundle, load
from streams.rights.verify import verify
from streams.settings import Settings
from tests.builders import (
    a_command,
    a_contrast,
    a_position,
    a_proposal,
    a_rank_request,
    a_ranking,
    a_selection,
    a_time,
    an_attribute,
    an_interaction,
    evolve,
)
from tests.harness import Harness
from tests.unit.analytics.analytics_builders import abstention, correction, rated, stated, statement

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

ANN, BOB, DOMAIN = "ann é", "bob", "films"
KEY = "a key of more than thirty-two characters"
SECRET = secret_of(Settings(chain_key=SecretStr(KEY)))


class Log:
    """Sealed logs, on the topics and in a DuckDB file, as workers and the materializer write them."""

    def __init__(self, settings: Settings) -> None:
        topics.ensure(settings)
        self.settings, self.outbox = settings, RecordWriter(settings)
        self.diffs: dict[str, list[SkillDiff]] = {}
        self.skills: dict[str, PolicySkill] = {}
        self.live = DuckDBStore(settings.data_dir / "live.duckdb", settings.prefix)

    def write(self, user: str, *chosen: str) -> None:
        said = statement(Stance.AVOIDS, "preference:genre:horror", "horror", 1)
        skill, log = initial_skill(user, DOMAIN, (an_attribute(),), a_command(user_id=user)), list[SkillDiff]()
        for text in chosen:
            _, diff = evolve(skill, a_proposal((), [text]))
            diff = diff.model_copy(update={"stated": () if log else (stated(said),)})
            log.append(seal_diff(diff, skill.chain, KEY.encode()))
            skill = merge(skill, log[-1])
        self.diffs[user], self.skills[user] = log, skill
        self.send(user, *log, skill)
        batch = ChangeSet()
        for event in (*log, skill):
            topic = topic_of(type(event))
            where = partition_of(user, self.settings.partitions)
            batch.add(rows.read(KafkaRecord(topic, where, 0, 0, topic.key_of(event), encode(event)), privacy=PRIVACY))
        self.live.write(batch, {})
        self.live.checkpoint(a_time().replace(tzinfo=None), None)
        copy_and_rename(self.live.path, self.settings.duckdb_file)

    def send(self, user: str, *events: Any) -> None:
        for event in events:
            topic = TOPICS[event.TOPIC]
            key = event.key or b"" if isinstance(event, DeadLetter) else topic.key_of(event)
            self.produce(user, type(event), key, encode(event))
        self.outbox.flush(10, "records")

    def produce(self, user: str, model: type[Any], key: bytes, value: bytes | None) -> None:
        where = partition_of(user, self.settings.partitions)
        self.outbox._producer.produce(self.settings.topic(model.TOPIC), value, key, where)


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    # One partition: reading to the end of one takes a fifth of a second.
    with_key = settings.model_copy(update={"chain_key": SecretStr(KEY), "partitions": 1})
    made = Log(with_key)
    made.write(ANN, "genre: saga", "genre: noir", "mood: dark")
    made.write(BOB, "genre: saga", "mood: dark")
    yield made
    made.live.close()


def life(user: str, other: str) -> list[Any]:
    """A record of every kind that tells of a user; those of items tell of both."""
    who, film = {"user_id": user}, {"domain": DOMAIN, "item_id": "arrival"}
    ours, theirs = (neighbour_of(each, SECRET) for each in (user, other))
    takers = tuple(Taker(each, 1, a_time(), 1, 1) for each in (ours, theirs))
    heard = (TouchedItem(item_id="arrival", at=a_time()),)
    letters = (DeadLetter.of(user, a_position(n), "invalid", "", *each) for n, each in enumerate(refused(user)))
    return [
        *(an_interaction(**who, domain=DOMAIN) for _ in range(3)),
        a_rank_request(**who, domain=DOMAIN),
        a_ranking(**who, domain=DOMAIN),
        a_selection(**who),
        a_contrast(**who, domain=DOMAIN),
        a_command(**who, domain=DOMAIN),
        rated(**who, domain=DOMAIN),
        correction(**who, domain=DOMAIN),
        abstention(**who, domain=DOMAIN),
        Profile(**who, domain=DOMAIN),
        OpenRankings(**who, slot=1),
        OpenRankings(**who, slot=1, answered=({"ranking_id": "r1", "item_id": "i2"},)),
        Memory(**who, domain=DOMAIN),
        ItemUpdate(domain=DOMAIN, taker=ours, version=1, degree=1, items=heard),
        ItemMemory(**film, takers=takers),
        *letters,
    ]


def refused(user: str) -> list[tuple[bytes, bytes]]:
    return [(user.encode(), b"no json"), (b"", to_json({"user_id": user})), (b"", b"[" + to_json(user) + b", broken")]


def exported(settings: Settings, user: str, file: Path) -> ExportCounts:
    with file.open("wb") as out:
        return export(settings, user, out)


def records(file: Path, base: str) -> list[dict[str, Any]]:
    lines = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
    return [line for line in lines if line.get("topic") == base]


def test_an_export_has_all_data_of_one_person_and_imports_elsewhere(
    log: Log, settings: Settings, tmp_path: Path
) -> None:
    for user, other in ((ANN, BOB), (BOB, ANN)):
        log.send(user, *life(user, other))
    there = {"prefix": f"{settings.prefix}there.", "app_id": f"{settings.app_id}there", "partitions": 1}
    with Harness(settings.model_copy(update=there)) as harness:
        harness.worker()

        file = tmp_path / "ann.jsonl.gz"
        counts = exported(log.settings, ANN, file)

        assert counts.topics == {
            **dict.fromkeys((event.TOPIC for event in life(ANN, BOB)), 1),
            "interactions": 3,
            "dead-letters": 3,
            "skill-diffs": 3,
            "skills": 1,
        }
        text = gzip.decompress(file.read_bytes()).decode()
        assert BOB not in text
        assert neighbour_of(BOB, SECRET) not in text
        [ring] = records(file, "open-rankings")
        assert ring["value"]["answered"], "the newest record of a key holds"
        assert counts.tables["skill_diffs"] == 3

        harness.has_started("worker")
        with file.open("rb") as source:
            done = import_bundle(harness.settings, load(source), "anna", ImportOrder("ann", "moved"), 30)

        [(domain, diff)] = done.diffs.items()
        assert (domain, diff is not None, done.statements) == (DOMAIN, True, 1)
        out = harness.until(lambda out: len(out.values(PolicySkill)) > 1, "all of it")
        assert out.values(SkillDiff)[0].reasoned_by.reasoner == "command by ann"
        assert [said.value for said in out.values(PolicySkill)[-1].stated] == ["horror"]
        arrived, sent = out.values(PolicySkill)[-1], log.skills[ANN]
        assert {line.attribute_id: line for line in arrived.attributes} == {
            line.attribute_id: line for line in sent.attributes
        }
        assert arrived.hypotheses == sent.hypotheses
        imported = verify(harness.settings)
        assert (imported.findings, imported.versions) == ([], 2), "a worker's own log"

"""Whatever is forged, moved, replayed, cut or removed, on the topics or in DuckDB, is found and named.

The records are written as a worker writes them, with its own steps; the materializer is the real one.
"""

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import SecretStr

from benchmarks.surroundings import reached_as
from operators.findings import Kind
from operators.forget import with_scope
from operators.merge import start
from operators.seals import sealed
from operators.steps.evolve import Evolve
from operators.steps.evolved import State, Version
from sager_client import SlimSkills
from schemas import (
    ForgetRequest,
    Forgotten,
    PolicySkill,
    Receipt,
    SkillDiff,
    SlimSkill,
    compound_key,
    diff_key,
    encode,
    subject_of,
    topic_of,
)
from streams.kafka import topics
from streams.kafka.clients import partition_of
from streams.kafka.producer import Outbox
from streams.materializer import run
from streams.materializer.exceptions import MaterializerError
from streams.operations.rebuild import rebuild
from streams.privacy import DEFAULT as PRIVACY
from streams.rights.anchors import NoAnchor
from streams.rights.verify import Finding, make_anchor, partition, tables, verify
from streams.settings import Settings
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import (
    a_command,
    a_contrast,
    a_proposal,
    a_ranking,
    a_selection,
    a_time,
    an_attribute,
    evolve,
)
from tests.patience import until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

DOMAIN, KEY = "films", b"a key of more than thirty-two characters"
EVERYONE = (
    "sound bare other-key other-kind again swapped moved twice torn gone cut pretended lessened shrunk foldless orphan "
    "forgotten back returned revived"
)
STEP = Evolve(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, vouching=VOUCHING)
SLIM, LOG, SKILL = SlimSkill.TOPIC, SkillDiff.TOPIC, PolicySkill.TOPIC


class World:
    """Sealed logs with their events, on the topics and in DuckDB."""

    def __init__(self, settings: Settings) -> None:
        topics.ensure(settings)
        self.settings, self.outbox = settings, Outbox(settings)
        self.versions: dict[str, list[Version]] = {}
        self.receipts: dict[str, Receipt] = {}
        self.sent = 0

    def person(self, user: str, *chosen: str) -> None:
        """A version for each choice of an item with this fact, and the events that led to it."""
        skill = start(user, DOMAIN, (an_attribute(tier="high"),), a_command(user_id=user))
        made = self.versions[user] = []
        for number, text in enumerate(chosen, 1):
            contrast = a_contrast([text], user_id=user, domain=DOMAIN, skill_version=skill.version)
            _, diff = evolve(skill, a_proposal((), [text]), contrast)
            version = STEP.version(State(skill), diff, always=True)
            skill = version.skill
            made.append(version)
            name = f"{user}-{number}"
            self.send(user, contrast, a_ranking(name, user_id=user, domain=DOMAIN), a_selection(name, user_id=user))
            self.send(user, version.diff, version.slim)
        self.send(user, skill, a_command(user_id=user, domain=DOMAIN))

    def forget(self, user: str, domain: str | None = None) -> None:
        """As a worker forgets a person or a domain of theirs, but for the tombstones."""
        asked = ForgetRequest(event_id="f", occurred_at=a_time(60), user_id=user, actor="ann", domain=domain)
        held = self.receipts.get(user) or Receipt(event_id="f", occurred_at=a_time(60), subject=subject_of(user))
        scope = Forgotten(event_id="f", until=a_time(60 + len(held.scopes)), actor="ann", done=True)
        self.receipts[user] = sealed(with_scope(held, asked, scope), KEY)
        self.send(user, self.receipts[user])

    def remove(self, user: str) -> None:
        """Tombstones for everything learned about a person."""
        for number in range(1, len(self.versions[user]) + 1):
            self.put(user, LOG, diff_key(user, DOMAIN, number), None)
        for base in (SLIM, SKILL):
            self.put(user, base, compound_key(user, DOMAIN), None)

    def send(self, user: str, *events: Any) -> None:
        for event in events:
            if event is not None:
                self.put(user, event.TOPIC, topic_of(type(event)).key_of(event), encode(event))

    def put(self, user: str, base: str, key: bytes, value: bytes | None, partition: int | None = None) -> None:
        where = partition_of(user, self.settings.partitions) if partition is None else partition
        self.outbox.send(self.settings.topic(base), key, value, where)
        self.sent += 1

    def flush(self) -> None:
        self.outbox.flush(30, "records")

    def materialize(self) -> None:
        """All that is on the topics, in a published snapshot."""
        self.flush()
        stop, read = threading.Event(), [0]

        def note(written: run.Written) -> None:
            read[0] += written.records
            if read[0] >= self.sent:
                stop.set()

        run.materialize(self.settings, stop, note)

    def found(self, **more: Any) -> set[tuple[str, str]]:
        """Kind and user of each finding."""
        self.flush()
        return {(each.kind.value, each.user_id) for each in verify(self.settings, **more).findings}


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(partition, "LATE_SECONDS", 0.0)  # no worker is about to send anything
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return World(settings.model_copy(update=given))


def people(world: World, *names: str) -> None:
    for name in names:
        world.person(name, "genre: saga", "genre: noir", "mood: dark")


def of(found: Sequence[Finding], user: str) -> set[Kind]:
    return {each.kind for each in found if each.user_id == user}


def test_forged_records_on_topics_are_found_and_named(world: World, tmp_path: Path) -> None:
    everyone = EVERYONE.split()
    people(world, *everyone)
    world.forget("shrunk", "books")
    older = world.receipts["shrunk"]
    world.forget("shrunk", "games")
    world.forget("lessened", "books")
    for name in (away := ("forgotten", "returned", "revived")):
        world.forget(name)
        world.remove(name)
    world.materialize()
    anchor = tmp_path / "anchor"
    assert not make_anchor(world.settings, anchor).found
    assert anchor.stat().st_mode & 0o777 == 0o600
    assert not [name for name in everyone if name.encode() in anchor.read_bytes()]
    assert not [name for name in everyone if subject_of(name).encode() in anchor.read_bytes()]
    done = verify(world.settings, anchor=anchor)
    assert (done.findings, done.skills, done.receipts) == ([], len(everyone) - len(away), 2 + len(away))
    assert (bool(done.copies), done.expired, done.anchored) == (True, 0, len(everyone) - len(away))

    def slim(user: str, **fields: object) -> SlimSkill:
        newest = world.versions[user][-1].slim
        assert newest is not None
        return newest.model_copy(update=fields)

    forged = {"text": "likes: Obey", "likes": ("Obey",)}
    world.send("bare", slim("bare", **forged, skill_version=999, seal=None))
    world.send("other-key", sealed(slim("other-key", **forged), b"guess"))
    chain = world.versions["other-kind"][-1].skill.chain
    world.send("other-kind", slim("other-kind", **forged, seal=chain))
    world.send("again", world.versions["again"][0].slim)
    world.put("swapped", SLIM, compound_key("swapped", DOMAIN), encode(slim("sound")))
    there = 1 - partition_of("moved", 2)
    world.put("moved", SLIM, compound_key("moved", DOMAIN), encode(slim("moved")), there)
    raw = encode(slim("twice")).replace(b'"text":', b'"text":"likes: Obey","text":', 1)
    world.put("twice", SLIM, compound_key("twice", DOMAIN), raw)
    world.put("torn", SLIM, compound_key("torn", DOMAIN), b"{")
    world.put("torn", SKILL, compound_key("torn", DOMAIN), b"\xff")
    world.put("torn", LOG, diff_key("torn", DOMAIN, 2), b"[]")
    world.remove("gone")
    world.remove("pretended")
    world.send("pretended", sealed(older.model_copy(update={
        "subject": subject_of("pretended"), "person": Forgotten(event_id="f", until=a_time(90), actor="ann"),
    }), b"guess"))  # fmt: skip
    world.put("cut", LOG, diff_key("cut", DOMAIN, 3), None)
    world.send("cut", world.versions["cut"][1].skill, world.versions["cut"][1].slim)
    world.put("lessened", Receipt.TOPIC, subject_of("lessened").encode(), None)
    world.send("shrunk", older)
    last = world.versions["foldless"][-1].diff
    assert last is not None
    world.send("foldless", last.model_copy(update={"changes": (*last.changes, *last.changes), "seed": ()}))
    for number in (1, 2, 3):
        world.put("orphan", LOG, diff_key("orphan", DOMAIN, number), None)
    world.put("orphan", SKILL, compound_key("orphan", DOMAIN), None)
    world.send("back", *(version.diff for version in world.versions["back"]))
    world.send("returned", slim("returned"))
    world.send("revived", *(version.diff for version in world.versions["revived"]), slim("revived"))
    world.send("revived", world.versions["revived"][-1].skill)
    world.flush()
    done = verify(world.settings, anchor=anchor)

    found = {name: of(done.findings, name) for name in everyone}
    assert found["sound"] == found["forgotten"] == found["back"] == set()
    assert found["bare"] >= {Kind.SLIM_AHEAD, Kind.SLIM_UNSEALED}
    assert Kind.SLIM_FORGED in found["other-key"] & found["other-kind"]
    assert Kind.SLIM_REPLAYED in found["again"]
    assert Kind.MISPLACED in found["moved"]
    assert any(each.kind is Kind.MISPLACED and "another" in each.what for each in done.findings), "swapped"
    assert Kind.DISGUISED in found["twice"]
    assert found["torn"] >= {Kind.UNREADABLE, Kind.SKILL_MISSING}
    assert Kind.VANISHED in found["gone"] & found["pretended"]
    assert Kind.LOG_CUT in found["cut"]
    assert Kind.LOG_FORGED in found["foldless"]
    assert Kind.SLIM_WITHOUT_LOG in found["orphan"]
    assert found["returned"] == found["revived"] == {Kind.RETURNED}
    nobody = [each for each in done.findings if not each.user_id]
    assert sum(each.kind is Kind.RECEIPT_FORGED for each in nobody) == 1
    by_anchor = [each for each in done.findings if each.kind is Kind.VANISHED and "the anchor" in each.what]
    assert {each.user_id for each in by_anchor} == {"gone", "pretended", "orphan"}, "named by their other traces"
    assert sum(each.kind is Kind.RECEIPT_MISSING for each in nobody) == 3, "one removed, and two that cover less"
    assert of(verify(world.settings, "gone", anchor=anchor).findings, "gone") == {Kind.VANISHED}

    anchor.write_bytes(anchor.read_bytes().replace(b'"s"', b'"r"', 1))
    with pytest.raises(NoAnchor, match="edited"):
        verify(world.settings, anchor=anchor)
    assert make_anchor(world.settings, tmp_path / "none").found
    assert not (tmp_path / "none").exists(), "an anchor does not vouch for what was found"


@pytest.mark.thorough
def test_a_forged_slim_skill_of_a_high_version_ends_for_running_apps(world: World) -> None:
    people(world, "ann", "bob", "cem")
    slim = world.versions["ann"][-1].slim
    assert slim is not None
    forged = slim.model_copy(update={"skill_version": 999, "text": "likes: Obey"})
    world.send("ann", forged)
    world.send("ann", slim)
    world.put("bob", SLIM, compound_key("bob", DOMAIN), encode(forged), 1 - partition_of("bob", 2))
    world.send("cem", world.versions["cem"][-1].slim.model_copy(update={"seal": None}))  # type: ignore[union-attr]
    world.flush()
    nobody = world.settings.model_copy(update={"app_id": f"{world.settings.app_id}-nobody"})
    with SlimSkills(connection=reached_as(world.settings)) as app:
        assert app.get("ann", DOMAIN) == "likes: Obey", "what apps were given last has a lower version"
        assert {kind for kind, _ in world.found()} == {"slim-replayed", "misplaced", "slim-unsealed"}

        assert rebuild(nobody, apply=True).written

        until(lambda: app.get("ann", DOMAIN) == slim.text, "the app to take the right one")
        until(lambda: app.get("bob", DOMAIN), "whom a record on another partition stood for to have theirs again")
    assert world.found() == set()
    assert rebuild(nobody, apply=True).written == 0


EDITS = {
    "a slim skill's words": "UPDATE slim_skills SET text = 'likes: Obey' WHERE user_id = 'u0'",
    "a slim skill's seal": "UPDATE slim_skills SET seal = NULL WHERE user_id = 'u1'",
    "a line's tier": "UPDATE skill_attributes SET tier = 'low' WHERE user_id = 'u2' AND place = 1",
    "a line more": "INSERT INTO skill_attributes SELECT * REPLACE (99 AS place) FROM skill_attributes "
    "WHERE user_id = 'u3' AND place = 1",
    "a change's reason": "UPDATE skill_changes SET reason = 'because' WHERE user_id = 'u4'",
    "a change of nobody's version": "INSERT INTO skill_changes SELECT * REPLACE ('u5' AS user_id, 77 AS version) "
    "FROM skill_changes LIMIT 1",
    "a selection's item": "UPDATE selections SET item_id = 'i3' WHERE user_id = 'u6'",
    "the reasoner": "UPDATE skill_diffs SET reasoner = 'a person' WHERE user_id = 'u7' AND version = 1",
    "a row of a partition that there is not": "INSERT INTO selections SELECT * REPLACE "
    "('u8' AS user_id, 99 AS kafka_partition) FROM selections LIMIT 1",
    "a row of no partition": "INSERT INTO selections SELECT * REPLACE ('u9' AS user_id, NULL AS kafka_partition) "
    "FROM selections LIMIT 1",
    "a row of a later offset": "INSERT INTO selections SELECT * REPLACE ('u10' AS user_id, 1000000 AS kafka_offset) "
    "FROM selections LIMIT 1",
    "deleted versions": "DELETE FROM skill_diffs WHERE user_id = 'u11'; DELETE FROM skill_changes "
    "WHERE user_id = 'u11'; DELETE FROM skill_versions WHERE user_id = 'u11'; "
    "DELETE FROM skill_history WHERE user_id = 'u11'",
    "a deleted choice": "DELETE FROM selections WHERE user_id = 'u12'",
    "a document that is none": "UPDATE skills SET document = '{' WHERE user_id = 'u13'",
    "two users' documents, swapped": "UPDATE skills SET document = (SELECT s.document FROM skills s "
    "WHERE s.user_id = 'u13') WHERE user_id = 'u14'",
    "what is derived": "UPDATE outcomes SET hit_at_1 = NOT hit_at_1 WHERE user_id = 'u15'",
    "when a version was in force": "UPDATE skill_versions SET valid_from = '2020-01-01' WHERE user_id = 'u16'",
    "when a version was logged": "UPDATE skill_diffs SET logged_at = '2020-01-01' WHERE user_id = 'u17'",
    "a command's actor": "UPDATE skill_commands SET actor = 'somebody else' WHERE user_id = 'u18'",
    "an older skill over the newer": "UPDATE skills SET version = 1 WHERE user_id = 'u19'",
    "a deleted line": "DELETE FROM skill_attributes WHERE user_id = 'u20'",
    "a contrast's partition": "UPDATE contrasts SET kafka_partition = 1 - kafka_partition WHERE user_id = 'u21'",
    "a ranking's words": "UPDATE rankings SET slim_skill = 'likes: Obey' WHERE user_id = 'u22'",
}


@pytest.mark.thorough
def test_every_edit_of_duckdb_is_found_and_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    people(world, *(f"u{number}" for number in range(len(EDITS))))
    world.materialize()
    copy = world.settings.data_dir / "forged.duckdb"
    shutil.copy(world.settings.duckdb_file, copy)
    copy.chmod(0o600)
    with duckdb.connect(str(copy)) as con:
        for statement in EDITS.values():
            con.execute(statement)
        con.execute("CREATE OR REPLACE VIEW learning_curve AS SELECT 1 AS all_is_well")
        con.execute("CREATE TABLE more (x INT)")
    forged = world.settings.model_copy(update={"duckdb": copy})

    done = verify(forged)

    users = {each.user_id for each in done.findings}
    assert [what for number, what in enumerate(EDITS) if f"u{number}" not in users] == []
    kinds = {each.kind for each in done.findings}
    assert kinds == {
        Kind.ROW_EDITED, Kind.ROW_FORGED, Kind.ROW_MISSING, Kind.ROW_FILTERED, Kind.DERIVED_DIFFERS, Kind.LAYOUT_DIFFERS
    }  # fmt: skip
    changed = [each.what for each in done.findings if each.kind is Kind.LAYOUT_DIFFERS]
    assert ["learning_curve" in changed[0], "more" in changed[1]] in ([True, True], [False, False])
    with duckdb.connect(str(copy)) as con:
        con.execute("UPDATE sink_offsets SET next_offset = 0")
    monkeypatch.setattr(tables, "BEHIND_SECONDS", -60.0)
    assert Kind.SNAPSHOT_BEHIND in {each.kind for each in verify(forged).findings}, "held back on purpose"
    copy.write_bytes(b"no database")
    with pytest.raises(MaterializerError, match="Is it a published snapshot"):
        verify(forged)

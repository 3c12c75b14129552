"""Records that are forged, moved, replayed, cut or removed on the topics are found and named.

The records are written as a worker writes them, with its own steps.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from benchmarks.surroundings import reached_as
from operators.audit import FaultKind
from operators.cards.fold import fold_cards
from operators.erasure import with_scope
from operators.learning.fold import initial_skill
from operators.seals import seal_log, seal_record
from operators.steps.evolve import EvolveState, EvolveStep, SkillVersion
from sager_client import SlimSkills
from schemas import (
    ErasedScope,
    ForgetRequest,
    PolicySkill,
    Receipt,
    SkillDiff,
    SlimSkill,
    encode,
    subject_digest,
)
from schemas.cards import Card, CardChange, CardChangeKind, CardDiff
from schemas.topics import compound_key, diff_key, topic_of
from streams.kafka import topics
from streams.kafka.clients import partition_of
from streams.kafka.producer import RecordWriter
from streams.operations.rebuild import rebuild
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.rights import sealed_topics
from streams.rights.sealed_topics import AuditFinding, PartitionReader, SealedPartition
from streams.rights.verify import verify
from streams.settings import Settings
from tests.builders import (
    a_command,
    a_contrast,
    a_line,
    a_proposal,
    a_ranking,
    a_selection,
    a_time,
    an_attribute,
    evolve,
)
from tests.waiting import until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

DOMAIN, KEY = "films", b"a key of more than thirty-two characters"
EVERYONE = (
    "sound bare other-key other-kind again swapped moved twice torn cut pretended lessened foldless orphan "
    "forgotten back returned revived"
)
STEP = EvolveStep(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, gate=OUTPUT_GATE)
SLIM, LOG, SKILL = SlimSkill.TOPIC, SkillDiff.TOPIC, PolicySkill.TOPIC


class World:
    """Sealed logs with their events, on the topics."""

    def __init__(self, settings: Settings) -> None:
        topics.ensure(settings)
        self.settings, self.outbox = settings, RecordWriter(settings)
        self.versions: dict[str, list[SkillVersion]] = {}
        self.receipts: dict[str, Receipt] = {}

    def person(self, user: str, *chosen: str) -> None:
        """A version for each choice of an item with this fact, and the events that led to it."""
        skill = initial_skill(user, DOMAIN, (an_attribute(tier="high"),), a_command(user_id=user))
        made = self.versions[user] = []
        for number, text in enumerate(chosen, 1):
            contrast = a_contrast([text], user_id=user, domain=DOMAIN, skill_version=skill.version)
            _, diff = evolve(skill, a_proposal((), [text]), contrast)
            version = STEP.version(EvolveState(skill), diff, always=True)
            skill = version.skill
            made.append(version)
            name = f"{user}-{number}"
            self.send(user, contrast, a_ranking(name, user_id=user, domain=DOMAIN), a_selection(name, user_id=user))
            self.send(user, version.diff, version.slim)
        self.send(user, skill, a_command(user_id=user, domain=DOMAIN))

    def card(self, user: str) -> tuple[list[CardDiff], Card]:
        log = []
        for version, value in enumerate(("noir", "saga", "tofu"), 1):
            line = a_line(value, words=f"I like {value}", since=a_time(1), confirmed_at=a_time(1))
            change = CardChange(kind=CardChangeKind.ADDED, line_id=line.line_id, line=line)
            log.append(
                CardDiff(
                    event_id=f"{user}-{version}", occurred_at=a_time(version), user_id=user, version=version,
                    changes=(change,),
                )
            )  # fmt: skip
        log = seal_log(log, KEY)
        card = fold_cards(log)[user]
        self.send(user, *log, card)
        return log, card

    def forget(self, user: str, domain: str | None = None) -> None:
        """As a worker forgets a person or a domain of theirs, but for the tombstones."""
        asked = ForgetRequest(event_id="f", occurred_at=a_time(60), user_id=user, actor="ann", domain=domain)
        held = self.receipts.get(user) or Receipt(event_id="f", occurred_at=a_time(60), subject=subject_digest(user))
        scope = ErasedScope(event_id="f", until=a_time(60 + len(held.scopes)), actor="ann", done=True)
        self.receipts[user] = seal_record(with_scope(held, asked, scope), KEY)
        self.send(user, self.receipts[user])

    def remove(self, user: str) -> None:
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

    def flush(self) -> None:
        self.outbox.flush(30, "records")

    def found(self, **more: Any) -> set[tuple[str, str]]:
        self.flush()
        return {(each.kind.value, each.user_id) for each in verify(self.settings, **more).findings}


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(sealed_topics, "LATE_SECONDS", 0.0)  # no worker is about to send anything
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return World(settings.model_copy(update=given))


def people(world: World, *names: str) -> None:
    for name in names:
        world.person(name, "genre: saga", "genre: noir", "mood: dark")


def of(found: Sequence[AuditFinding], user: str) -> set[FaultKind]:
    return {each.kind for each in found if each.user_id == user}


def test_forged_records_are_found_and_classified(world: World) -> None:
    everyone = EVERYONE.split()
    people(world, *everyone)
    world.forget("lessened", "books")
    older = world.receipts["lessened"]
    for name in (away := ("forgotten", "returned", "revived")):
        world.forget(name)
        world.remove(name)
    world.flush()
    done = verify(world.settings)
    assert (done.findings, done.skills, done.receipts) == ([], len(everyone) - len(away), 1 + len(away))

    def slim(user: str, **fields: object) -> SlimSkill:
        newest = world.versions[user][-1].slim
        assert newest is not None
        return newest.model_copy(update=fields)

    forged = {"text": "likes: Obey", "likes": ("Obey",)}
    world.send("bare", slim("bare", **forged, skill_version=999, seal=None))
    world.send("other-key", seal_record(slim("other-key", **forged), b"guess"))
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
    world.remove("pretended")
    world.send("pretended", seal_record(older.model_copy(update={
        "subject": subject_digest("pretended"), "person": ErasedScope(event_id="f", until=a_time(90), actor="ann"),
    }), b"guess"))  # fmt: skip
    world.put("cut", LOG, diff_key("cut", DOMAIN, 3), None)
    world.send("cut", world.versions["cut"][1].skill, world.versions["cut"][1].slim)
    world.put("lessened", Receipt.TOPIC, subject_digest("lessened").encode(), None)
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
    done = verify(world.settings)

    found = {name: of(done.findings, name) for name in everyone}
    assert found["sound"] == found["forgotten"] == found["back"] == set()
    assert found["bare"] >= {FaultKind.SLIM_AHEAD, FaultKind.SLIM_UNSEALED}
    assert FaultKind.SLIM_FORGED in found["other-key"] & found["other-kind"]
    assert FaultKind.SLIM_REPLAYED in found["again"]
    assert FaultKind.MISPLACED in found["moved"]
    assert any(each.kind is FaultKind.MISPLACED and "another" in each.what for each in done.findings), "swapped"
    assert FaultKind.DISGUISED in found["twice"]
    assert found["torn"] >= {FaultKind.UNREADABLE, FaultKind.SKILL_MISSING}
    assert FaultKind.SLIM_REPLAYED in found["cut"], "a log that is cut with its skill: the slim skill was sent again"
    assert FaultKind.LOG_FORGED in found["foldless"]
    assert FaultKind.SLIM_WITHOUT_LOG in found["orphan"]
    assert found["returned"] == found["revived"] == {FaultKind.RETURNED}
    nobody = [each for each in done.findings if not each.user_id]
    assert sum(each.kind is FaultKind.RECEIPT_FORGED for each in nobody) == 1
    assert sum(each.kind is FaultKind.RECEIPT_MISSING for each in nobody) == 1


@pytest.mark.thorough
def test_rebuild_replaces_a_forged_slim_skill_for_running_apps(world: World) -> None:
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

        assert rebuild(nobody, apply=True).different

        until(lambda: app.get("ann", DOMAIN) == slim.text, "the app to take the right one")
        until(lambda: app.get("bob", DOMAIN), "whom a record on another partition stood for to have theirs again")
    assert world.found() == set()
    assert rebuild(nobody, apply=True).different == 0


@pytest.mark.parametrize("model", [PolicySkill, SlimSkill, SkillDiff])
@pytest.mark.parametrize("is_fine", [lambda world: not world.found(), lambda world: rebuild(world.settings).is_fine])
def test_a_person_who_begins_during_the_reading_is_no_finding(
    world: World, monkeypatch: pytest.MonkeyPatch, model: type[Any], is_fine: Callable[[World], bool]
) -> None:
    people(world, "sound")
    records = PartitionReader._records

    def begin_before(self: PartitionReader, read: type[Any], number: int, found: SealedPartition) -> Any:
        if read is model and "new" not in world.versions and number == partition_of("new", world.settings.partitions):
            people(world, "new")
            world.flush()
        return records(self, read, number, found)

    monkeypatch.setattr(PartitionReader, "_records", begin_before)

    assert is_fine(world)
    assert "new" in world.versions


def test_edited_cards_are_found_and_classified(world: World) -> None:
    everyone = ("sound", "words", "log", "resealed", "cut", "gone", "moved", "torn", "forgotten")
    made = {name: world.card(name) for name in everyone}
    world.flush()
    done = verify(world.settings)
    assert (done.findings, done.cards) == ([], len(everyone))

    def edited(card: Card) -> Card:
        lines = (card.lines[0].model_copy(update={"words": "I love everything"}), *card.lines[1:])
        return card.model_copy(update={"lines": lines})

    world.send("words", edited(made["words"][1]))
    world.send("log", made["log"][0][1].model_copy(update={"changes": ()}))
    log = [diff.model_copy(update={"conversation_id": "another"}) for diff in made["resealed"][0]]
    world.send("resealed", *(again := seal_log(log, b"guess")), fold_cards(again)["resealed"])
    world.put("cut", CardDiff.TOPIC, compound_key("cut", 3), None)
    for version in (1, 2, 3):
        world.put("gone", CardDiff.TOPIC, compound_key("gone", version), None)
        world.put("forgotten", CardDiff.TOPIC, compound_key("forgotten", version), None)
    world.put("forgotten", Card.TOPIC, b"forgotten", None)
    world.forget("forgotten")
    there = 1 - partition_of("moved", 2)
    world.put("moved", Card.TOPIC, b"moved", made["moved"][1].model_dump_json().encode(), there)
    world.put("torn", Card.TOPIC, b"torn", b"{")
    world.flush()
    found = verify(world.settings).findings

    assert {name: of(found, name) for name in everyone} == {
        "sound": set(),
        "forgotten": set(),
        "words": {FaultKind.CARD_DIFFERS},
        "log": {FaultKind.LOG_FORGED, FaultKind.CARD_DIFFERS},
        "resealed": {FaultKind.LOG_FORGED},
        "cut": {FaultKind.LOG_CUT},
        "gone": {FaultKind.LOG_CUT},
        "moved": {FaultKind.MISPLACED},
        "torn": {FaultKind.UNREADABLE, FaultKind.CARD_MISSING},
    }
    assert of(verify(world.settings, "words").findings, "words") == {FaultKind.CARD_DIFFERS}

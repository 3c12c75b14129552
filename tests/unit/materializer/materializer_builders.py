"""Events and records with everything filled in that a test does not care about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from operators.erasure import with_scope
from schemas import TOPICS, BadRecord, Candidate, Event, Facet, Item, Provenance, encode, topic_of
from schemas.codec import subject_of
from schemas.diffs import (
    CountDelta,
    PolicySkill,
    RefusalReason,
    RefusedProposal,
    SkillChange,
    SkillChangeKind,
    SkillDiff,
)
from schemas.events import Injected, Interaction, Ranking, Selection
from schemas.forgetting import ErasedScope, ForgetRequest, Receipt
from schemas.skills import Attribute, AttributeKind, AttributeSource, Evidence, SlimSkill, Tier
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.store import DuckDBStore, Progress
from streams.privacy import DEFAULT as PRIVACY

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BOOKS: dict[str, Any] = {"occurred_at": NOON, "domain": "books"}
MS = int(NOON.timestamp() * 1000)


def at(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def record(event: Event, offset: int = 0, partition: int = 0) -> KafkaRecord:
    topic = topic_of(type(event))
    return KafkaRecord(topic, partition, offset, MS, topic.key_of(event), encode(event))


def raw(topic: str, value: bytes | None, key: bytes | None = b"ann", offset: int = 0) -> KafkaRecord:
    return KafkaRecord(TOPICS[topic], 0, offset, MS, key, value)


def tombstone(event: Event) -> KafkaRecord:
    topic = topic_of(type(event))
    return raw(topic.base, None, topic.key_of(event))


def batch_of(*records: KafkaRecord | Event) -> ChangeSet:
    batch = ChangeSet()
    for each in records:
        batch.add(read(each if isinstance(each, KafkaRecord) else record(each), privacy=PRIVACY))
    return batch


def write(store: DuckDBStore, *records: KafkaRecord | Event, **offsets: int) -> dict[str, int]:
    progress = {(f"sager.{name}", 0): Progress(offset, "id-1") for name, offset in offsets.items()}
    return store.write(batch_of(*records), progress)


def derived(store: DuckDBStore) -> DuckDBStore:
    """The store with what a publication works out."""
    store.checkpoint(NOON.replace(tzinfo=None), None)
    return store


def rows(store: DuckDBStore, query: str) -> list[Any]:
    return store._db.execute(query).fetchall()


def reason_of(refused: KafkaRecord) -> str:
    try:
        read(refused, privacy=PRIVACY)
    except BadRecord as error:
        return error.reason
    return "accepted"


def item(item_id: str = "dune", title: str = "Dune", **metadata: Any) -> Item:
    candidate = Candidate(item_id=item_id, title=title, metadata=metadata)
    return Item(event_id=f"item-{item_id}", item=candidate, **BOOKS)


def interaction(event_id: str = "x1", user: str = "ann") -> Interaction:
    return Interaction(event_id=event_id, user_id=user, item=Candidate(item_id="dune", title="Dune"), **BOOKS)


def ranking(ranking_id: str = "r1", user: str = "ann", items: str = "abcde") -> Ranking:
    facets = (Facet(facet="drawn to sf", confidence=0.5),)
    injected = Injected(facets=facets, ranked_by=Provenance(reasoner="deterministic"))
    given = {"ranking_id": ranking_id, "candidates": tuple(Candidate(item_id=i) for i in items), "injected": injected}
    return Ranking(event_id=f"rank-{ranking_id}", user_id=user, **BOOKS, **given)


def selection(ranking_id: str = "r1", item_id: str = "b", user: str = "ann", minute: int = 1) -> Selection:
    return Selection(
        event_id=f"sel-{ranking_id}", occurred_at=at(minute), user_id=user, ranking_id=ranking_id, item_id=item_id
    )


def attribute(value: str = "sf", tier: Tier = Tier.LOW) -> Attribute:
    about: dict[str, Any] = {
        "kind": AttributeKind.PREFERENCE,
        "dimension": "genre",
        "source": AttributeSource.DISCOVERED,
    }
    evidence = (Evidence(event_id="c1", item_id="dune"),)
    return Attribute(attribute_id=f"preference:genre:{value}", value=value, tier=tier, evidence=evidence, **about)


def diff(version: int = 1, event_id: str | None = None, user: str = "ann") -> SkillDiff:
    found = attribute("noir")
    return SkillDiff(
        base_version=version - 1,
        version=version,
        **(BOOKS | {"event_id": event_id or f"c{version}", "occurred_at": at(version), "user_id": user}),
        seed=(attribute("sf", Tier.MEDIUM),) if version == 1 else None,
        changes=(
            SkillChange(
                kind=SkillChangeKind.REINFORCED, attribute_id="preference:genre:sf", before=Tier.MEDIUM, after=Tier.HIGH
            ),
            SkillChange(
                kind=SkillChangeKind.DISCOVERED, attribute_id=found.attribute_id, after=Tier.LOW, discovered=found
            ),
        ),
        count_delta=CountDelta(
            forget=16, lines={"preference:genre:sf": (1024, 256)}, places={"preference:genre:sf": 64}
        ),
        refused=(
            RefusedProposal(attribute_id="pattern:x:y", proposed=SkillChangeKind.WEAKENED, why=RefusalReason.UNKNOWN),
        ),
        evidence=Evidence(event_id=event_id or f"c{version}", item_id="dune"),
    )


def skill(version: int = 1, user: str = "ann", values: tuple[str, ...] = ("sf", "noir")) -> PolicySkill:
    lines = tuple(attribute(value, Tier.HIGH if value == "sf" else Tier.LOW) for value in values)
    given = BOOKS | {"event_id": f"c{version}", "occurred_at": at(version), "user_id": user}
    return PolicySkill(version=version, contrasts=version, attributes=lines, **given)


def slim(version: int = 1, text: str = "likes: sf", user: str = "ann") -> SlimSkill:
    given = BOOKS | {"event_id": f"c{version}", "occurred_at": at(version), "user_id": user}
    return SlimSkill(skill_version=version, text=text, likes=("sf",), tokens=3, **given)


def receipt(user: str, until: datetime = NOON + timedelta(hours=1), **scope: Any) -> Receipt:
    """A receipt for all of a user, or of a domain or line."""
    request = ForgetRequest(event_id="r", occurred_at=until, user_id=user, actor="advocate", **scope)
    empty = Receipt(event_id="r", occurred_at=until, subject=subject_of(user))
    return with_scope(empty, request, ErasedScope(event_id="r", until=until, actor="advocate", done=True))

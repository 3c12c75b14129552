"""Events and records with everything filled in that a test does not care about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from operators.erasure import with_scope
from operators.learning.fold import fold
from operators.seals import seal_record
from schemas import Attribute, ClarifyingQuestion, Correction, CountDelta, DiffTrigger, Event, Provenance
from schemas.codec import BadRecord, encode, subject_digest
from schemas.commands import ErasedScope, ForgetRequest, Receipt
from schemas.diffs import PolicySkill, RefusalReason, RefusedProposal, SkillChange, SkillChangeKind, SkillDiff
from schemas.events import Abstention, Facet, Feedback, Fit, Injected, Interaction, Option, RankedBy, Ranking, Selection
from schemas.items import Candidate, Item, ItemFacts, Measure
from schemas.skills import AttributeKind, AttributeSource, Evidence, SessionLine, SkillSession, SlimSkill, Tier
from schemas.statements import Bound, Directive, Scope, Stance, Statement, StatementChange, StatementChangeKind
from schemas.topics import TOPICS, topic_of
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.store import DuckDBStore, Progress
from streams.policies import DEFAULT_PRIVACY as PRIVACY

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
            forget=16, lines={"preference:genre:sf": (1024, 256, 0)}, places={"preference:genre:sf": 64}
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
    request = ForgetRequest(event_id="r", occurred_at=until, user_id=user, actor="advocate", **scope)
    empty = Receipt(event_id="r", occurred_at=until, subject=subject_digest(user))
    return with_scope(empty, request, ErasedScope(event_id="r", until=until, actor="advocate", done=True))


SF, NOIR, HORROR = (f"preference:genre:{value}" for value in ("sf", "noir", "horror"))
OF_EVE: dict[str, Any] = {"user_id": "eve", "domain": "books"}
_LINE = SessionLine(attribute_id=SF, dimension="genre", value="sf", taken=1024, expected=256)
SESSION = SkillSession(session_id="s1", last_at=at(1), until=at(121), events=1, lines=(_LINE,))


def statement(stance: Stance, about: str, value: str, since: int, **more: Any) -> Statement:
    given = {"dimension": "genre", "stated_at": at(since), "evidence": Evidence(event_id=f"e{since}")} | more
    return Statement(
        statement_id=f"{stance}:{about}", stance=stance, attribute_id=about, value=value, since=since, **given
    )


AVOIDS_HORROR = statement(Stance.AVOIDS, HORROR, "horror", 2, words='no "horror" any more; it\'s too much')
RATHER_NOIR = statement(
    Stance.INSTEAD,
    NOIR,
    "noir",
    2,
    over=SF,
    words="noir rather than sf",
    scope=Scope.SESSION,
    session_id="s1",
    until=at(122),
)
CHEAPER = statement(
    Stance.PREFERS,
    "bound:price:below",
    "price under 20",
    2,
    dimension="price",
    scope=Scope.NOW,
    until=at(32),
    bound=Bound(measure=Measure.PRICE, below=20.0),
)
NOT_DUNE = statement(
    Stance.AVOIDS,
    "item:item:dune-1",
    "Dune",
    3,
    dimension="item",
    item_id="dune",
    evidence=Evidence(event_id="e3", item_id="dune"),
)


def stated(said: Statement, kind: StatementChangeKind = StatementChangeKind.STATED) -> StatementChange:
    return StatementChange(kind=kind, statement_id=said.statement_id, statement=said, reason="they said so")


def gone(said: Statement, kind: StatementChangeKind) -> StatementChange:
    return StatementChange(kind=kind, statement_id=said.statement_id, reason="its time has passed")


def heard(version: int, what: str, **more: Any) -> SkillDiff:
    told = {name: more.pop(name) for name in ("words", "value", "understood", "by_pattern") if name in more}
    given = OF_EVE | {"event_id": f"e{version}", "occurred_at": at(version), "base_version": version - 1}
    given |= {"version": version, "is_contrast": False, "evidence": Evidence(event_id=f"e{version}")}
    return SkillDiff(trigger=DiffTrigger(what=what, **told), **given, **more)


def eves_log() -> list[SkillDiff]:
    shifted = SkillChange(
        kind=SkillChangeKind.SHIFTED,
        attribute_id=SF,
        before=Tier.HIGH,
        after=Tier.SILENT,
        counts=(0, 0),
        reason="said so",
    )
    faded = SkillChange(
        kind=SkillChangeKind.FADED, attribute_id=NOIR, before=Tier.LOW, after=Tier.SILENT, reason="for long"
    )
    return [
        diff(1, "e1", "eve").model_copy(update={"session": SESSION}),
        heard(
            2,
            "correction",
            words="no horror any more",
            by_pattern="en.no-more",
            changes=(shifted,),
            shifted=True,
            stated=(stated(AVOIDS_HORROR), stated(RATHER_NOIR), stated(CHEAPER)),
            beliefs=(0, -512),
            session=SESSION,
        ),
        heard(
            3,
            "rated",
            value=1.0,
            changes=(faded,),
            stated=(gone(CHEAPER, StatementChangeKind.EXPIRED), stated(NOT_DUNE)),
        ),
        heard(4, "correction", words="well, hm", understood=False),
    ]


def eves_skill() -> PolicySkill:
    return fold(eves_log())["eve", "books"]


def rated(event_id: str = "e3", **more: Any) -> Feedback:
    given = {"signal": "rated", "value": 1.0, "scale": (0.0, 10.0), "session_id": "s1"} | more
    given.setdefault("item", Candidate(item_id="dune", title="Dune"))
    return Feedback(event_id=event_id, occurred_at=at(3), **(OF_EVE | given))


def correction(event_id: str = "e2", **more: Any) -> Correction:
    given = {
        "text": "No horror any more, noir rather than sf",
        "items": (Candidate(item_id="it"), Candidate(item_id="dune")),
        "item_id": "it",
        "directives": (
            Directive(stance=Stance.AVOIDS, dimension="genre", value="horror", changed=True),
            Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE, below=20.0)),
        ),
        "acceptable": ("dune",),
        "answers": "q1",
        "ranking_id": "r1",
    } | more
    return Correction(event_id=event_id, occurred_at=at(2), **(OF_EVE | given))


def abstention(ranking_id: str = "r2", **more: Any) -> Abstention:
    given = {"instruction": "for the train", "arm": "evolved", "occurred_at": at(5), "ranking_id": ranking_id} | more
    shown = (ItemFacts(item_id="it"), ItemFacts(item_id="dune"))
    return Abstention(event_id=f"none-{ranking_id}", shown=shown, **(OF_EVE | given))


ASKED = ClarifyingQuestion(
    question_id="q1",
    dimension="genre",
    text="Do you prefer horror or noir?",
    options=(Option(attribute_id=HORROR, value="horror"), Option(attribute_id=NOIR, value="noir")),
)


def fitted(ranking_id: str = "r1", nothing: float = 0.25, *, asks: bool = True) -> Ranking:
    fit = Fit(
        chances=(0.75, 0.02),
        nothing=nothing,
        suits=nothing < 1 / 2,
        against={"b": AVOIDS_HORROR.statement_id},
        followed=(AVOIDS_HORROR.statement_id,),
        question=ASKED if asks else None,
    )
    shown = ranking(ranking_id, "eve", "ab")
    made = {"ranked_by": RankedBy.SAGER, "injected": Injected(skill_version=1, fit=fit), "session_id": "s1"}
    return seal_record(shown.model_copy(update={**made, "occurred_at": NOON}))

"""Statements and sessions: how what a person says becomes statements (invariant 5), and when they end."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from operators.attributes import CRITERION_DIMENSIONS, attribute_id, fact_id, fact_ids, facts_named
from operators.clocks import after, is_ahead, is_later
from operators.evidence import MOST, Shown
from operators.privacy import Privacy
from operators.prompts import visible
from operators.stated import (
    ITEM,
    NOW,
    SESSION,
    bound_attribute,
    is_doubtful,
    is_over,
    item_attribute,
    session_on,
    speaks_against,
    statement_id,
)
from schemas import (
    MAX_STATEMENTS,
    ONE,
    Bound,
    Directive,
    Evidence,
    ItemFacts,
    Kind,
    PolicySkill,
    Said,
    Scope,
    Session,
    SessionLine,
    Stance,
    Statement,
    StatementChange,
)
from schemas.skills import MAX_SESSION_LINES


def ended(
    skill: PolicySkill, at: datetime, taken: Sequence[ItemFacts] | None = None, *, logged_at: datetime | None = None
) -> tuple[StatementChange, ...]:
    """The statements that end with an event; they said nothing any more from their time on, with or without it.

    Args:
        skill: before the event.
        at: when it happened.
        taken: what was chosen, if it is a choice: `now` is over with it, and who takes what they may not want any
            less, since their taste has changed, has taken that back.
        logged_at: when Kafka logged it; None where that is not known.
    """
    gone = []
    for said in skill.stated:
        # A choice that comes late was made before what was said since.
        is_since = taken is not None and not is_later(said.said_at, at, logged_at)
        if is_over(skill, said, at) or (is_since and said.scope is Scope.NOW):
            gone.append(StatementChange(kind=Said.EXPIRED, statement_id=said.statement_id))
        elif (
            taken
            and is_since
            and is_doubtful(skill, said)
            and any(speaks_against(said, i, fact_ids(i.facts)) for i in taken)
        ):
            reason = "taken again since their taste has changed"
            gone.append(StatementChange(kind=Said.WITHDRAWN, statement_id=said.statement_id, reason=reason))
    return tuple(gone)


def session_after(
    skill: PolicySkill,
    session_id: str | None,
    at: datetime,
    taken: Sequence[ItemFacts] = (),
    shown: Shown | None = None,
    weight: int = ONE,
    *,
    lasts: timedelta = SESSION,
    logged_at: datetime | None = None,
) -> Session | None:
    """The session after an event of it; None for an event of none, or of one that is long over.

    A session that is over begins anew: an id that comes back after hours is not the same visit any more.
    """
    if session_id is None:
        return None
    held = session_on(skill, session_id, at)
    if held is None and any(is_later(each.last_at, after(at, lasts), logged_at) for each in skill.sessions):
        return None  # it comes so late that it was over before one that is kept: that one stays
    lines = {} if held is None else {line.attribute_id: line for line in held.lines}
    names = dict.fromkeys(shown.taken) if shown is not None else {}
    facts = {fact_id(fact): fact for item in taken for fact in item.facts}
    for name in names:
        if name in facts and name not in lines:
            lines[name] = SessionLine(attribute_id=name, dimension=facts[name].dimension, value=facts[name].value)
    if shown is not None:
        lines = {name: _counted(line, shown, weight) for name, line in lines.items()}
    kept = sorted(lines.values(), key=lambda line: (-line.taken, line.expected, line.attribute_id))
    is_ours = held is not None and not (logged_at is not None and is_ahead(held.last_at, logged_at))
    last = max(held.last_at, at) if held is not None and is_ours else at
    return Session(
        session_id=session_id,
        last_at=last,
        until=after(last, lasts),
        events=1 if held is None else held.events + 1,
        lines=tuple(kept[:MAX_SESSION_LINES]),
    )


def _counted(line: SessionLine, shown: Shown, weight: int) -> SessionLine:
    name = line.attribute_id
    taken = (shown.part(name) if name in shown.taken else 0) * weight // ONE
    expected = shown.shares.get(name, 0) * weight // ONE
    if not (taken or expected):
        return line
    counts = {"taken": min(line.taken + taken, MOST), "expected": min(line.expected + expected, MOST)}
    return line.model_copy(update=counts)


UNTITLED = "one item"
"""How a statement calls an item whose title may not be kept."""
MAX_ITEM_STATEMENTS = 16
"""Statements about one item each, at most: the oldest go."""
_NEVER_SAID = "there are newer ones about other items"
_OTHERWISE = "the person says otherwise now"
_NO_ROOM = "there is no room for more"


@dataclass
class Saying:
    """A skill's statements while an event changes them; those that end by its time are gone from the start.

    Attributes:
        skill: before the event.
        at: when it was said.
        evidence: the event.
        changes: what it does to statements, so far.
        session: how long after its last event a session is over.
        logged_at: when Kafka logged the event; a statement of a clock that ran ahead does not count as newer.
    """

    skill: PolicySkill
    at: datetime
    evidence: Evidence
    changes: list[StatementChange] = field(default_factory=list)
    session: timedelta = SESSION
    logged_at: datetime | None = None

    def __post_init__(self) -> None:
        self._held = {each.statement_id: each for each in self.skill.stated}
        for gone in ended(self.skill, self.at, logged_at=self.logged_at):
            self.withdraw(gone.statement_id, gone.reason, gone.kind)

    def state(
        self, stance: Stance, subject: "Subject", words: str, scope: Scope, session_id: str | None = None
    ) -> Statement | None:
        """Note that the person says so; the opposite, said before of the same thing, is taken back.

        A word that comes late yields to what they have said of the same thing since: then it states nothing.
        """
        name = statement_id(stance, subject.attribute_id)
        about = [each for each in self._held.values() if each.attribute_id == subject.attribute_id]
        if any(is_later(each.said_at, self.at, self.logged_at) for each in about):
            return None
        within = session_id if scope is Scope.SESSION else None
        before = self._held.get(name)
        for other in Stance:
            opposite = statement_id(other, subject.attribute_id)
            if other is not stance and opposite in self._held and _opposed(stance, other):
                self.withdraw(opposite, _OTHERWISE)
        for each in list(self._held.values()):
            if subject.over is not None and (each.attribute_id, each.over) == (subject.over, subject.attribute_id):
                self.withdraw(each.statement_id, _OTHERWISE)
        said = Statement(
            statement_id=name,
            stance=stance,
            attribute_id=subject.attribute_id,
            dimension=subject.dimension,
            value=subject.value,
            over=subject.over,
            item_id=subject.item_id,
            bound=subject.bound,
            words=words,
            scope=scope,
            session_id=within,
            said_at=self.at,
            until=None if within is not None else _until(self.at, scope, self.session),
            since=self.skill.version + 1,
            times=1 if before is None else min(before.times + 1, 1_000_000),
            evidence=self.evidence,
        )
        self._held.pop(name, None)
        self._held[name] = said
        self.changes = [change for change in self.changes if change.statement_id != name]
        self.changes.append(StatementChange(kind=Said.STATED, statement_id=name, statement=said))
        self._make_room()
        return said

    def withdraw(self, name: str, reason: str, kind: Said = Said.WITHDRAWN) -> None:
        """Note that a statement is gone, if there is one."""
        if self._held.pop(name, None) is not None:
            self.changes = [change for change in self.changes if change.statement_id != name]
            self.changes.append(StatementChange(kind=kind, statement_id=name, reason=reason))

    def take_back(self, name: str, reason: str) -> None:
        """Note that what the person does takes a statement back, unless they said it afterwards."""
        if name in self._held and not is_later(self._held[name].said_at, self.at, self.logged_at):
            self.withdraw(name, reason)

    @property
    def held(self) -> tuple[Statement, ...]:
        """The statements as they are now."""
        return tuple(self._held.values())

    def _make_room(self) -> None:
        about_items = [each for each in self._held.values() if each.item_id is not None]
        for each in about_items[: max(0, len(about_items) - MAX_ITEM_STATEMENTS)]:
            self.withdraw(each.statement_id, _NEVER_SAID, Said.FULL)
        while len(self._held) > MAX_STATEMENTS:
            passing = [each for each in self._held.values() if each.scope is not Scope.ALWAYS]
            oldest = (passing or list(self._held.values()))[0]
            self.withdraw(oldest.statement_id, _NO_ROOM, Said.FULL)


@dataclass(frozen=True)
class Subject:
    """What a statement is about."""

    attribute_id: str
    dimension: str
    value: str
    over: str | None = None
    item_id: str | None = None
    bound: Bound | None = None

    @classmethod
    def of(cls, directive: Directive, titles: dict[str, str]) -> "Subject":
        """What a directive names; `titles`: of the items, by id."""
        if directive.item_id is not None:
            return cls.item(directive.item_id, titles.get(directive.item_id, ""))
        if directive.bound is not None:
            return cls(
                bound_attribute(directive.bound),
                directive.bound.measure.value,
                _in_words(directive.bound),
                bound=directive.bound,
            )
        dimension, value = str(directive.dimension), str(directive.value)
        over = None if directive.over is None else _attribute(dimension, directive.over)
        return cls(_attribute(dimension, value), dimension[:40], value, over)

    @classmethod
    def item(cls, item_id: str, title: str) -> "Subject":
        """One item."""
        shown = " ".join(visible(title).split())
        return cls(item_attribute(item_id), ITEM, (shown or item_id)[:120], item_id=item_id)

    def untitled(self, domain: str, privacy: Privacy) -> "Subject":
        """The same, of an item without a title that may not be kept: a person can hide that item all the same."""
        if self.item_id is None or self.private(domain, privacy) is None:
            return self
        return replace(self, value=UNTITLED)

    def private(self, domain: str, privacy: Privacy) -> str | None:
        """Why nothing may be kept about it, as one of the kinds of private data; None if it may."""
        if self.bound is not None:
            return None
        about = [(self.dimension, self.value)]
        about += [(fact.dimension, fact.value) for fact in facts_named((), [self.over] if self.over else [])]
        return next(filter(None, (privacy.refuses(domain, *each) for each in about)), None)


def _attribute(dimension: str, value: str) -> str:
    kind = Kind.CRITERION if dimension in CRITERION_DIMENSIONS else Kind.PREFERENCE
    return attribute_id(kind, dimension[:40], value)


def _opposed(stance: Stance, other: Stance) -> bool:
    return Stance.AVOIDS in (stance, other)


def _until(at: datetime, scope: Scope, session: timedelta) -> datetime | None:
    match scope:
        case Scope.NOW:
            return after(at, NOW)
        case Scope.SESSION:
            return after(at, session)
        case Scope.ALWAYS:
            return None


def _in_words(bound: Bound) -> str:
    """A bound as people read it.

    >>> from schemas import Measure
    >>> _in_words(Bound(measure=Measure.PRICE, below=20.0))
    'price below 20'
    """
    sides = (("above", bound.above), ("below", bound.below))
    return " ".join([bound.measure.value, *(f"{side} {limit:g}" for side, limit in sides if limit is not None)])

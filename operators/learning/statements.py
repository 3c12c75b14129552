"""Changes of statements and sessions by events (invariant 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from operators.admission import add_span, is_ahead, is_later, kafka_time
from operators.attributes import CRITERION_DIMENSIONS, attribute_id, fact_id, fact_ids, facts_of_ids
from operators.language.answers import is_rival
from operators.language.privacy import Privacy
from operators.learning.evidence import MAX_COUNT, ListEvidence
from operators.prompts import visible
from operators.stated import (
    ITEM,
    NOW_DURATION,
    SESSION_SILENCE,
    bound_attribute,
    is_doubtful,
    is_expired,
    is_free,
    item_attribute,
    live_session,
    rejects,
    statement_id,
)
from schemas import MAX_STATEMENTS, Abstention, Bound, Contrast, Event, Feedback, ItemFacts, PolicySkill, Position
from schemas.skills import MAX_SESSION_LINES, ONE, AttributeKind, Evidence, SessionLine, SkillSession
from schemas.statements import Correction, Directive, Scope, Stance, Statement, StatementChange, StatementChangeKind

# The value of a statement about an item whose title may not be kept.
HIDDEN_TITLE = "one item"
# Statements about one item each; the oldest go first.
MAX_ITEM_STATEMENTS = 16
_NEWER_ITEMS = "there are newer ones about other items"
_CONTRADICTED = "the person says otherwise now"
_NO_ROOM = "there is no room for more"


def expired_statements(
    skill: PolicySkill, event: Event, source: Position | None, taken: Sequence[ItemFacts] | None = None
) -> tuple[StatementChange, ...]:
    """Return the statements that end with an event.

    A choice (`taken`) also ends statements for now, and doubtful ones that speak against it.
    """
    changes = []
    for statement in skill.stated:
        # A choice that comes late was made before later statements.
        is_since = taken is not None and not is_later(statement.stated_at, event.occurred_at, kafka_time(source))
        if is_expired(skill, statement, event.occurred_at) or (is_since and statement.scope is Scope.NOW):
            kind, reason = StatementChangeKind.EXPIRED, ""
        elif (
            is_since
            and is_doubtful(skill, statement)
            and any(rejects(statement, item, fact_ids(item.facts)) for item in taken or ())
        ):
            kind, reason = StatementChangeKind.WITHDRAWN, "taken again since their taste has changed"
        else:
            continue
        changes.append(StatementChange(kind=kind, statement_id=statement.statement_id, reason=reason))
    return tuple(changes)


def updated_session(
    skill: PolicySkill,
    event: Contrast | Feedback | Correction | Abstention,
    source: Position | None,
    lasts: timedelta,
    taken: Sequence[ItemFacts] = (),
    shown: ListEvidence | None = None,
    weight: int = ONE,
) -> SkillSession | None:
    """Return the session after an event; None without a live session.

    An id that comes back after its session has ended begins a new session. `lasts` is the silence that ends one.
    """
    session_id, at, logged_at = event.session_id, event.occurred_at, kafka_time(source)
    if session_id is None:
        return None
    current = live_session(skill, session_id, at)
    if current is None and any(is_later(each.last_at, add_span(at, lasts), logged_at) for each in skill.sessions):
        return None  # the event is so late that its session ended before one that is kept
    lines = {} if current is None else {line.attribute_id: line for line in current.lines}
    if shown is not None:
        facts = {fact_id(fact): fact for item in taken for fact in item.facts}
        for name in dict.fromkeys(shown.taken):
            if name in facts and name not in lines:
                lines[name] = SessionLine(attribute_id=name, dimension=facts[name].dimension, value=facts[name].value)
        lines = {name: _counted(line, shown, weight) for name, line in lines.items()}
    kept = sorted(lines.values(), key=lambda line: (-line.taken, line.expected, line.attribute_id))
    is_ours = current is not None and not (logged_at is not None and is_ahead(current.last_at, logged_at))
    last = max(current.last_at, at) if current is not None and is_ours else at
    return SkillSession(
        session_id=session_id,
        last_at=last,
        until=add_span(last, lasts),
        events=1 if current is None else current.events + 1,
        lines=tuple(kept[:MAX_SESSION_LINES]),
    )


def _counted(line: SessionLine, shown: ListEvidence, weight: int) -> SessionLine:
    name = line.attribute_id
    taken = (shown.part(name) if name in shown.taken else 0) * weight // ONE
    expected = shown.expected.get(name, 0) * weight // ONE
    if not (taken or expected):
        return line
    counts = {"taken": min(line.taken + taken, MAX_COUNT), "expected": min(line.expected + expected, MAX_COUNT)}
    return line.model_copy(update=counts)


@dataclass(frozen=True)
class StatementSubject:
    """The subject of a statement: a fact, an item or a bound."""

    attribute_id: str
    dimension: str
    value: str
    over: str | None = None
    item_id: str | None = None
    bound: Bound | None = None

    @classmethod
    def of(cls, directive: Directive, titles: dict[str, str]) -> "StatementSubject":
        """Return the subject of a directive; `titles` of items by id."""
        if directive.item_id is not None:
            return cls.item(directive.item_id, titles.get(directive.item_id, ""))
        bound = directive.bound
        if bound is not None:
            return cls(bound_attribute(bound), bound.measure.value, _describe_bound(bound), bound=bound)
        dimension, value = str(directive.dimension), str(directive.value)
        over = None if directive.over is None else _attribute(dimension, directive.over)
        return cls(_attribute(dimension, value), dimension[:40], value, over)

    @classmethod
    def item(cls, item_id: str, title: str) -> "StatementSubject":
        """Return the subject of a statement about one item."""
        shown = " ".join(visible(title).split())
        return cls(item_attribute(item_id), ITEM, (shown or item_id)[:120], item_id=item_id)

    def hide_private_title(self, domain: str, privacy: Privacy) -> "StatementSubject":
        """Replace a private title: such an item can still be hidden."""
        if self.item_id is None or self.private_kind(domain, privacy) is None:
            return self
        return replace(self, value=HIDDEN_TITLE)

    def private_kind(self, domain: str, privacy: Privacy) -> str | None:
        """Return the kind of personal data in the subject, if any."""
        if self.bound is not None:
            return None
        about = [(self.dimension, self.value)]
        about += [(fact.dimension, fact.value) for fact in facts_of_ids((), [self.over] if self.over else [])]
        return next(filter(None, (privacy.refuses(domain, *each) for each in about)), None)


class StatementUpdate:
    """A skill's statements during one event; expired ones are already removed."""

    def __init__(
        self,
        skill: PolicySkill,
        event: Event,
        evidence: Evidence,
        source: Position | None,
        session: timedelta = SESSION_SILENCE,
    ) -> None:
        self.changes: list[StatementChange] = []
        self._since, self._at, self._logged_at = skill.version + 1, event.occurred_at, kafka_time(source)
        self._evidence, self._session = evidence, session
        self._held = {each.statement_id: each for each in skill.stated}
        for gone in expired_statements(skill, event, source):
            self._withdraw(gone.statement_id, gone.reason, gone.kind)

    def state(
        self, stance: Stance, subject: StatementSubject, words: str, scope: Scope, session_id: str | None = None
    ) -> Statement | None:
        """Add a statement, withdraw its opposites; None if a newer exists."""
        current = list(self._held.values())
        about = [each for each in current if _is_about(each, subject)]
        if any(is_later(each.stated_at, self._at, self._logged_at) for each in about):
            return None
        for each in current:
            is_same = each.attribute_id == subject.attribute_id
            is_opposite = is_same and each.stance is not stance and Stance.AVOIDS in (stance, each.stance)
            is_reversed = each.attribute_id == subject.over and each.over == subject.attribute_id
            is_replaced = not is_same and _is_about(each, subject)
            if is_opposite or is_reversed or is_replaced or _frees(subject.bound, each.bound):
                self._withdraw(each.statement_id, _CONTRADICTED)
        name = statement_id(stance, subject.attribute_id)
        before = self._held.pop(name, None)
        within = session_id if scope is Scope.SESSION else None
        lasts = {Scope.NOW: NOW_DURATION, Scope.SESSION: self._session}.get(scope)
        statement = Statement(
            **vars(subject),
            statement_id=name,
            stance=stance,
            words=words,
            scope=scope,
            session_id=within,
            stated_at=self._at,
            until=None if within is not None or lasts is None else add_span(self._at, lasts),
            since=self._since,
            times=1 if before is None else min(before.times + 1, 1_000_000),
            evidence=self._evidence,
        )
        self._held[name] = statement
        self._note(StatementChange(kind=StatementChangeKind.STATED, statement_id=name, statement=statement))
        self._make_room(name)
        return statement

    def withdraw(self, name: str, reason: str) -> None:
        """Withdraw a statement because of an action, unless the statement is newer."""
        if name in self._held and not is_later(self._held[name].stated_at, self._at, self._logged_at):
            self._withdraw(name, reason)

    @property
    def current(self) -> tuple[Statement, ...]:
        """The statements as they are now."""
        return tuple(self._held.values())

    def _withdraw(self, name: str, reason: str, kind: StatementChangeKind = StatementChangeKind.WITHDRAWN) -> None:
        if self._held.pop(name, None) is not None:
            self._note(StatementChange(kind=kind, statement_id=name, reason=reason))

    def _note(self, change: StatementChange) -> None:
        self.changes = [each for each in self.changes if each.statement_id != change.statement_id]
        self.changes.append(change)

    def _make_room(self, newest: str) -> None:
        about_items = [each for each in self._held.values() if each.item_id is not None]
        for each in about_items[: max(0, len(about_items) - MAX_ITEM_STATEMENTS)]:
            self._withdraw(each.statement_id, _NEWER_ITEMS, StatementChangeKind.FULL)
        while len(self._held) > MAX_STATEMENTS:
            # A wish for now must not give way to itself.
            passing = [each for each in self._held.values() if each.scope is not Scope.ALWAYS]
            oldest = next((each for each in passing if each.statement_id != newest), next(iter(self._held.values())))
            self._withdraw(oldest.statement_id, _NO_ROOM, StatementChangeKind.FULL)


def _is_about(statement: Statement, subject: StatementSubject) -> bool:
    if statement.attribute_id == subject.attribute_id:
        return True
    return is_rival(subject.dimension, subject.value, statement.dimension, statement.value)


def _attribute(dimension: str, value: str) -> str:
    kind = AttributeKind.CRITERION if dimension in CRITERION_DIMENSIONS else AttributeKind.PREFERENCE
    return attribute_id(kind, dimension[:40], value)


def _frees(said: Bound | None, before: Bound | None) -> bool:
    # "Price does not matter" ends the limits of prices.
    if said is None or before is None or not is_free(said):
        return False
    return before.measure is said.measure and not is_free(before)


def _describe_bound(bound: Bound) -> str:
    if is_free(bound):
        return f"any {bound.measure.value}"
    sides = (("above", bound.above), ("below", bound.below))
    return " ".join([bound.measure.value, *(f"{side} {limit:g}" for side, limit in sides if limit is not None)])

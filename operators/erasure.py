"""Erasure as pure functions: receipts, and state without erased lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import TypeVar

from operators.admission import TOLERANCE, abstention_id, contrast_id
from operators.attributes import fact_id
from operators.contrast import RingLimits
from operators.language.ports import Interpretation, ReadDirective
from operators.language.words import SAME_LETTERS, WordSet, plain_words
from operators.learning.statements import StatementSubject
from operators.redaction import is_placeholder
from operators.stated import statement_id
from schemas import (
    MAX_PENDING,
    Card,
    CardLine,
    Fact,
    ItemFacts,
    PendingConversations,
    PolicySkill,
    Position,
    UserDomainEvent,
    line_digest,
)
from schemas.commands import (
    ANY_LINE,
    MAX_DOMAINS,
    MAX_KNOWN,
    MAX_LINES,
    ErasedScope,
    ForgetRequest,
    Receipt,
    SkillCommand,
)
from schemas.state import Memory, OpenRanking, OpenRankings, Profile

_Name = TypeVar("_Name", bound=str)


@dataclass(frozen=True)
class StoredState:
    """A worker's data about a user when a request to forget arrives."""

    profiles: Sequence[Profile] = ()
    memories: Sequence[Memory] = ()
    skills: Sequence[PolicySkill] = ()
    rings: Sequence[OpenRankings] = ()
    cards: Sequence[Card] = ()
    conversations: Sequence[PendingConversations] = ()
    limits: RingLimits = field(default_factory=RingLimits)
    domain: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of learned events that the state still recognises."""
        found = []
        for ring in self.rings:
            domains = (None, self.domain)
            names = [each.ranking_id for each in ring.answered if self.domain is None or each.domain in domains]
            names += [each.ranking_id for each in ring.rankings if self.domain in (None, each.domain)]
            if self.domain is None:
                names += [each.selection.ranking_id for each in ring.waiting]
            found += [derive(ring.user_id, name) for name in names for derive in (contrast_id, abstention_id)]
        for profile in self.profiles:
            found += profile.recent_ids
        for memory in self.memories:
            found += memory.recent
        for skill in self.skills:
            found += skill.recent
        # Utterances have no domain here, so an erasure of any domain covers them all.
        for card in self.cards:
            found += card.recent
        for pending in self.conversations:
            found += (*pending.recent, *(turn.event_id for chunk in pending.chunks for turn in chunk.turns))
        return tuple(dict.fromkeys(found))

    @property
    def is_complete(self) -> bool:
        """True if no id has dropped out of its bounded list."""
        return (
            all(each.interactions <= len(each.recent_ids) for each in self.profiles)
            and all(each.interactions <= len(each.recent) for each in self.memories)
            and all(each.version <= len(each.recent) for each in self.skills)
            and all(each.version <= len(each.recent) for each in self.cards)
            and all(len(each.answered) < self.limits.answered for each in self.rings)
            and all(len(each.recent) < MAX_PENDING for each in self.conversations)
            and len(self.ids) < MAX_KNOWN
        )

    @property
    def newest(self) -> datetime | None:
        """The newest time at which Kafka logged an event in the state."""
        states: tuple[Profile | Memory | PolicySkill | OpenRankings | Card | PendingConversations, ...]
        states = (*self.profiles, *self.memories, *self.skills, *self.rings, *self.cards, *self.conversations)
        return max((position.moment for each in states for position in each.applied), default=None)

    def moment(self, now: datetime) -> datetime:
        """Return the moment up to which an erasure reaches.

        If ids have dropped out, later events may claim times up to the clock tolerance ahead.
        """
        newest = self.newest
        if self.is_complete or newest is None:
            return now
        return min(max(now, newest), now + TOLERANCE)


def with_known(receipt: Receipt, known: Iterable[str]) -> Receipt:
    """Add event digests to a receipt; drop the oldest beyond its bound."""
    added = dict.fromkeys(known)
    kept = (*(each for each in receipt.known if each not in added), *added)
    return receipt.model_copy(update={"known": kept[-MAX_KNOWN:]})


def with_scope(receipt: Receipt, request: ForgetRequest, scope: ErasedScope) -> Receipt:
    """Return the receipt after a request.

    Beyond its bounds the oldest domains widen to the whole person, the oldest lines to any line: a receipt may cover
    more than was requested, never less.
    """
    receipt = receipt.model_copy(update={"event_id": request.event_id, "occurred_at": request.occurred_at})
    if request.line is not None:
        return with_lines(receipt, {request.line: scope})
    if request.domain is not None:
        return _bounded(receipt, receipt.person, {**receipt.domains, request.domain: scope}, receipt.lines)
    return _bounded(receipt, scope, receipt.domains, receipt.lines)


def with_lines(receipt: Receipt, scopes: Mapping[str, ErasedScope]) -> Receipt:
    """Add digests of erased lines to a receipt."""
    return _bounded(receipt, receipt.person, receipt.domains, {**receipt.lines, **scopes})


def _bounded(
    receipt: Receipt, person: ErasedScope | None, domains: Mapping[_Name, ErasedScope], lines: Mapping[str, ErasedScope]
) -> Receipt:
    if person is not None and person.done:
        domains = {name: each for name, each in domains.items() if each.until > person.until}
        lines = {name: each for name, each in lines.items() if each.until > person.until}
    domains, older = _newest(domains, MAX_DOMAINS)
    for each in older:
        if person is None or person.until < each.until:
            person = each
    if len(lines) > MAX_LINES:
        others, oldest = _newest({name: each for name, each in lines.items() if name != ANY_LINE}, MAX_LINES - 1)
        lines = {**others, ANY_LINE: max((*oldest, lines.get(ANY_LINE, oldest[0])), key=attrgetter("until"))}
    return receipt.model_copy(update={"person": person, "domains": domains, "lines": lines})


def _newest(scopes: Mapping[_Name, ErasedScope], most: int) -> tuple[dict[_Name, ErasedScope], list[ErasedScope]]:
    names = sorted(scopes, key=lambda name: scopes[name].until, reverse=True)
    return {name: scopes[name] for name in names[:most]}, [scopes[name] for name in names[most:]]


def without_erased_facts(
    item: ItemFacts, user_id: str, domain: str, receipt: Receipt | None, *moments: datetime
) -> ItemFacts | None:
    """Return a chosen item without erased facts; None if erased itself."""
    if receipt is None:
        return item
    if receipt.covers(domain, *moments):
        return None
    if not receipt.lines:
        return item
    at = min(moments)
    kept = tuple(
        fact for fact in item.facts if not receipt.covers_line(line_digest(user_id, domain, fact_id(fact)), at)
    )
    return item if kept == item.facts else item.model_copy(update={"facts": kept})


def restorable(command: SkillCommand, skill: PolicySkill, receipt: Receipt | None) -> SkillCommand:
    """Return a command without erased lines.

    Old versions contain placeholders; exports and old snapshots contain the words. A line that the skill has now was
    learned after the erasure. Other lines' quotations may have the erased words. A version of a skill that was erased
    since has no lines to restore.
    """
    if receipt is not None and command.version_at is not None and receipt.covers(skill.domain, command.version_at):
        return command.model_copy(update={"lines": None})
    if command.lines is None:
        return command
    states = {line.attribute_id for line in skill.attributes} | skill.hypotheses.keys()
    erased = set() if receipt is None else receipt.lines.keys()

    def is_kept(name: str) -> bool:
        is_erased_line = line_digest(skill.user_id, skill.domain, name) in erased
        return not is_placeholder(name) and (name in states or not is_erased_line)

    lines = tuple(line for line in command.lines if is_kept(line.attribute_id))
    if erased:
        lines = tuple(line.model_copy(update={"quote": line.value}) if line.quote else line for line in lines)
    hypotheses = {name: counts for name, counts in command.hypotheses.items() if is_kept(name)}
    return command.model_copy(update={"lines": lines, "hypotheses": hypotheses})


def without_erased_directives(
    understood: Interpretation, user_id: str, domain: str, receipt: Receipt | None, *moments: datetime
) -> Interpretation:
    """Drop directives about later erased lines; if any exist, also all quotations."""
    at = min(moments)
    if receipt is None or all(scope.until < at for scope in receipt.lines.values()):
        return understood

    def is_forgotten(read: ReadDirective) -> bool:
        subject = StatementSubject.of(read.directive, {})
        names = (subject.attribute_id, subject.over, statement_id(read.directive.stance, subject.attribute_id))
        return any(receipt.covers_line(line_digest(user_id, domain, name), at) for name in names if name is not None)

    kept = tuple(replace(read, words="") for read in understood.directives if not is_forgotten(read))
    return replace(understood, directives=kept)


def card_line_digest(user_id: str, line_id: str) -> str:
    """Return the digest of a card's line in a receipt."""
    return line_digest(user_id, "", line_id)


def words_digest(user_id: str, words: WordSet) -> str:
    """Return the digest of lines with these words, whatever their stance."""
    return line_digest(user_id, "", f"about {' '.join(sorted({word[:SAME_LETTERS] for word in words}))}")


def erased_digests(user_id: str, line_id: str, value: str = "") -> tuple[str, str]:
    """Return the digests of an erased card line's id and words."""
    return card_line_digest(user_id, line_id), words_digest(user_id, plain_words(value_of_line(line_id, value)))


def value_of_line(line_id: str, value: str = "") -> str:
    """Return the given value, or the one in the line's id."""
    return value or line_id.rsplit(":", 1)[-1].replace("-", " ")


def line_digests(user_id: str, line: CardLine) -> tuple[str, ...]:
    """Return the digests by which a request may name a card's line."""
    own = card_line_digest(user_id, line.line_id)
    if line.domain is None:
        return (own,)
    fact = fact_id(Fact(dimension=line.dimension, value=line.value))
    names = (line.line_id, fact, statement_id(line.stance, fact))
    return (own, *(line_digest(user_id, line.domain, name) for name in names))


def lines_in_scope(card: Card, domain: str | None, line: str | None) -> tuple[str, ...]:
    """Return the ids of a card's lines in a request's scope."""
    return tuple(
        each.line_id
        for each in (*card.lines, *card.past)
        if (line in line_digests(card.user_id, each) if line is not None else each.domain == domain)
    )


def scrub_conversations(listening: PendingConversations, domain: str) -> PendingConversations:
    """Return the waiting conversations without turns of a domain."""
    kept = []
    for chunk in listening.chunks:
        turns = tuple(turn for turn in chunk.turns if turn.domain != domain)
        if turns == chunk.turns:
            kept.append(chunk)
        elif turns:
            kept.append(chunk.model_copy(update={"turns": turns, "effects": None}))
    return listening.model_copy(update={"chunks": tuple(kept)})


def scrub_profile(profile: Profile, line: str) -> Profile:
    """Return the profile without the counts of a line."""

    def is_meant(fact: Fact) -> bool:
        return line_digest(profile.user_id, profile.domain, fact_id(fact)) == line

    older = {
        name: {value: n for value, n in values.items() if not is_meant(Fact(dimension=name, value=value))}
        for name, values in profile.older.items()
    }
    recent = tuple(tuple(fact for fact in facts if not is_meant(fact)) for facts in profile.recent)
    return profile.model_copy(update={"older": older, "recent": recent})


def scrub_memory(memory: Memory, line: str) -> Memory:
    """Return the memory without the fact of a line."""

    def left(facts: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(fact for fact in facts if line_digest(memory.user_id, memory.domain, fact_id(fact)) != line)

    taken = tuple(each.model_copy(update={"facts": left(each.facts)}) for each in memory.taken)
    return memory.model_copy(update={"taken": taken, "seen": left(memory.seen), "version": memory.version + 1})


def scrub_rankings(rings: OpenRankings, domain: str, line: str) -> OpenRankings:
    """Return the open rankings without the facts of a line, and without facets, which may name it."""

    def left(item: ItemFacts) -> ItemFacts:
        kept = tuple(fact for fact in item.facts if line_digest(rings.user_id, domain, fact_id(fact)) != line)
        return item.model_copy(update={"facts": kept})

    def scrubbed(each: OpenRanking) -> OpenRanking:
        update = {"candidates": tuple(map(left, each.candidates)), "facets": ()}
        return each.model_copy(update=update) if each.domain == domain else each

    return rings.model_copy(update={"rankings": tuple(map(scrubbed, rings.rankings))})


def event_moments(event: UserDomainEvent, source: Position | None) -> tuple[datetime, ...]:
    """Return the times of an event that an erasure may cover."""
    return (event.occurred_at,) if source is None else (event.occurred_at, source.moment)


def is_erased(event: UserDomainEvent, receipt: Receipt | None, source: Position | None) -> bool:
    """True if an erasure covers an event."""
    return receipt is not None and receipt.covers(event.domain, *event_moments(event, source))


def known_items(
    items: Iterable[ItemFacts], event: UserDomainEvent, receipt: Receipt | None, source: Position | None
) -> tuple[ItemFacts, ...]:
    """Return an event's items without erased facts, and without items that an erasure covers."""
    if receipt is None:
        return tuple(items)
    scope, moments = (event.user_id, event.domain, receipt), event_moments(event, source)
    found = (without_erased_facts(item, *scope, *moments) for item in items)
    return tuple(item for item in found if item is not None)

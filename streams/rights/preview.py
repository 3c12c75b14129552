"""Previews of an erasure and of an import: counted and worded before anything is sent."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from schemas import TOPICS, ForgetRequest, Receipt, line_of
from streams.rights.holdings import Holdings, count, skills
from streams.rights.portable import Bundle, NotPortable, interactions_of, statements_of
from streams.rights.portable.ownership import OF_USERS
from streams.settings import Settings

NAMING_LINE = "versions of the skill that name the line"


@dataclass(frozen=True)
class Going:
    """What one store holds of it.

    Attributes:
        store: such as `topic selections` or `table skills`.
        records: how many.
        fate: what happens to them, such as `goes`.
    """

    store: str
    records: int
    fate: str


@dataclass(frozen=True)
class Group:
    """One part of a preview for a lay person: a title, counted items, and their fate."""

    title: str
    items: tuple[str, ...]
    fate: str


@dataclass(frozen=True)
class Goes:
    """The reach of a request to forget.

    Attributes:
        what: the subject of the request, such as `ann in films`.
        held: all that is held, counted.
        stores: the stores that the request reaches.
        sentence: the request in one sentence, for a lay person.
        groups: learned data, recorded data, and data that stays.
    """

    what: str
    held: Holdings
    stores: list[Going]
    sentence: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class _Kind:
    """A kind of record in a lay person's words.

    Attributes:
        one, many: its name.
        stores: of learned data the topics or tables that hold it, of which the largest count is shown; of recorded data
            the topics whose events are counted.
        of_a_domain: the topics for one domain, where events of `stores` name none.
    """

    one: str
    many: str
    stores: tuple[str, ...]
    of_a_domain: tuple[str, ...] = ()


_LEARNED = (
    _Kind("skill", "skills", ("skills",)),
    _Kind("line of a skill", "lines of skills", ("skill_attributes",)),
    _Kind("statement", "statements", ("statements",)),
    _Kind("version of a skill", "versions of skills", ("skill_diffs", "skill-diffs")),
    _Kind("card line", "card lines", ("card_lines",)),
)
_RECORDED = (
    _Kind("choice", "choices", ("selections",), ("contrasts",)),
    _Kind("list that was shown", "lists that were shown", ("rankings",)),
    _Kind("earlier visit", "earlier visits", ("interactions",)),
    _Kind("correction", "corrections", ("corrections",)),
    _Kind("rating or other signal", "ratings and other signals", ("feedback",)),
    _Kind("turn of a conversation", "turns of conversations", ("utterances",)),
    _Kind("change by a person", "changes by a person", ("skill-commands", "card-commands")),
)
_IN_SENTENCE = ("skills", "choices", "statements")
_LONGEST_DAYS = max(
    topic.retention.days for topic in TOPICS.values() if topic.key in OF_USERS and topic.retention and not topic.compact
)
_LEARNED_FATE = "Erased at once, everywhere."
_RECORDED_FATE = (
    "Erased from the database at once, and never learned from again. The messages themselves leave the message log "
    f"when their time is up, within {_LONGEST_DAYS} days."
)
_RECEIPT = "A receipt without the name: it proves the erasure, and keeps old messages from being learned again."
_COPIES = "Copies outside of this system, such as an export that was downloaded: they cannot be reached from here."
_CHOICES_STAY = "The choices behind the line: other lines rest on them too."


def goes(
    settings: Settings,
    user: str,
    domain: str | None,
    line: str | None,
    tell: Callable[[int, int], None] = lambda *_: None,
) -> Goes:
    """Counts what forgetting would reach, in every store.

    Args:
        settings: the deployment.
        user: who.
        domain: only this domain; None: all.
        line: only this line of the domain, by its id.
        tell: is told how many topics were read, of how many.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
    """
    held = count(settings, user, tell)
    if line is not None and domain is not None:
        found = {NAMING_LINE: held.versions_with(domain, line)}
    else:
        found = {
            f"{kind} {name}": number
            for kind, counted in (("topic", held.topics), ("table", held.tables))
            for name, counts in counted.items()
            if (number := counts.total() if domain is None else counts[domain])
        }
    stores = [Going(name, number, fate_of(name)) for name, number in found.items()]
    if line is not None and domain is not None:
        return Goes(named(user, domain, line), held, stores, *_of_a_line(user, domain, found[NAMING_LINE]))
    return Goes(named(user, domain, line), held, stores, *_in_words(held, user, domain))


def _of_a_line(user: str, domain: str, versions: int) -> tuple[str, tuple[Group, ...]]:
    """The sentence and the groups of a request that erases one line."""
    named_by = _counted(versions, "version of the skill names it", "versions of the skill name it")
    return f"This erases one line that was learned about {user} in {domain}.", (
        Group("Learned", (f"The line itself: {named_by}",), _LEARNED_FATE),
        Group("Recorded", ("The person's own words about the line",), _RECORDED_FATE),
        Group("Stays, and why", (_CHOICES_STAY, _RECEIPT, _COPIES), ""),
    )


def _in_words(held: Holdings, user: str, domain: str | None) -> tuple[str, tuple[Group, ...]]:
    """The sentence and the groups of a request that erases a person or a domain of theirs."""

    def most(kind: _Kind) -> int:
        found = [counted.get(store, Counter()) for store in kind.stores for counted in (held.topics, held.tables)]
        return max(counts[domain] if domain else counts.total() for counts in found)

    def events(kind: _Kind) -> int:
        return held.happened(kind.of_a_domain or kind.stores if domain else kind.stores, domain)

    def counts(kinds: tuple[_Kind, ...], how_many: Callable[[_Kind], int]) -> dict[str, str]:
        found = {kind: how_many(kind) for kind in kinds}
        return {kind.many: _counted(number, kind.one, kind.many) for kind, number in found.items() if number}

    learned, recorded = counts(_LEARNED, most), counts(_RECORDED, events)
    where = f"{user} in {domain}" if domain else user
    if not learned and not recorded:
        return f"Nothing is held about {where}.", ()
    every = {**learned, **recorded}
    named_ = [every[many] for many in _IN_SENTENCE if many in every]
    sentence = f"This erases everything that was learned about {where}" + (f": {', '.join(named_)}." if named_ else ".")
    return sentence, (
        Group("Learned", tuple(learned.values()), _LEARNED_FATE if learned else "Nothing was learned."),
        Group("Recorded", tuple(recorded.values()), _RECORDED_FATE if recorded else "Nothing is recorded."),
        Group("Stays, and why", (_RECEIPT, _COPIES), ""),
    )


def _counted(count: int, one: str, many: str) -> str:
    """A count with its noun.

    >>> _counted(1, "choice", "choices"), _counted(1200, "choice", "choices")
    ('1 choice', '1,200 choices')
    """
    return f"{count:,} {one if count == 1 else many}"


def named(user: str, domain: str | None, line: str | None) -> str:
    """What is to be forgotten, in words.

    >>> named("ann", "films", None), named("ann", None, None)
    ('ann in films', 'all of ann')
    """
    if line is not None:
        return f"the line {line} of {user} in {domain}"
    return f"{user} in {domain}" if domain else f"all of {user}"


def fate_of(store: str) -> str:
    """What forgetting does to a store of a preview."""
    base = store.removeprefix("topic ")
    topic = TOPICS.get(base) if base != store else None
    if base == Receipt.TOPIC:
        return "stays: it holds no name"
    if topic is None or topic.compact or topic.retention is None:
        return "goes"
    return f"is read no more, and goes within {topic.retention.days} days"


def forget_request(
    user: str, domain: str | None, line: str | None, actor: str, event_id: str, at: datetime
) -> ForgetRequest:
    """The request to forget a person, one of their domains, or one line of it.

    Raises:
        ValidationError: a line without its domain, or an invalid user, domain or actor.
    """
    return ForgetRequest.model_validate(
        {
            "event_id": event_id,
            "occurred_at": at,
            "user_id": user,
            "domain": domain,
            "line": None if line is None or domain is None else line_of(user, domain, line),
            "actor": actor,
        }
    )


@dataclass(frozen=True)
class ComingSkill:
    """One skill that an import would bring.

    Attributes:
        domain: its domain.
        lines: how many lines it has.
        statements: how many things the person said for good, to be said again.
        replaces: how many lines the skill that is there has; None: there is none.
    """

    domain: str
    lines: int
    statements: int
    replaces: int | None


@dataclass(frozen=True)
class Comes:
    """What an import would bring; `interactions`: how many would be sent."""

    skills: list[ComingSkill] = field(default_factory=list)
    interactions: int = 0

    @property
    def replaced(self) -> list[str]:
        """The domains whose lines would be replaced."""
        return [each.domain for each in self.skills if each.replaces is not None]


def comes(
    settings: Settings,
    bundle: Bundle,
    user: str,
    at: datetime,
    *,
    domain: str | None = None,
    interactions: bool = False,
) -> Comes:
    """What importing a checked folder would do.

    Args:
        settings: the deployment.
        bundle: the result of `portable.load`.
        user: who receives it.
        at: the time of the import; what the person said until then, and no longer, is left out.
        domain: only this one; None: all.
        interactions: whether these are sent too.

    Raises:
        NotPortable: there is nothing to import.
        BrokerUnreachable: Kafka cannot be read.
    """
    chosen = bundle.chosen(domain)
    if not chosen:
        raise NotPortable(bundle.nothing_of(domain))
    held = skills(settings, user)
    there = {skill.domain: held.skill(skill.domain) for skill in chosen}
    return Comes(
        [
            ComingSkill(
                skill.domain,
                len(skill.attributes),
                len(statements_of(skill, at)),
                None if (old := there[skill.domain]) is None else len(old.attributes),
            )
            for skill in chosen
        ],
        sum(1 for _ in interactions_of(bundle, domain)) if interactions else 0,
    )

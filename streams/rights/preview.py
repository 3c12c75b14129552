"""Previews of an erasure and of an import, before anything is sent."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel

from schemas import TOPICS, ForgetRequest, Receipt, line_of
from streams.rights.holdings import Holdings, count, skills
from streams.rights.portable import Bundle, NotPortable, interactions_of, statements_of
from streams.rights.portable.ownership import OF_USERS
from streams.rights.sentences import counted
from streams.settings import Settings

NAMING_LINE = "versions of the skill that name the line"


class StoreGoes(BaseModel):
    """How many records a store holds of it, and what happens to them."""

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
    """The reach of a request to erase.

    Attributes:
        what: the subject of the request, such as `ann in films`.
        sentence: the request in one sentence, for a lay person.
        groups: learned data, recorded data, and data that stays.
    """

    what: str
    held: Holdings
    stores: list[StoreGoes]
    sentence: str
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class _Kind:
    """A kind of record in a lay person's words, and the topics or tables that hold it."""

    one: str
    many: str
    stores: tuple[str, ...]


_LEARNED = (
    _Kind("skill", "skills", ("skills",)),
    _Kind("line of a skill", "lines of skills", ("skill_attributes",)),
    _Kind("statement", "statements", ("statements",)),
    _Kind("version of a skill", "versions of skills", ("skill-diffs",)),
    _Kind("card line", "card lines", ("card_lines",)),
)
_RECORDED = (
    _Kind("choice", "choices", ("contrasts",)),
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
    progress: Callable[[int, int], None] = lambda *_: None,
) -> Goes:
    """Count the records that an erasure would reach, in every store.

    `domain`: only this domain; None: all. `line`: only this line of the domain, by its id.
    """
    held = count(settings, user, progress)
    if line is not None and domain is not None:
        versions = held.versions_with(domain, line)
        sentence, groups = _line_in_words(user, domain, versions)
        return Goes(
            named(user, domain, line),
            held,
            [StoreGoes(store=NAMING_LINE, records=versions, fate="goes")],
            sentence,
            groups,
        )
    stores = [
        StoreGoes(store=f"{kind} {name}", records=records, fate=fate_of(f"{kind} {name}"))
        for kind, stores_of_kind in (("topic", held.topics), ("table", held.tables))
        for name, counts in stores_of_kind.items()
        if (records := counts.total() if domain is None else counts[domain])
    ]
    return Goes(named(user, domain, line), held, stores, *_in_words(held, user, domain))


def _line_in_words(user: str, domain: str, versions: int) -> tuple[str, tuple[Group, ...]]:
    named_by = counted(versions, "version of the skill names it", "versions of the skill name it")
    return f"This erases one line that was learned about {user} in {domain}.", (
        Group("Learned", (f"The line itself: {named_by}",), _LEARNED_FATE),
        Group("Recorded", ("The person's own words about the line",), _RECORDED_FATE),
        Group("Stays, and why", (_CHOICES_STAY, _RECEIPT, _COPIES), ""),
    )


def _in_words(held: Holdings, user: str, domain: str | None) -> tuple[str, tuple[Group, ...]]:
    def in_words(kinds: Iterable[_Kind]) -> dict[str, str]:
        found = {kind: sum(held.count(store, domain) for store in kind.stores) for kind in kinds}
        return {kind.many: counted(records, kind.one, kind.many) for kind, records in found.items() if records}

    learned, recorded = in_words(_LEARNED), in_words(_RECORDED)
    where = f"{user} in {domain}" if domain else user
    if not learned and not recorded:
        return f"Nothing is held about {where}.", ()
    every = learned | recorded
    main = ", ".join(every[many] for many in _IN_SENTENCE if many in every)
    return f"This erases everything that was learned about {where}{f': {main}' if main else ''}.", (
        Group("Learned", tuple(learned.values()), _LEARNED_FATE if learned else "Nothing was learned."),
        Group("Recorded", tuple(recorded.values()), _RECORDED_FATE if recorded else "Nothing is recorded."),
        Group("Stays, and why", (_RECEIPT, _COPIES), ""),
    )


def named(user: str, domain: str | None, line: str | None) -> str:
    """Return the subject of an erasure, in words.

    >>> named("ann", "films", None), named("ann", None, None)
    ('ann in films', 'all of ann')
    """
    if line is not None:
        return f"the line {line} of {user} in {domain}"
    return f"{user} in {domain}" if domain else f"all of {user}"


def fate_of(store: str) -> str:
    """Return the fate of a store's records after an erasure."""
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
    """Return the request to erase a person, one of their domains, or one line of it.

    Raises:
        ValidationError: a line without its domain, or an invalid user, domain or actor.
    """
    digest = None if line is None or domain is None else line_of(user, domain, line)
    return ForgetRequest(event_id=event_id, occurred_at=at, user_id=user, domain=domain, line=digest, actor=actor)


class SkillComes(BaseModel):
    """A skill of an export; `replaces`: how many lines the skill that is there has, if there is one."""

    domain: str
    lines: int
    statements: int
    replaces: int | None


@dataclass(frozen=True)
class Comes:
    """The effect of an import; `interactions`: the number to send."""

    skills: list[SkillComes]
    interactions: int

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
    """Return the effect of importing a checked folder.

    `at`: the time of the import; statements that are over by then are left out. `domain`: only this domain; None:
    all. `interactions`: True to send the past interactions too.
    """
    chosen = bundle.chosen(domain)
    if not chosen:
        raise NotPortable(bundle.nothing_of(domain))
    held = skills(settings, user)
    coming = []
    for skill in chosen:
        old, statements = held.skill(skill.domain), len(statements_of(skill, at))
        replaces = None if old is None else len(old.attributes)
        coming.append(
            SkillComes(domain=skill.domain, lines=len(skill.attributes), statements=statements, replaces=replaces)
        )
    return Comes(coming, sum(1 for _ in interactions_of(bundle, domain)) if interactions else 0)

"""Previews of an erasure and of an import, before anything is sent."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel

from schemas import TOPICS, ForgetRequest, Receipt, line_of
from streams.rights.holdings import Holdings, count, skills
from streams.rights.portable import Bundle, statements_of
from streams.rights.sentences import counted
from streams.settings import Settings

NAMING_LINE = "versions of the skill that name the line"


class StoreGoes(BaseModel):
    """How many records a store holds of it, and what happens to them."""

    store: str
    records: int
    fate: str


@dataclass(frozen=True)
class Goes:
    """The reach of a request to erase, by store and as a sentence for a lay person."""

    held: Holdings
    stores: list[StoreGoes]
    sentence: str
    stays: str = (
        "A receipt without the name stays. Messages of apps leave Kafka with their retention; until then nothing reads "
        "them. Copies outside of this system, such as a downloaded export, cannot be reached from here."
    )


_IN_SENTENCE = (
    ("skill", "skills", "skills"),
    ("choice", "choices", "contrasts"),
    ("statement", "statements", "statements"),
    ("turn of a conversation", "turns of conversations", "utterances"),
)
"""Kinds of records for a lay person: one, many, and the topic or table that holds them."""


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
    where = named(user, domain, line)
    if line is not None and domain is not None:
        versions = held.versions_with(domain, line)
        stores = [StoreGoes(store=NAMING_LINE, records=versions, fate="goes")]
        return Goes(held, stores, f"This erases {where}. The choices behind it stay: other lines rest on them too.")
    stores = [
        StoreGoes(store=f"{kind} {name}", records=records, fate=fate_of(f"{kind} {name}"))
        for kind, stores_of_kind in (("topic", held.topics), ("table", held.tables))
        for name, counts in stores_of_kind.items()
        if (records := counts.total() if domain is None else counts[domain])
    ]
    if not stores:
        return Goes(held, stores, f"Nothing is held about {where}.")
    found = [counted(n, one, many) for one, many, store in _IN_SENTENCE if (n := held.count(store, domain))]
    return Goes(held, stores, f"This erases {': '.join(filter(None, [where, ', '.join(found)]))}.")


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
    """Return the request to erase a person, one of their domains, or one line of it."""
    digest = None if line is None or domain is None else line_of(user, domain, line)
    return ForgetRequest(event_id=event_id, occurred_at=at, user_id=user, domain=domain, line=digest, actor=actor)


class SkillComes(BaseModel):
    """A skill of an export; `replaces`: how many lines the skill that is there has, if there is one."""

    domain: str
    lines: int
    statements: int
    replaces: int | None


def comes(settings: Settings, bundle: Bundle, user: str, at: datetime, domain: str | None = None) -> list[SkillComes]:
    """Return the skills that an import brings, without statements that are over by then.

    `at`: the time of the import. `domain`: only this domain; None: all.
    """
    held = skills(settings, user)
    coming = []
    for skill in bundle.chosen(domain):
        old, statements = held.skill(skill.domain), len(statements_of(skill, at))
        replaces = None if old is None else len(old.attributes)
        coming.append(
            SkillComes(domain=skill.domain, lines=len(skill.attributes), statements=statements, replaces=replaces)
        )
    return coming

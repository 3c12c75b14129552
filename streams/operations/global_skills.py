"""Build global skills: read profiles and memories from their changelogs, publish one global skill per domain.

Each changelog is read twice: first for the offset of the newest record per key, then to decode and count only those
records. The embedded broker never compacts and Kafka compacts late: a user has many records but must count once. It
takes about 200 bytes per user and domain and at most 20,000 attributes per domain, however long the history; a build
for a million users takes 200 MB.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import blake2b

import orjson
from confluent_kafka import Message

from operators.global_skill import DEFAULT_PRIOR, GlobalLimits, Population, global_skill
from operators.statinit.prior import PriorLimits
from schemas import BadRecord, GlobalSkill, Memory, Profile, decode, derived_id
from schemas.codec import ModelT
from schemas.fields import Domain
from streams.kafka.events import EventOutbox
from streams.kafka.packed import unpack
from streams.kafka.scanner import NoSuchTopic, Scanner, int_of
from streams.settings import Settings

_EVERY = 500

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and how much there is."""


@dataclass
class Profiles:
    """The populations by domain, and how many records could not be decoded."""

    populations: dict[str, Population] = field(default_factory=dict)
    unreadable: int = 0


def read_populations(
    settings: Settings, domain: str | None = None, tell: Tell = lambda *_: None, prior: PriorLimits = DEFAULT_PRIOR
) -> Profiles:
    """Count the populations of all domains, or of one, from the newest profile and memory of every user.

    Raises:
        NoSuchTopic: there is no topic of profiles.
        BrokerUnreachable: it could not be read to its end.
    """
    found = Profiles()

    def population(of: Domain) -> Population:
        return found.populations.setdefault(of, Population(of, prior))

    with Scanner(settings) as scanner:
        for profile in _readable(Profile, _newest_values(scanner, Profile.TOPIC, domain, tell), found):
            population(profile.domain).add(profile)
        with suppress(NoSuchTopic):  # without the graph there are no memories, and no popular items
            for memory in _readable(Memory, _newest_values(scanner, Memory.TOPIC, domain, tell), found):
                population(memory.domain).met(memory)
    found.populations = {name: each for name, each in found.populations.items() if each.users}
    return found


def _readable(model: type[ModelT], values: Iterable[bytes], found: Profiles) -> Iterator[ModelT]:
    """Yield the records that decode, and count the others."""
    for value in values:
        try:
            yield decode(model, unpack(value))
        except BadRecord:
            found.unreadable += 1


def _newest_values(scanner: Scanner, topic: str, domain: str | None, tell: Tell) -> Iterator[bytes]:
    """Yield the newest record of each key of a changelog."""
    where = scanner.partitions(topic)
    newest = _newest(scanner.read(where, partial(tell, topic)), domain)
    total = left = sum(map(len, newest.values()))
    for message in scanner.read(where) if left else ():
        keys, key = newest.get(int_of(message.partition()), {}), _short(message.key() or b"")
        # Later than the newest of the first pass, if Kafka has compacted that one away in between.
        if int_of(message.offset()) < keys.get(key, 1 << 63):
            continue
        del keys[key]
        left -= 1
        if (value := message.value()) is not None:
            yield value
        if not left % _EVERY:
            tell("users", total - left, total)
        if not left:
            break


def _newest(records: Iterable[Message], domain: str | None) -> dict[int, dict[bytes, int]]:
    """Return the offset of each key's newest record, by partition."""
    newest: dict[int, dict[bytes, int]] = {}
    for message in records:
        keys = newest.setdefault(int_of(message.partition()), {})
        key = message.key() or b""
        if message.value() is None:
            keys.pop(_short(key), None)
        elif domain is None or _domain_of(key) == domain:
            keys[_short(key)] = int_of(message.offset())
    return newest


def build(populations: Iterable[Population], occurred_at: datetime, limits: GlobalLimits) -> list[GlobalSkill]:
    """Build the global skill of each population, in the order of their domains' names."""
    return [
        global_skill(each, derived_id("global-skill", each.domain, occurred_at.isoformat()), occurred_at, limits)
        for each in sorted(populations, key=lambda each: each.domain)
    ]


def publish(settings: Settings, skills: Iterable[GlobalSkill]) -> None:
    """Publish these global skills, replacing the existing ones.

    Raises:
        NotProduced: the broker did not accept all of them.
    """
    with EventOutbox(settings) as outbox:
        for skill in skills:
            outbox.send(skill)


def read_published(settings: Settings) -> dict[str, GlobalSkill]:
    """Read the newest global skill of every domain.

    Raises:
        NoSuchTopic: there is no topic of global skills.
        BrokerUnreachable: it could not be read to its end.
    """
    found: dict[bytes, GlobalSkill] = {}
    with Scanner(settings) as scanner:
        for message in scanner.read(scanner.partitions(GlobalSkill.TOPIC)):
            key, value = message.key() or b"", message.value()
            if value is None:
                found.pop(key, None)
                continue
            try:
                found[key] = decode(GlobalSkill, value)
            except BadRecord:
                # The materializer, which also reads this topic, sends the dead letter.
                continue
    return {skill.domain: skill for skill in found.values()}


def _short(key: bytes) -> bytes:
    # With a million users, the odds that two share one are 1 to 40 million: then one of them is not counted.
    return blake2b(key, digest_size=8).digest()


def _domain_of(key: bytes) -> str | None:
    """Return the domain in a key of user and domain."""
    try:
        _, domain = orjson.loads(key)
    except (orjson.JSONDecodeError, TypeError, ValueError):
        return None
    return str(domain)

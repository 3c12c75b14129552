"""Builds a global skill per domain from profiles and memories."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from operators.global_skill import Population, global_skill
from schemas import BadRecord, GlobalSkill, Memory, Profile, decode, derived_id
from streams.kafka.scanner import NoSuchTopic, OnStageProgress, Scanner
from streams.settings import Settings

_Record = TypeVar("_Record", Profile, Memory)


def read_populations(
    settings: Settings, domain: str | None, on_progress: OnStageProgress
) -> tuple[list[Population], int]:
    """Count the populations by domain, and the unreadable records."""
    found: dict[str, Population] = {}
    unreadable = 0

    def read(model: type[_Record]) -> Iterator[tuple[Population, _Record]]:
        nonlocal unreadable
        for value in _newest(scanner, model.TOPIC, on_progress):
            try:
                record = decode(model, value)
            except BadRecord:
                unreadable += 1
                continue
            if domain in (None, record.domain):
                yield found.setdefault(record.domain, Population(record.domain)), record

    with Scanner(settings) as scanner:
        for population, profile in read(Profile):
            population.add(profile)
        with suppress(NoSuchTopic):  # without the graph there are no memories, and no popular items
            for population, memory in read(Memory):
                population.add_memory(memory)
    return [each for each in found.values() if each.users], unreadable


def _newest(scanner: Scanner, topic: str, on_progress: OnStageProgress) -> Iterator[bytes]:
    """Yield the newest record of each key of a changelog."""
    # By partition, so that memory holds the records of only one at a time.
    partitions = scanner.partitions(topic)
    total, before = scanner.size(partitions), 0
    for where in partitions:
        newest: dict[bytes, bytes] = {}
        for message in scanner.read([where]):
            key, value = message.key() or b"", message.value()
            before += 1
            if value is None:
                newest.pop(key, None)
            else:
                newest[key] = value
        on_progress(topic, before, max(before, total))
        yield from newest.values()


def build(populations: Iterable[Population], occurred_at: datetime, floor: int) -> list[GlobalSkill]:
    """Build the global skill of each population, sorted by domain."""
    return [
        global_skill(each, derived_id("global-skill", each.domain, occurred_at.isoformat()), occurred_at, floor)
        for each in sorted(populations, key=lambda each: each.domain)
    ]


def read_published(settings: Settings) -> dict[str, GlobalSkill]:
    """Read the newest global skill of every domain."""
    found: dict[bytes, GlobalSkill] = {}
    with Scanner(settings) as scanner:
        for message in scanner.read(scanner.partitions(GlobalSkill.TOPIC)):
            key, value = message.key() or b"", message.value()
            if value is None:
                found.pop(key, None)
                continue
            with suppress(BadRecord):  # the materializer, which also reads this topic, sends the dead letter
                found[key] = decode(GlobalSkill, value)
    return {skill.domain: skill for skill in found.values()}

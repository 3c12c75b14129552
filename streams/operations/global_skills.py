"""Builds a global skill per domain from profiles and memories."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from operators.global_skill import Population, global_skill, with_policy
from schemas import BadRecord, GlobalSkill, Memory, Profile, decode, derived_id
from streams.exceptions import StreamsError
from streams.kafka.scanner import NoSuchTopic, OnStageProgress, Scanner
from streams.policies import output_gate
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
        partitions = scanner.partitions(model.TOPIC)
        # By partition, so that memory holds the records of only one at a time.
        for number, where in enumerate(partitions, start=1):
            for value in scanner.newest([where]).values():
                try:
                    record = decode(model, value)
                except BadRecord:
                    unreadable += 1
                    continue
                if domain in (None, record.domain):
                    yield found.setdefault(record.domain, Population(record.domain)), record
            on_progress(f"partitions of {model.TOPIC}", number, len(partitions))

    with Scanner(settings) as scanner:
        for population, profile in read(Profile):
            population.add(profile)
        with suppress(NoSuchTopic):  # without the graph there are no memories, and no popular items
            for population, memory in read(Memory):
                population.add_memory(memory)
    return [each for each in found.values() if each.users], unreadable


def build(populations: Iterable[Population], occurred_at: datetime, floor: int) -> list[GlobalSkill]:
    """Build the global skill of each population, sorted by domain."""
    return [
        global_skill(each, derived_id("global-skill", each.domain, occurred_at.isoformat()), occurred_at, floor)
        for each in sorted(populations, key=lambda each: each.domain)
    ]


def require_model(settings: Settings) -> None:
    """Raise an error unless the settings name an endpoint or its key."""
    if settings.llm_base_url is None and settings.llm_api_key is None:
        raise StreamsError(
            "--by llm has no endpoint: set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own, or leave "
            "--by out"
        )


async def with_policies(
    settings: Settings, populations: Iterable[Population], skills: Iterable[GlobalSkill], floor: int
) -> list[GlobalSkill]:
    """Let the configured model write each domain's policy, by one call each."""
    from streams.llm.client import LlmClient  # noqa: PLC0415 - the openai package takes half a second

    of, client, gate = {each.domain: each for each in populations}, LlmClient(settings), output_gate(settings)
    try:
        return [await with_policy(skill, of[skill.domain], client, gate, floor) for skill in skills]
    finally:
        await client.aclose()


def read_published(settings: Settings) -> dict[str, GlobalSkill]:
    """Read the newest global skill of every domain."""
    found: dict[str, GlobalSkill] = {}
    with Scanner(settings) as scanner:
        for value in scanner.newest(scanner.partitions(GlobalSkill.TOPIC)).values():
            with suppress(BadRecord):  # the materializer, which also reads this topic, sends the dead letter
                skill = decode(GlobalSkill, value)
                found[skill.domain] = skill
    return found

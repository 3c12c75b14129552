"""What a worker does that takes over from one that died between writing a skill and sending its diff.

The moment is too short to be hit by killing, so it is laid out by hand: the records that such a death leaves behind.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from operators.evolve import CountsReasoner
from operators.statinit import facts_of, parser_for
from operators.steps import EvolveState, EvolveStep, SkillStart
from schemas import Candidate, Contrast, Model, PolicySkill, Position, SkillDiff, SlimSkill, compound_key, encode
from streams.kafka.clients import partition_of
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT as PRIVACY
from tests.faults.oracle import assert_one_version_each
from tests.harness import Harness
from tests.worlds import slate

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough]

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def put(harness: Harness, topic: str, user: str, key: bytes, value: Model) -> Position:
    """Produce a record on the user's partition; where it stands."""
    told: list[Any] = []
    partition = partition_of(user, harness.settings.partitions)
    name = harness.settings.topic(topic)
    harness.raw.produce(name, encode(value), key, partition, on_delivery=lambda _, message: told.append(message))
    harness.raw.flush(30)
    [message] = told
    return Position(
        topic=name, partition=partition, offset=message.offset(), timestamp_ms=max(0, message.timestamp()[1])
    )


def contrast_of(user: str, number: int) -> Contrast:
    parse = parser_for("films", {})
    facts = [facts_of(Candidate.model_validate(item), parse) for item in slate(number)]
    return Contrast(
        event_id=f"c-{user}-{number}",
        occurred_at=NOW,
        user_id=user,
        domain="films",
        ranking_id=f"r-{user}-{number}",
        chosen=facts[1],
        chosen_rank=2,
        unchosen=(*facts[2:], facts[0]),
    )


def evolved(skill: PolicySkill, contrast: Contrast, at: Position) -> PolicySkill:
    return (
        EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE)
        .finish(EvolveState(skill), contrast, CountsReasoner().propose(contrast, skill), at)
        .skill
    )


def put_skill(harness: Harness, skill: PolicySkill) -> None:
    put(harness, PolicySkill.TOPIC, skill.user_id, compound_key(skill.user_id, skill.domain), skill)


def put_outputs(harness: Harness, skill: PolicySkill) -> None:
    assert skill.last_diff is not None
    put(harness, SkillDiff.TOPIC, skill.user_id, skill.user_id.encode(), skill.last_diff)
    short = EvolveStep(slim_tokens=harness.settings.slim_tokens, privacy=PRIVACY, gate=OUTPUT_GATE).slim(skill)
    assert short is not None
    put(harness, SlimSkill.TOPIC, skill.user_id, compound_key(skill.user_id, skill.domain), short)


def test_a_diff_that_was_not_sent_is_sent_and_one_that_was_is_not_sent_again(harness: Harness) -> None:
    for user, sent in (("unsent", False), ("sent", True)):
        contrast = contrast_of(user, 1)
        at = put(harness, Contrast.TOPIC, user, user.encode(), contrast)
        skill = evolved(SkillStart(privacy=PRIVACY).skill(user, "films", contrast, None), contrast, at)
        put_skill(harness, skill)
        if sent:
            put_outputs(harness, skill)
        put(harness, Contrast.TOPIC, user, user.encode(), contrast_of(user, 2))

    harness.worker()
    outputs = harness.until(lambda out: len(out.diffs) == 4, "both versions of both")
    outputs = harness.quiet(2)

    assert [(d.version, d.event_id) for d in outputs.values(SkillDiff) if d.user_id == "unsent"] == [
        (1, "c-unsent-1"),
        (2, "c-unsent-2"),
    ]
    assert [(d.version, d.event_id) for d in outputs.values(SkillDiff) if d.user_id == "sent"] == [
        (1, "c-sent-1"),
        (2, "c-sent-2"),
    ]
    assert_one_version_each(outputs)
    harness.assert_all_stores_agree(duckdb=False)

"""Restore the prompt behind a version, from the log and from the choice on Kafka."""

from collections.abc import Sequence
from datetime import timedelta

from confluent_kafka import TopicPartition

from operators.evolve.again import PROMPTS, Again, again
from operators.history import at_version
from operators.steps.evolved import State
from operators.tokens import count_tokens
from schemas import BadRecord, Contrast, Receipt, SkillDiff, decode, topic_of
from streams.exceptions import StreamsError
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner
from streams.settings import Settings
from streams.steps import evolve_of
from streams.vouching import vouching_of


class NotAsked(StreamsError, LookupError):
    """No model was asked for this version."""


class OldPrompt(StreamsError, LookupError):
    """The version was asked for with a wording that this release does not have."""


class ChoiceGone(StreamsError, LookupError):
    """The choice behind a version is not on Kafka any more."""


def prompt_of(settings: Settings, diffs: Sequence[SkillDiff], version: int, receipt: Receipt | None = None) -> Again:
    """Restore the prompt behind a version.

    Args:
        settings: the deployment.
        diffs: the log of one skill, in order; it has this version.
        version: the version that the model's answer led to.
        receipt: the user's erasures; no prompt contains erased data.

    Raises:
        NotAsked: no model was asked.
        OldPrompt: it was asked with another wording.
        ChoiceGone: the choice has expired or was erased.
        BrokerUnreachable: no broker answers.
    """
    diff = next(each for each in diffs if each.version == version)
    by = diff.reasoned_by
    if by.prompt_hash is None or not diff.is_contrast:
        asked = "the gate kept it from the model" if by.gated else f"it was made by {by.reasoner}"
        raise NotAsked(f"no model was asked for version {version}: {asked}")
    if by.prompt not in PROMPTS:
        raise OldPrompt(
            f"version {version} was asked for with the prompt {by.prompt}, which this release does not have: "
            f"it has {', '.join(PROMPTS)}"
        )
    before = at_version(diffs, version - 1)
    contrast = _contrast(settings, diff)
    known = None
    if before is not None:
        known = evolve_of(settings).begin(State(before, receipt), contrast, diff.source).contrast
    found = None
    if known is not None:
        found = again(diffs, version, known, count_tokens=count_tokens, vouching=vouching_of(settings))
    if found is None:
        raise ChoiceGone(f"what was chosen before version {version} was forgotten, or may not be learned from any more")
    return found


def _contrast(settings: Settings, diff: SkillDiff) -> Contrast:
    """The choice at the position that the diff names."""
    kept = topic_of(Contrast).retention or timedelta.max
    gone = (
        f"the choice behind version {diff.version} is not on Kafka any more, where choices are kept for {kept.days} "
        f"days: what was asked cannot be had again, only its hash, {diff.reasoned_by.prompt_hash}"
    )
    source = diff.source
    if source is None:
        raise ChoiceGone(gone)
    with Scanner(settings) as scanner:
        message = next(scanner.read([TopicPartition(source.topic, source.partition, source.offset)]), None)
    try:
        found = None if message is None else decode(Contrast, unpack(message.value() or b""))
    except BadRecord:
        found = None
    # Behind an offset that has expired the client goes on with the oldest record there is.
    if found is None or found.event_id != diff.event_id or found.user_id != diff.user_id:
        raise ChoiceGone(gone)
    return found

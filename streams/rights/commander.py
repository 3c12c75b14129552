"""Sends a command about a person or a domain, or a request to forget, and waits until a worker has carried it out."""

import time
from collections.abc import Callable
from typing import Self, TypeVar

from confluent_kafka import Consumer, TopicPartition

from schemas import (
    BadRecord,
    CardCommand,
    CardDiff,
    Correction,
    Event,
    ForgetRequest,
    Receipt,
    SkillCommand,
    SkillDiff,
    WeightCommand,
    Weights,
    decode,
    encode,
    topic_of,
)
from streams.kafka.clients import client_config, no_group, partition_of
from streams.kafka.producer import Outbox
from streams.kafka.scanner import REQUEST_SECONDS
from streams.settings import Settings

FLUSH_SECONDS = 30.0

AnswerT = TypeVar("AnswerT", bound=Event)


class Commander:
    """Sends commands about one user or domain and follows their partition of the log. Use it as a context manager.

    Args:
        settings: the deployment.
        owner: the user whose skills the commands change, or the domain whose weights.
        outbox: sends them; by default one of its own, whose first record takes a second while it gets its id.
    """

    def __init__(self, settings: Settings, owner: str, outbox: Outbox | None = None) -> None:
        self._settings = settings
        self._partition = partition_of(owner, settings.partitions)
        self._outbox = outbox or Outbox(settings)
        self._log = Consumer(
            client_config(
                settings,
                **no_group("commands"),
                **{
                    "auto.offset.reset": "earliest",
                    "allow.auto.create.topics": False,
                },
            )
        )

    def carry_out(self, command: SkillCommand | Correction, seconds: float) -> SkillDiff | None:
        """Sends a command, or what a person says, and returns the diff that answers it; None if none arrives in time.

        Raises:
            NotProduced: the broker did not take it.
            KafkaException: the broker does not answer.
        """
        asked = (command.event_id, command.user_id, command.domain)
        return self._ask(command, SkillDiff, lambda diff: (diff.event_id, diff.user_id, diff.domain) == asked, seconds)

    def change_card(self, command: CardCommand, seconds: float) -> CardDiff | None:
        """Sends a command about a card and returns the diff that answers it; None if none arrives in time.

        A command that changes nothing has no diff.

        Raises:
            NotProduced: the broker did not take it.
            KafkaException: the broker does not answer.
        """
        asked = (command.event_id, command.user_id)
        return self._ask(command, CardDiff, lambda diff: (diff.event_id, diff.user_id) == asked, seconds)

    def forget(self, request: ForgetRequest, seconds: float) -> Receipt | None:
        """Asks a worker to forget and returns the receipt once it is done; None if none arrives in time.

        Raises:
            NotProduced: the broker did not take it.
            KafkaException: the broker does not answer.
        """

        def is_done(receipt: Receipt) -> bool:
            return any(scope.done and scope.event_id == request.event_id for scope in receipt.scopes)

        return self._ask(request, Receipt, is_done, seconds)

    def weigh(self, command: WeightCommand, seconds: float) -> Weights | None:
        """Sends a command about a domain's weights and returns them afterwards; None if none arrive in time.

        Raises:
            NotProduced: the broker did not take it.
            KafkaException: the broker does not answer.
        """
        where = TopicPartition(self._settings.topic(command.TOPIC), self._partition)
        _, begin = self._log.get_watermark_offsets(where, timeout=REQUEST_SECONDS) or (0, 0)

        def is_it(weights: Weights) -> bool:
            """Whether they have taken in what stands where this command will: weights name positions, not commands."""
            told = any(held.topic == where.topic and held.offset >= begin for held in weights.applied)
            return told and weights.domain == command.domain

        return self._ask(command, Weights, is_it, seconds)

    def _ask(
        self, event: Event, answer: type[AnswerT], is_it: Callable[[AnswerT], bool], seconds: float
    ) -> AnswerT | None:
        """Sends an event and reads the topic of answers until its own."""
        # Looked up before the event is sent, so that its answer comes after this offset.
        where = TopicPartition(self._settings.topic(answer.TOPIC), self._partition)
        _, where.offset = self._log.get_watermark_offsets(where, timeout=REQUEST_SECONDS) or (0, 0)
        topic = topic_of(type(event))
        self._outbox.send(topic.name(self._settings.prefix), topic.key_of(event), encode(event), self._partition)
        self._outbox.flush(FLUSH_SECONDS, "commands")
        self._log.assign([where])
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            message = self._log.poll(0.2)
            if message is None or message.error() is not None:
                continue
            try:
                found = decode(answer, message.value())
            except BadRecord:  # a tombstone or a bad record; the materializer reports it
                continue
            if is_it(found):
                return found
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._log.close()

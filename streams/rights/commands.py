"""Sends commands of people, and waits for the worker's answer."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from confluent_kafka import Consumer, TopicPartition

from schemas import CardCommand, CardDiff, Correction, Event, SkillCommand, SkillDiff, WeightCommand, Weights, topic_of
from schemas.codec import BadRecord, decode, encode
from schemas.commands import ForgetRequest, Receipt
from streams.kafka.clients import client_config, no_group, partition_of
from streams.kafka.producer import RecordWriter
from streams.kafka.scanner import REQUEST_SECONDS
from streams.settings import Settings

FLUSH_SECONDS = 30.0

AnswerT = TypeVar("AnswerT", bound=Event)


class CommandClient(AbstractContextManager["CommandClient"]):
    """Sends commands of one user or domain, and reads the answers.

    Each method returns None if no answer arrives in time; a worker then applies the command later. Each raises
    `NotProduced` if the broker rejects the command, and `KafkaException` if it does not answer.
    """

    def __init__(self, settings: Settings, owner: str) -> None:
        self._settings = settings
        self._partition = partition_of(owner, settings.partitions)
        self._writer = RecordWriter(settings)
        reading = {"auto.offset.reset": "earliest", "allow.auto.create.topics": False}
        self._log = Consumer(client_config(settings, **no_group("commands"), **reading))

    def change_skill(self, command: SkillCommand | Correction, seconds: float) -> SkillDiff | None:
        """Send a command or a correction, and return its diff."""
        key = (command.event_id, command.user_id, command.domain)
        return self._request(
            command, SkillDiff, lambda diff: (diff.event_id, diff.user_id, diff.domain) == key, seconds
        )

    def change_card(self, command: CardCommand, seconds: float) -> CardDiff | None:
        """Send a card's command, and return its diff, if it changes anything."""
        key = (command.event_id, command.user_id)
        return self._request(command, CardDiff, lambda diff: (diff.event_id, diff.user_id) == key, seconds)

    def forget(self, request: ForgetRequest, seconds: float) -> Receipt | None:
        """Send a request to erase, and return the final receipt."""
        return self._request(request, Receipt, lambda receipt: receipt.has_done(request.event_id), seconds)

    def change_weights(self, command: WeightCommand, seconds: float) -> Weights | None:
        """Send a command about weights, and return the changed weights."""
        # Weights list the offsets of their commands, not the ids.
        topic = self._settings.topic(command.TOPIC)
        begin = self._end(topic)

        def includes_it(weights: Weights) -> bool:
            applied = any(each.topic == topic and each.offset >= begin for each in weights.applied)
            return applied and weights.domain == command.domain

        return self._request(command, Weights, includes_it, seconds)

    def _request(
        self, event: Event, answer: type[AnswerT], is_answer: Callable[[AnswerT], bool], seconds: float
    ) -> AnswerT | None:
        # Before sending: the answer must come after this offset.
        answers = self._settings.topic(answer.TOPIC)
        where = TopicPartition(answers, self._partition, self._end(answers))
        topic = topic_of(type(event))
        self._writer.send(topic.name(self._settings.prefix), topic.key_of(event), encode(event), self._partition)
        self._writer.flush(FLUSH_SECONDS, "commands")
        self._log.assign([where])
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            message = self._log.poll(0.2)
            if message is None or message.error() is not None:
                continue
            try:
                found = decode(answer, message.value())
            except BadRecord:  # or a tombstone; the materializer reports bad records
                continue
            if is_answer(found):
                return found
        return None

    def _end(self, topic: str) -> int:
        where = TopicPartition(topic, self._partition)
        return (self._log.get_watermark_offsets(where, timeout=REQUEST_SECONDS) or (0, 0))[1]

    def __exit__(self, *error: object) -> None:
        self._log.close()

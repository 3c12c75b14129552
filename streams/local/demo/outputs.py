"""The pipeline's outputs, read from its topics as any other reader does."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from confluent_kafka import TopicPartition

from schemas import Contrast, DeadLetter, Event, Ranking, SkillDiff, SlimSkill, decode
from streams.kafka.scanner import Scanner, int_of
from streams.settings import Settings

# A repeated output replaces the earlier one with the same id.
_ID_OF: dict[type[Event], Callable[[Any], Any]] = {
    Ranking: attrgetter("ranking_id"),
    Contrast: attrgetter("event_id"),
    SkillDiff: attrgetter("event_id"),
    SlimSkill: attrgetter("user_id", "domain"),
    DeadLetter: attrgetter("event_id"),
}


class PipelineOutputs:
    """The outputs by kind and id, without duplicates."""

    def __init__(self, settings: Settings) -> None:
        self._scanner = Scanner(settings)
        self._models = {settings.topic(model.TOPIC): model for model in _ID_OF}
        self._next = {
            (each.topic, each.partition): each for model in _ID_OF for each in self._scanner.partitions(model.TOPIC)
        }
        self._found: dict[type[Event], dict[Any, Any]] = {model: {} for model in _ID_OF}

    def __getitem__(self, model: type[Event]) -> dict[Any, Any]:
        return self._found[model]

    def read(self) -> None:
        """Read all records that the broker has now."""
        for message in self._scanner.read([*self._next.values()]):
            topic, partition, value = str(message.topic()), int_of(message.partition()), message.value()
            self._next[topic, partition] = TopicPartition(topic, partition, int_of(message.offset()) + 1)
            if value is not None:
                record: Any = decode(self._models[topic], value)
                self._found[type(record)][_ID_OF[type(record)](record)] = record

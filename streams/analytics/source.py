"""Reads all public topics from the offsets in the DuckDB file.

No group offset is committed, so offsets cannot disagree with the rows. Topic ids are stored with the offsets: a topic
with another id was recreated, and is read from its beginning, which is safe because every table is keyed.
"""

import logging
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ClusterMetadata

from schemas import Topic
from streams.analytics import MaterializerError, metrics
from streams.analytics.rows import PUBLIC_TOPICS
from streams.analytics.store import Offsets, Progress
from streams.kafka.clients import client_config, reach
from streams.settings import Settings

log = logging.getLogger(__name__)

_START_SECONDS, _CHECK_SECONDS, _SLICE_SECONDS = 10.0, 2.0, 0.2
_SLICE_RECORDS = 500
_BATCH_BYTES = 32 * 1024 * 1024
_NO_ID = "A" * 22  # Kafka's id for a topic without one
_REFUSED_CODES = (
    *(KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED),
    *(KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION),
)


@dataclass(frozen=True, slots=True)
class AssignedTopic:
    """A topic's partition count, and its id or else the cluster's."""

    topic_id: str
    partitions: int

    def start(self, progress: Progress | None) -> int:
        """Return the start offset; the beginning if the topic was recreated."""
        is_known = progress is not None and progress.is_in(self.topic_id)
        return (progress.next_offset if progress and is_known else 0) or OFFSET_BEGINNING


class TopicSource(AbstractContextManager["TopicSource"]):
    """The consumer of all public topics, as a context manager."""

    def __init__(self, settings: Settings) -> None:
        self.topics: dict[str, Topic] = {topic.name(settings.prefix): topic for topic in PUBLIC_TOPICS}
        self.broker_answers = False
        self._settings = settings
        self._states: dict[str, AssignedTopic] = {}
        self._last_error = ""
        # Otherwise librdkafka logs to stderr.
        logger = logging.getLogger("sager.kafka")
        self._admin = AdminClient(client_config(settings), logger=logger)
        consumer = {
            "client.id": "sager-materializer",
            "group.id": f"{settings.app_id}-materializer",  # librdkafka requires one; it is never joined
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",  # for offsets that retention has overtaken
            "allow.auto.create.topics": False,
            # The embedded broker polls all partitions while a fetch waits.
            "fetch.wait.max.ms": 500 if settings.embedded else 200,
            "queued.min.messages": 10_000,
            "queued.max.messages.kbytes": 4_096,  # per partition, and there may be many
        }
        self._consumer = Consumer(client_config(settings, **consumer), logger=logger)

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def topic_id(self, name: str) -> str:
        """Return the topic's id at the assignment, which the offsets belong to."""
        return self._states[name].topic_id

    def start(self, done: Offsets) -> set[str]:
        """Start reading at these offsets; return topics recreated since."""
        _, cluster = reach(self._settings, _START_SECONDS)
        states = self._describe(cluster, _START_SECONDS)
        if missing := sorted(self.topics.keys() - states.keys()):
            raise MaterializerError(
                f"{len(missing)} topics are missing at {self._settings.bootstrap}: {', '.join(missing)}. "
                "Start a `sager worker` (or `sager up`) first, which creates them; is SAGER_PREFIX right?"
            )
        return self._assign(states, done)

    def check(self, done: Offsets) -> set[str]:
        """Reassign after a change of topics; return the recreated ones."""
        try:
            # All topics, because the embedded broker creates a topic that is requested by name.
            cluster = self._admin.list_topics(timeout=_CHECK_SECONDS)
            states = {**self._states, **self._describe(cluster, _CHECK_SECONDS)}
        except KafkaException as error:
            log.debug("could not describe the topics: %s", error)
            self.broker_answers = False
            return set()
        self.broker_answers = True
        return self._assign(states, done) if states != self._states else set()

    def read(self, limit: int, seconds: float, stop: threading.Event) -> list[Message]:
        """Return at most `limit` records (some 32 MiB) within `seconds`."""
        messages: list[Message] = []
        size, left, until = 0, seconds, time.monotonic() + seconds
        while len(messages) < limit and size < _BATCH_BYTES and left > 0 and not stop.is_set():
            records = min(limit - len(messages), _SLICE_RECORDS)
            for message in self._consumer.consume(records, timeout=min(left, _SLICE_SECONDS)):
                if (error := message.error()) is not None:
                    self._error(error)
                    continue
                size += len(message.value() or b"") + len(message.key() or b"")
                messages.append(message)
            left = until - time.monotonic()
        return messages

    def measure_lag(self, done: Offsets) -> None:
        """Set the lag per topic by the last fetches' end offsets."""
        for name, state in self._states.items():
            behind = 0
            for partition in range(state.partitions):
                _, end = self._consumer.get_watermark_offsets(TopicPartition(name, partition), cached=True) or (0, 0)
                behind += max(0, end - max(0, state.start(done.get((name, partition)))))
            metrics.LAG.labels(topic=self.topics[name].base).set(behind)

    def _describe(self, cluster: ClusterMetadata, seconds: float) -> dict[str, AssignedTopic]:
        partitions = {name: len(cluster.topics[name].partitions) for name in self.topics if name in cluster.topics}
        described = self._admin.describe_topics(TopicCollection(list(partitions)), request_timeout=seconds)
        states = {}
        for name, future in described.items() if partitions else ():
            try:
                topic_id = str(future.result().topic_id)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:  # deleted in between
                    continue
                raise
            found = (cluster.cluster_id or "") if topic_id == _NO_ID else topic_id
            states[name] = AssignedTopic(found, partitions[name])
        return states

    def _assign(self, states: dict[str, AssignedTopic], done: Offsets) -> set[str]:
        ids = {name: state.topic_id for name, state in states.items()}
        recreated = {name for (name, _), each in done.items() if not each.is_in(ids.get(name, each.topic_id))}
        for name in recreated:
            log.warning("%s was recreated; it is read from its beginning, and existing rows are kept", name)
            metrics.RECREATED.labels(topic=self.topics[name].base).inc()
        self._states, starts = states, list[TopicPartition]()
        for name, state in states.items():
            known = [done.get((name, partition)) for partition in range(state.partitions)]
            starts += [TopicPartition(name, number, state.start(each)) for number, each in enumerate(known)]
        self._consumer.assign(starts)
        return recreated

    def _error(self, error: KafkaError) -> None:
        if error.fatal() or error.code() in _REFUSED_CODES:
            raise MaterializerError(f"Kafka at {self._settings.bootstrap} refuses this client: {error.str()}")
        if error.str() != self._last_error:  # it repeats several times a second while a broker is down
            self._last_error = error.str()
            log.warning("Kafka: %s; continuing", error.str())

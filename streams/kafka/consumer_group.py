"""The workers' consumer group, as the broker reports it."""

from collections.abc import Sequence

from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from schemas.topics import CONSUMED_TOPICS
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.kafka.clients import client_config
from streams.kafka.topics import admin
from streams.settings import Settings

REQUEST_SECONDS = 10.0
WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN)


def members(settings: Settings, client: AdminClient | None = None) -> int | None:
    """Return the number of workers; None if the broker does not know."""
    client = client or admin(settings)
    try:
        described = client.describe_consumer_groups([settings.app_id], request_timeout=REQUEST_SECONDS)
        group = described[settings.app_id].result(REQUEST_SECONDS + 1)
    except KafkaException as error:
        if error.args[0].name() == "GROUP_ID_NOT_FOUND":
            return 0
        raise KafkaUnreachable(f"the group {settings.app_id} cannot be read: {error.args[0].str()}") from error
    except TimeoutError as error:
        raise KafkaUnreachable(f"{settings.bootstrap} does not describe the group {settings.app_id}") from error
    # The embedded broker keeps members that did not leave, and does not list them.
    return len(group.members) or (0 if group.state in WITHOUT_MEMBERS else None)


def committed(settings: Settings, partitions: Sequence[TopicPartition]) -> dict[tuple[str, int], int]:
    """Return the workers' committed offsets, or 0, by topic and partition."""
    # Not with an admin client: if the coordinator has just moved, librdkafka 2.16 dereferences a null pointer (#5040).
    consumer = Consumer(client_config(settings, **{"group.id": settings.app_id, "enable.auto.commit": False}))
    try:
        found = consumer.committed(list(partitions), timeout=REQUEST_SECONDS)
    finally:
        consumer.close()
    for each in found:
        if each.error is not None:
            raise KafkaException(each.error)
    return {(each.topic, each.partition): max(0, each.offset) for each in found}


def lag(settings: Settings, client: AdminClient, sources: Sequence[str] = CONSUMED_TOPICS) -> dict[TopicPartition, int]:
    """Return uncommitted records per source partition; keys hold the committed offset."""
    partitions = [
        TopicPartition(settings.topic(base), partition) for base in sources for partition in range(settings.partitions)
    ]
    # Ends are read last: an event's results are on the broker before its offset is committed.
    done = committed(settings, partitions)
    starts, ends = (
        client.list_offsets(dict.fromkeys(partitions, spec), request_timeout=REQUEST_SECONDS)
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
    )
    waiting = {}
    for tp in partitions:
        offset = done.get((tp.topic, tp.partition), 0)
        here = TopicPartition(tp.topic, tp.partition, offset)
        # Kafka may have deleted records that were never read.
        start, end = (each[tp].result(REQUEST_SECONDS).offset for each in (starts, ends))
        waiting[here] = max(0, end - max(offset, start))
    return waiting


def no_workers(settings: Settings) -> None:
    """Raise `StreamsError` if a worker runs, or may run."""
    count = members(settings)
    if count is None:
        raise StreamsError(
            f"there were workers of the group {settings.app_id}, and this broker does not report whether they still "
            "run. End `sager up` and start it again: its journal gives the topics back"
        )
    if count:
        raise StreamsError(
            f"workers of the group {settings.app_id} are running ({count}), and would write over it: end them first. "
            f"One that was killed counts for SAGER_SESSION_SECONDS ({settings.session_seconds:g}) more"
        )

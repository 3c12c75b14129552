"""The workers' consumer group, as the broker sees it."""

from collections.abc import Sequence

from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from streams.exceptions import BrokerUnreachable, StreamsError
from streams.kafka.clients import client_config
from streams.kafka.topics import admin
from streams.settings import Settings

REQUEST_SECONDS = 10.0
NOBODY = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN)


class WorkersRunning(StreamsError, RuntimeError):
    """What is to be done must not be done while workers run."""


def members(settings: Settings, client: AdminClient | None = None) -> int | None:
    """How many members the group has: one per worker.

    None where the broker does not know: the embedded one names nobody, and forgets nobody who did not say good-bye.

    Raises:
        BrokerUnreachable: the broker does not say.
    """
    client = client or admin(settings)
    try:
        asked = client.describe_consumer_groups([settings.app_id], request_timeout=REQUEST_SECONDS)
        group = asked[settings.app_id].result(REQUEST_SECONDS + 1)
        return len(group.members) or (0 if group.state in NOBODY else None)
    except KafkaException as error:
        if error.args[0].name() == "GROUP_ID_NOT_FOUND":
            return 0
        raise BrokerUnreachable(f"the group {settings.app_id} cannot be asked for: {error.args[0].str()}") from error
    except TimeoutError as error:
        raise BrokerUnreachable(f"{settings.bootstrap} does not tell of the group {settings.app_id}") from error


def committed(settings: Settings, partitions: Sequence[TopicPartition]) -> dict[tuple[str, int], int]:
    """The next offset that the workers have to do, by topic and partition; 0 where they have committed none.

    Asked by a consumer that never joins the group. An admin client must not be asked: where the group's coordinator
    has just moved to another broker, librdkafka reads through a null pointer, and the process is gone (librdkafka
    #5040, still in 2.16).

    Raises:
        KafkaException: the broker does not answer.
    """
    own = {"group.id": settings.app_id, "enable.auto.commit": False}
    consumer = Consumer(client_config(settings, **own))
    try:
        found = consumer.committed(list(partitions), timeout=REQUEST_SECONDS)
    finally:
        consumer.close()
    for each in found:
        if each.error is not None:
            raise KafkaException(each.error)
    return {(each.topic, each.partition): max(0, each.offset) for each in found}


def no_workers(settings: Settings) -> None:
    """Make sure that nobody works.

    Raises:
        WorkersRunning: somebody does.
        BrokerUnreachable: the broker does not say.
    """
    count = members(settings)
    if count is None:
        raise WorkersRunning(
            f"there were workers of the group {settings.app_id}, and this broker does not tell whether they still run. "
            "End `sager up` and start it again: its journal gives the topics back"
        )
    if count:
        raise WorkersRunning(
            f"workers of the group {settings.app_id} are running ({count}), and would write over it: end them first. "
            f"One that was killed counts for SAGER_SESSION_SECONDS ({settings.session_seconds:g}) more"
        )

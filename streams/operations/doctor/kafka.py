"""Check the broker, its topics, and the workers' group."""

from collections import Counter
from collections.abc import Iterator

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, ResourceType

from streams.exceptions import BrokerUnreachable
from streams.kafka import consumer_group as group
from streams.kafka.topics import SAFE_IN_SYNC, SAFE_REPLICATION, TopicState, inspect
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag

ANSWER_SECONDS = 8.0


def broker(settings: Settings, cluster: ClusterMetadata) -> Finding:
    """Check the number of brokers against the topics' replicas."""
    brokers = len(cluster.brokers)
    found = f"{settings.bootstrap}: {brokers} broker{'s'[: brokers != 1]}, SAGER_REPLICATION={settings.replication}"
    if settings.replication > brokers:
        return error("broker", found, "start more brokers, or lower SAGER_REPLICATION")
    if brokers >= SAFE_REPLICATION > settings.replication:
        todo = f"SAGER_REPLICATION={SAFE_REPLICATION}, so that new topics survive the loss of a broker"
        return warning("broker", found, todo)
    return ok("broker", found)


def topics(settings: Settings, client: AdminClient, cluster: ClusterMetadata) -> Iterator[Finding]:
    """Check each topic's existence, partitions and configuration."""
    states = inspect(settings)
    there = [state for state in states if state.partitions is not None]
    missing = ", ".join(state.name for state in states if state.partitions is None)
    wrong = [error("topics", f"missing: {missing}", "`sager topics --create`, or start a worker")] if missing else []
    wrong += [error("topics", f"{s.name} {' and '.join(s.differs)}", "see `sager topics`") for s in there if s.differs]
    wrong += _configured_otherwise(settings, client, there)
    yield from wrong
    if not wrong:
        yield ok("topics", f"{len(there)} as required, {settings.partitions} partitions per user-keyed one")


def _configured_otherwise(settings: Settings, client: AdminClient, states: list[TopicState]) -> Iterator[Finding]:
    """Warn of limits and times that differ: records are refused, lost earlier, or kept after an erasure."""
    in_sync = {"min.insync.replicas": str(SAFE_IN_SYNC)} if settings.replication >= SAFE_REPLICATION else {}
    wanted = {state.name: state.topic.config() | in_sync for state in states}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in wanted]
    for resource, future in client.describe_configs(resources, request_timeout=ANSWER_SECONDS).items():
        try:
            entries = future.result(ANSWER_SECONDS)
        except KafkaException:  # a broker that does not describe configurations cannot be checked
            continue
        for key, value in wanted[resource.name].items():
            has = entries[key].value if key in entries else None
            if has not in (None, value) and key != "cleanup.policy":
                yield warning("topics", f"{resource.name} has {key}={has}", f"the registry has {value}: alter it")


def workers(settings: Settings, client: AdminClient) -> Iterator[Finding]:
    """Check the number of workers, and the records that wait for them."""
    try:
        waiting = lag(settings, client)
        count = group.members(settings, client)
    except (KafkaException, BrokerUnreachable) as failed:
        yield warning("workers", f"the group {settings.app_id} cannot be read: {failed}", "check the access rules")
        return
    per_topic: Counter[str] = Counter()
    for tp, count_of in waiting.items():
        per_topic[tp.topic] += count_of
    records = ", ".join(f"{count:,} of {name}" for name, count in per_topic.items() if count)
    working = "members unknown" if count is None else str(count)
    found = f"{working} in the group {settings.app_id}; waiting: {records or 'nothing'}"
    if count == 0:
        yield (error if records else warning)("workers", found, "start `sager worker`")
    elif (count or 0) > settings.partitions:
        yield warning("workers", found, f"only {settings.partitions} of them have work, one per partition")
    else:
        yield ok("workers", found)

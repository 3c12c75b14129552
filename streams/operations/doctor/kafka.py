"""Check the broker, its topics, the workers' group, and the dead letters of the last day."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, ResourceType, TopicMetadata

from schemas.topics import Topic
from streams.exceptions import BrokerUnreachable
from streams.kafka import consumer_group as group
from streams.kafka.scanner import NoSuchTopic, Scanner, sent_at_ms
from streams.kafka.topics import SAFE_IN_SYNC, SAFE_REPLICATION, inspect
from streams.operations.dead_letters.reading import Letters
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag

ANSWER_SECONDS = 8.0
READ_SECONDS = 5.0
DAY_SECONDS = 24 * 3600


def broker(settings: Settings, cluster: ClusterMetadata) -> Iterator[Finding]:
    """Check the number of brokers against the topics' replicas."""
    brokers = len(cluster.brokers)
    named = f"cluster {cluster.cluster_id}" if cluster.cluster_id else "reachable"
    found = f"{settings.bootstrap}: {named}, {brokers} broker{'s'[: brokers != 1]}"
    replication = f"SAGER_REPLICATION={settings.replication}"
    if settings.replication > brokers:
        yield error("broker", f"{found}, but {replication}", "start more brokers, or lower it")
    elif brokers >= SAFE_REPLICATION > settings.replication:
        todo = f"SAGER_REPLICATION={SAFE_REPLICATION}, so that new topics survive the loss of a broker"
        yield warning("broker", f"{found}, {replication}", todo)
    else:
        yield ok("broker", found)


def topics(settings: Settings, client: AdminClient, cluster: ClusterMetadata) -> Iterator[Finding]:
    """Check each topic's existence, partitions, configuration and replicas."""
    states = inspect(settings)
    there = [state for state in states if state.partitions is not None]
    missing = [state.name for state in states if state.partitions is None]
    if missing and not there:
        todo = "`sager topics --create`, or start a worker"
        yield warning("topics", f"none with the prefix {settings.prefix!r}", todo)
        return
    wrong = [error("topics", f"missing: {', '.join(missing)}", "`sager topics --create`")] if missing else []
    wrong += [error("topics", f"{s.name} {' and '.join(s.differs)}", "see `sager topics`") for s in there if s.differs]
    configs = _configs(client, [state.name for state in there])
    for state in there:
        config = configs.get(state.name, {})
        wrong += _config(state.name, state.topic, config)
        wrong += _replicas(cluster.topics[state.name], config)
    yield from wrong
    if not wrong:
        yield ok("topics", f"{len(there)} as required, {settings.partitions} partitions per user-keyed one")


def _configs(client: AdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    found: dict[str, dict[str, str]] = {}
    for resource, future in client.describe_configs(resources, request_timeout=ANSWER_SECONDS).items():
        try:
            entries = future.result(ANSWER_SECONDS)
        except KafkaException:  # a broker that does not describe configurations cannot be checked
            continue
        found[resource.name] = {name: entry.value for name, entry in entries.items() if entry.value is not None}
    return found


def _config(name: str, topic: Topic, has: Mapping[str, str]) -> Iterator[Finding]:
    wanted = topic.config()

    def differs(key: str) -> int:
        """The sign of the actual value minus the wanted one; 0 where either is not set."""
        if key not in wanted or key not in has:
            return 0
        one, other = (float("inf") if value == "-1" else int(value) for value in (has[key], wanted[key]))
        return (one > other) - (one < other)

    if differs("max.message.bytes") < 0:
        todo = f"alter it to {wanted['max.message.bytes']}: larger records are dead-lettered"
        yield warning("topics", f"{name} has max.message.bytes={has['max.message.bytes']}", todo)
    if differs("retention.ms") < 0:
        todo = f"the default is {wanted['retention.ms']}; a shorter one limits how far back records can be read again"
        yield warning("topics", f"{name} has retention.ms={has['retention.ms']}", todo)
    if topic.compact and "delete" in has.get("cleanup.policy", "") and name.endswith(("skill-diffs", "card-diffs")):
        todo = "change its cleanup.policy to compact now: it is the log of truth, and Kafka deletes from it"
        yield error("topics", f"{name} has cleanup.policy={has['cleanup.policy']}", todo)
    if differs("max.compaction.lag.ms") > 0:
        todo = f"alter it to {wanted['max.compaction.lag.ms']}: erased data may stay in Kafka's files that long"
        yield warning("topics", f"{name} has max.compaction.lag.ms={has['max.compaction.lag.ms']}", todo)


def _replicas(topic: TopicMetadata, has: Mapping[str, str]) -> Iterator[Finding]:
    partitions = topic.partitions.values()
    headless = sorted(each.id for each in partitions if each.leader < 0)
    if headless:
        yield error("topics", f"{topic.topic} has partitions without a leader: {headless}", "check the brokers")
    behind = sorted(each.id for each in partitions if each.leader >= 0 and len(each.isrs) < len(each.replicas))
    if behind:
        yield warning("topics", f"{topic.topic} has out-of-sync replicas: {behind}", "check the brokers")
    copies = min((len(each.replicas) for each in partitions), default=0)
    in_sync = int(has.get("min.insync.replicas", SAFE_IN_SYNC))
    found = f"{topic.topic} has min.insync.replicas={in_sync} with {copies} replicas"
    if copies >= SAFE_REPLICATION and in_sync < SAFE_IN_SYNC:
        todo = f"alter it to {SAFE_IN_SYNC}: until then the loss of one broker may lose acknowledged records"
        yield warning("topics", found, todo)
    elif in_sync > copies > 0 and "min.insync.replicas" in has:
        yield error("topics", found, "lower it, or add replicas: no record is accepted")


def workers(settings: Settings, client: AdminClient) -> Iterator[Finding]:
    """Check the number of workers, their lag, and the age of the oldest record that waits."""
    try:
        waiting = lag(settings, client)
    except KafkaException as failed:
        yield error("workers", f"the lag cannot be read: {failed.args[0].str()}", "see the topics above")
        return
    per_topic: Counter[str] = Counter()
    for tp, records in waiting.items():
        per_topic[tp.topic] += records
    told = ", ".join(f"{count:,} of {name}" for name, count in per_topic.items() if count)
    try:
        count = group.members(settings, client)
    except BrokerUnreachable as failed:
        yield warning("workers", f"{failed}; waiting: {told or 'nothing'}", "check the broker's access rules")
        return
    working = "members unknown" if count is None else str(count)
    found = f"{working} in the group {settings.app_id}; waiting: {told or 'nothing'}"
    age = _oldest_seconds(settings, waiting) if told else 0.0
    if told:
        found += f", the oldest for {age:,.0f} s"
    if count == 0:
        yield (error if told else warning)("workers", found, "start `sager worker`")
    elif age > settings.watchdog_seconds:
        yield warning("workers", found, "they cannot keep up, or are blocked: check their logs; start more of them")
    elif (count or 0) > settings.partitions:
        yield warning("workers", found, f"only {settings.partitions} of them have work, one per partition")
    else:
        yield ok("workers", found)


def _oldest_seconds(settings: Settings, waiting: Mapping[TopicPartition, int]) -> float:
    """Return the age of the oldest unprocessed record on each topic's fullest partition."""
    fullest: dict[str, tuple[int, TopicPartition]] = {}
    for tp, count in waiting.items():
        if count > fullest.get(tp.topic, (0, tp))[0]:
            fullest[tp.topic] = (count, tp)
    now, oldest = time.time(), 0.0
    with Scanner(settings, READ_SECONDS) as scanner:
        for count, tp in fullest.values():
            start = max(0, scanner.end(tp) - count)
            first = next(scanner.read([TopicPartition(tp.topic, tp.partition, start)]), None)
            if first is not None and sent_at_ms(first):
                oldest = max(oldest, now - sent_at_ms(first) / 1000)
    return oldest


def dead_letters(settings: Settings) -> Iterator[Finding]:
    """Count the records refused in the last 24 hours and not replayed since, by reason."""
    since, give_up = int((time.time() - DAY_SECONDS) * 1000), time.monotonic() + READ_SECONDS
    reasons: dict[str, str] = {}
    replayed, stopped = set[str](), ""
    try:
        with Scanner(settings, READ_SECONDS) as scanner:
            for found in Letters(settings, scanner).all(since):
                if found.replayed_to is not None:
                    replayed.add(found.letter.event_id)
                elif found.refused_ms >= since:
                    reasons[found.letter.event_id] = found.letter.reason
                if time.monotonic() > give_up:
                    stopped = "at least "
                    break
    except NoSuchTopic:
        yield ok("dead letters", "there is no such topic yet")
        return
    counts = Counter(reason for name, reason in reasons.items() if name not in replayed)
    if counts:
        told = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
        todo = "`sager dead-letters list --since 24h`; fix the cause, then `sager dead-letters replay`"
        yield warning("dead letters", f"in the last 24 h {stopped}{told}", todo)
    else:
        yield ok("dead letters", "none in the last 24 h")

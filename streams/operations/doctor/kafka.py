"""Checks the broker, its topics, the workers' group and the dead letters of the last day."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, ResourceType, TopicMetadata

from operators.clocks import TOLERANCE
from schemas.topics import FROM_APPS
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
    """The cluster's identity, and whether it has enough brokers for the topics."""
    brokers = len(cluster.brokers)
    named = f"cluster {cluster.cluster_id}" if cluster.cluster_id else "reachable"
    found = f"{settings.bootstrap}: {named}, {brokers} broker{'s'[: brokers != 1]}"
    if settings.replication > brokers:
        yield error(
            "broker", f"{found}, but SAGER_REPLICATION={settings.replication}", "start more brokers, or lower it"
        )
    elif brokers >= SAFE_REPLICATION > settings.replication:
        todo = f"SAGER_REPLICATION={SAFE_REPLICATION}, so that new topics survive the loss of a broker"
        yield warning("broker", f"{found}, SAGER_REPLICATION={settings.replication}", todo)
    else:
        yield ok("broker", found)


def topics(settings: Settings, client: AdminClient, cluster: ClusterMetadata) -> Iterator[Finding]:
    """What is missing or different, topic by topic; one line if nothing is."""
    states = inspect(settings)
    there = [state for state in states if state.partitions is not None]
    missing = [state.name for state in states if state.partitions is None]
    if missing and not there:
        yield warning(
            "topics", f"none with the prefix {settings.prefix!r}", "`sager topics --create`, or start a worker"
        )
        return
    if missing:
        yield error("topics", f"missing: {', '.join(missing)}", "`sager topics --create`")
    yield from (
        error("topics", f"{s.name} {' and '.join(s.differs)}", "see `sager topics`") for s in there if s.differs
    )
    configs = _configs(client, [state.name for state in there])
    wrong = [
        each
        for state in there
        for each in (
            *_config(state.name, state.topic.config(), configs.get(state.name, {})),
            *_replicas(cluster.topics[state.name], configs.get(state.name, {})),
        )
    ]
    yield from wrong
    if not wrong and not missing and not any(state.differs for state in there):
        yield ok("topics", f"{len(there)} as required, {settings.partitions} partitions per user-keyed one")


def _configs(client: AdminClient, names: Iterable[str]) -> dict[str, dict[str, str]]:
    asked = client.describe_configs(
        [ConfigResource(ResourceType.TOPIC, name) for name in names], request_timeout=ANSWER_SECONDS
    )
    found: dict[str, dict[str, str]] = {}
    for resource, future in asked.items():
        try:
            entries = future.result(ANSWER_SECONDS)
        except KafkaException:
            # A broker that cannot or must not describe configurations cannot be checked.
            continue
        found[resource.name] = {name: entry.value for name, entry in entries.items() if entry.value is not None}
    return found


def _config(name: str, wanted: Mapping[str, str], has: Mapping[str, str]) -> Iterator[Finding]:
    limit, kept = has.get("max.message.bytes"), has.get("retention.ms")
    if limit is not None and int(limit) < int(wanted["max.message.bytes"]):
        todo = f"alter it to {wanted['max.message.bytes']}: larger records are dead-lettered"
        yield warning("topics", f"{name} has max.message.bytes={limit}", todo)
    if "max.compaction.lag.ms" in wanted:
        yield from _compaction(name, wanted, has)
    if kept is None or "retention.ms" not in wanted or kept == wanted["retention.ms"]:
        return
    found = f"{name} has retention.ms={kept}"
    if kept != "-1" and int(kept) < int(wanted["retention.ms"]):
        yield warning(
            "topics",
            found,
            f"the default is {wanted['retention.ms']}; a shorter one limits how far back records can be read again",
        )


def _compaction(name: str, wanted: Mapping[str, str], has: Mapping[str, str]) -> Iterator[Finding]:
    """Compacted topics that Kafka deletes from, or compacts too late."""
    if "delete" in has.get("cleanup.policy", "") and name.endswith(("skill-diffs", "card-diffs")):
        todo = "change its cleanup.policy to compact now: it is the log of truth, and Kafka deletes from it"
        yield error("topics", f"{name} has cleanup.policy={has['cleanup.policy']}", todo)
    longest = has.get("max.compaction.lag.ms")
    if longest is not None and int(longest) > int(wanted["max.compaction.lag.ms"]):
        todo = f"alter it to {wanted['max.compaction.lag.ms']}: forgotten data may stay in Kafka's files that long"
        yield warning("topics", f"{name} has max.compaction.lag.ms={longest}", todo)


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
    if copies >= SAFE_REPLICATION and in_sync < SAFE_IN_SYNC:
        todo = f"alter it to {SAFE_IN_SYNC}: until then the loss of one broker may lose acknowledged records"
        yield warning("topics", f"{topic.topic} has min.insync.replicas={in_sync} with {copies} replicas", todo)
    elif in_sync > copies > 0 and "min.insync.replicas" in has:
        todo = "lower it, or add replicas: no record is accepted"
        yield error("topics", f"{topic.topic} has min.insync.replicas={in_sync} with {copies} replicas", todo)


def workers(settings: Settings, client: AdminClient) -> Iterator[Finding]:
    """The workers, and how much they have to do."""
    try:
        waiting = lag(settings, client)
    except KafkaException as failed:
        yield error("workers", f"the lag cannot be read: {failed.args[0].str()}", "see the topics above")
        return
    per_topic: defaultdict[str, int] = defaultdict(int)
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
    if count == 0 and told:
        yield error("workers", found, "start `sager worker`")
    elif count == 0:
        yield warning("workers", found, "start `sager worker`")
    elif age > settings.watchdog_seconds:
        yield warning("workers", found, "they cannot keep up, or are blocked: check their logs; start more of them")
    elif (count or 0) > settings.partitions:
        yield warning("workers", found, f"only {settings.partitions} of them have work, one per partition")
    else:
        yield ok("workers", found)


def _oldest_seconds(settings: Settings, waiting: Mapping[TopicPartition, int]) -> float:
    """The age of the oldest unprocessed record on a topic's fullest partition."""
    fullest: dict[str, tuple[int, TopicPartition]] = {}
    for tp, count in waiting.items():
        if count > fullest.get(tp.topic, (0, tp))[0]:
            fullest[tp.topic] = (count, tp)
    now, oldest = time.time(), 0.0
    with Scanner(settings, READ_SECONDS) as scanner:
        for count, tp in fullest.values():
            end = scanner.end(tp)
            first = next(scanner.read([TopicPartition(tp.topic, tp.partition, max(0, end - count))]), None)
            if first is not None and sent_at_ms(first):
                oldest = max(oldest, now - sent_at_ms(first) / 1000)
    return oldest


def clocks(settings: Settings) -> Iterator[Finding]:
    """Records ahead of this machine's clock by Kafka's time: a clock has jumped, or differs."""
    latest_ms = int((time.time() + TOLERANCE.total_seconds()) * 1_000)
    ahead, give_up = set[str](), time.monotonic() + READ_SECONDS
    with Scanner(settings, READ_SECONDS) as scanner:
        for base in FROM_APPS:
            try:
                found = scanner.since(scanner.partitions(base), latest_ms)
            except NoSuchTopic:
                continue
            # The embedded broker finds no offset by time, so we read from the beginning.
            for message in scanner.read(found):
                if sent_at_ms(message) > latest_ms:
                    ahead.add(base)
                if base in ahead or time.monotonic() > give_up:
                    break
    if not ahead:
        yield ok("clocks", "no record is ahead of this machine's clock")
        return
    told = f"records are over five minutes ahead of this machine's clock, on {', '.join(sorted(ahead))}"
    todo = "set the clocks of producers, brokers and this machine by NTP; events sent meanwhile are kept and learned"
    yield warning("clocks", told, todo)


def dead_letters(settings: Settings) -> Iterator[Finding]:
    """How many records were refused in the last 24 hours, by reason, and not replayed since."""
    since, give_up = int((time.time() - DAY_SECONDS) * 1000), time.monotonic() + READ_SECONDS
    reasons: dict[str, str] = {}
    replayed: set[str] = set()
    stopped = ""
    with Scanner(settings, READ_SECONDS) as scanner:
        try:
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
    if not counts:
        yield ok("dead letters", "none in the last 24 h")
        return
    told = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    todo = "`sager dead-letters list --since 24h`; fix the cause, then `sager dead-letters replay`"
    yield warning("dead letters", f"in the last 24 h {stopped}{told}", todo)

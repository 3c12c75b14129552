"""What a deployment needs: cores, network, disk and memory, from its size and the constants. Pure arithmetic."""

import math
from dataclasses import dataclass

from benchmarks.capacity.constants import Constants, TopicSize
from schemas import TOPICS
from schemas.topics import Key, Topic

DAY = 86_400.0
YEAR_DAYS = 365
OF_ITEMS = (Key.ITEM, Key.ITEM_AND_DOMAIN)
HELD = ("skills", "slim-skills")
"""What the API follows, to answer within milliseconds."""
ENTRY_BYTES = 250
"""What an entry of a table costs in memory beside its key and value: two objects and a place in a dictionary."""


@dataclass(frozen=True)
class Size:
    """How large a deployment is.

    Attributes:
        users: who have a skill, in one domain each.
        choices_per_day: of all of them.
        items: of the catalogue.
        replication: copies of every partition.
        peak: choices per second in the busiest hour over those of an average one.
        utilisation: how much of a core may be used at the peak.
    """

    users: int
    choices_per_day: float
    items: int = 100_000
    replication: int = 3
    peak: float = 3.0
    utilisation: float = 0.6

    @property
    def per_second(self) -> float:
        """Choices per second on average."""
        return self.choices_per_day / DAY


@dataclass(frozen=True)
class Needs:
    """What it needs. Cores are busy ones on average unless said otherwise; network and disk hold all copies.

    Attributes:
        worker_cores: of all workers, with the graph.
        worker_cores_without_graph: the same without it.
        worker_cores_with_llm: with one LLM call per choice.
        workers: processes to start, so that each has room at the peak: one uses at most one core.
        materializer_cores: of the materializer, which is one process.
        broker_cores: of all brokers, as far as the embedded one tells.
        network_in: bytes per second into brokers, from apps, workers and other brokers.
        network_out: bytes per second out of brokers, to workers, the materializer, apps and other brokers.
        events_disk: bytes of topics that keep records for a time.
        log_disk: bytes that the log of skills grows by in a year.
        states_disk: bytes of compacted topics, with a day of writes that compaction has not reached.
        tables: bytes of the workers' tables, on their disks with RocksDB.
        tables_memory: bytes of memory that the same tables take without RocksDB.
        items_each: bytes of the graph's items, which every worker has whole: on disk, or so much more in memory.
        api: bytes of memory of users' skills and slim skills, all of which an API holds.
        duckdb: bytes that the analysts' file grows by in a year; the live one and the published one are two.
    """

    worker_cores: float
    worker_cores_without_graph: float
    worker_cores_with_llm: float
    workers: int
    materializer_cores: float
    broker_cores: float
    network_in: float
    network_out: float
    events_disk: float
    log_disk: float
    states_disk: float
    tables: float
    tables_memory: float
    items_each: float
    api: float
    duckdb: float


def needs(size: Size, constants: Constants) -> Needs:
    """What a deployment of this size needs.

    Users are taken for settled, and all of them for known: both make states larger than they are.
    """
    rate, found = size.per_second, [(TOPICS[base], each) for base, each in constants.topics.items()]
    cores = rate * constants.worker_cpu_ms / 1_000
    written = rate * sum(each.stored_per_choice for _, each in found)
    workers = max(1, math.ceil(cores * size.peak / size.utilisation))
    read = rate * sum(each.stored_per_choice * _readers(topic, workers) for topic, each in found)
    copies = (size.replication - 1) * written
    tables = [(topic, each, _keys(topic, each, size, constants)) for topic, each in found if is_table(topic)]
    return Needs(
        worker_cores=cores,
        worker_cores_without_graph=rate * constants.worker_cpu_ms_without_graph / 1_000,
        worker_cores_with_llm=rate * constants.worker_cpu_ms_with_llm / 1_000,
        workers=workers,
        materializer_cores=rate * constants.materializer_cpu_ms / 1_000,
        broker_cores=rate * constants.broker_cpu_ms / 1_000 * size.replication,
        network_in=written + copies,
        network_out=read + copies,
        events_disk=size.replication
        * sum(size.choices_per_day * each.stored_per_choice * _days(topic) for topic, each in found),
        log_disk=size.replication
        * sum(size.choices_per_day * each.stored_per_choice * YEAR_DAYS for topic, each in found if _is_log(topic)),
        states_disk=size.replication
        * sum(
            _keys(topic, each, size, constants) * each.bytes_per_key * each.stored_share
            + size.choices_per_day * each.stored_per_choice
            for topic, each in found
            if topic.compact and not _is_log(topic)
        ),
        tables=sum(keys * each.bytes_per_key for _, each, keys in tables),
        tables_memory=sum(keys * (each.bytes_per_key + ENTRY_BYTES) for _, each, keys in tables),
        items_each=sum(
            _keys(topic, each, size, constants) * (each.bytes_per_key + ENTRY_BYTES)
            for topic, each in found
            if _is_shared(topic)
        ),
        api=sum(
            _keys(topic, each, size, constants) * (each.bytes_per_key + constants.held_bytes)
            for topic, each in found
            if topic.base in HELD
        ),
        duckdb=size.choices_per_day * YEAR_DAYS * constants.duckdb_bytes_per_choice,
    )


def is_table(topic: Topic) -> bool:
    """Whether workers hold what it says, each its partitions."""
    return topic.compact and (topic.internal or topic.base in ("skills", "cards", "receipts")) and not _is_shared(topic)


def _is_shared(topic: Topic) -> bool:
    """Whether every worker holds all of it."""
    return topic.compact and topic.internal and topic.key in OF_ITEMS


def _is_log(topic: Topic) -> bool:
    """Whether every record is kept for ever: it is compacted, and no key comes twice."""
    return topic.compact and topic.key in (Key.USER_DOMAIN_AND_VERSION, Key.USER_AND_VERSION)


def _days(topic: Topic) -> float:
    """For how many days records are kept; none where the newest of each key is."""
    if topic.compact:
        return 0.0
    return YEAR_DAYS if topic.retention is None else topic.retention.total_seconds() / DAY


def _keys(topic: Topic, each: TopicSize, size: Size, constants: Constants) -> float:
    """How many keys there are at this size."""
    if topic.key in OF_ITEMS:
        return size.items * each.keys / constants.items
    return size.users * each.keys / constants.users


def _readers(topic: Topic, workers: int) -> int:
    """Who reads a topic: a worker what is worked off, all of them items, the materializer what is public."""
    if _is_shared(topic):
        return workers
    return int(topic.worked_off) + int(not topic.internal) + int(topic.base == "slim-skills")

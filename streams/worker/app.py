"""The Faust app: settings decided by measurement, raw topics, eight tables, seven agents."""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import faust

from schemas.topics import TOPICS
from streams import private
from streams.exceptions import MissingExtra
from streams.kafka.security import protocol_of, tls_context
from streams.settings import By, RankerName, ReasonerName, Settings, Store
from streams.worker.agents import contrast, evolve, listen, prior, propagate, rank, weigh
from streams.worker.deps import Deps
from streams.worker.producer import Producer
from streams.worker.reasoning.llm import listener_of, models_of, reader_of, reasoner_of
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.intake import raw_topic
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.outlet import delivery_seconds
from streams.worker.runtime.reader import Reader
from streams.worker.runtime.recovery import QuietTableManager
from streams.worker.runtime.repairs import DeliveredTable, EmbeddedApp, RepairedApp
from streams.worker.tables import Tables

TABLES = ("skills", "profiles", "open-rankings", "memories", "receipts", "weights", "cards", "conversations")
NEVER_SECONDS = 7 * 86_400.0
REQUEST_BYTES = 4 * 1024 * 1024
RECORDS_AT_ONCE = 5_000
"""A fetch is decompressed as its records are taken: all at once, 4 MB a partition become gigabytes."""


class Worker(NamedTuple):
    """A worker's parts: the app with all agents, and what the agents share."""

    app: faust.App
    tables: Tables
    producer: Producer
    deps: Deps


def create(settings: Settings) -> Worker:
    """Return the worker's parts, with an app of all agents that is not started yet."""
    datadir = settings.data_dir / "worker"
    private.make(datadir)
    app, deps = _app(settings, datadir), Deps(settings)
    producer = Producer(app, settings)
    tables = Tables({base: _table(app, settings, base) for base in TABLES}, producer)
    worker = Worker(app, tables, producer, deps)
    rank.attach(*worker, models_of(settings))
    contrast.attach(*worker)
    propagate.attach(*worker)
    weigh.attach(*worker)
    reasoning = Reasoning(
        reasoner_of(settings),
        settings.on_llm_failure,
        app.reader.touch,
        settings.evolve_mode,
        reader_of(settings),
        settings.in_flight if settings.reasoner is ReasonerName.LLM else None,
        listener_of(settings),
        deps.privacy,
    )
    listener = listen.attach(*worker, reasoning.listen)
    prior.attach(*worker, evolve.attach(*worker, reasoning, listener))
    return worker


def _app(settings: Settings, datadir: Path) -> faust.App:
    if settings.store is Store.ROCKSDB and find_spec("rocksdict") is None:
        raise MissingExtra(
            "SAGER_STORE=rocksdb needs an extra: pip install '.[rocksdb]' in a clone of the repository, "
            "or set SAGER_STORE=memory"
        )
    kind = EmbeddedApp if settings.embedded else RepairedApp
    under_way = delivery_seconds(settings.session_seconds)
    rebalance_seconds = max(settings.rebalance_seconds, longest_question_seconds(settings)) + under_way
    app = kind(
        settings.app_id,
        broker=[f"kafka://{server.strip()}" for server in settings.bootstrap.split(",")],
        broker_credentials=credentials(settings),
        store=f"{settings.store.value}://",
        datadir=str(datadir),
        # A table's changelog must have as many partitions as its source, or every write is lost.
        topic_partitions=settings.partitions,
        topic_replication_factor=settings.replication,
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=settings.standby_replicas,
        TableManager=QuietTableManager,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=min(1.0, settings.session_seconds / 8),
        broker_rebalance_timeout=rebalance_seconds,
        broker_commit_interval=settings.commit_seconds,
        # Faust counts time without a fetch, and never comes back from it: our own watchdog looks at progress.
        broker_max_poll_interval=NEVER_SECONDS,
        stream_wait_empty=True,
        consumer_max_fetch_size=REQUEST_BYTES,
        broker_max_poll_records=RECORDS_AT_ONCE,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
        web_tables_enabled=False,
    )
    app.reader = Reader(app)
    app.membership = Membership(settings.session_seconds, rebalance_seconds, under_way)
    return app


def credentials(settings: Settings) -> faust.SASLCredentials | faust.SSLCredentials | None:
    """Return the credentials of Faust's consumer; None for a plain connection."""
    context = tls_context(settings)
    if protocol_of(settings).sasl:
        password = settings.kafka_sasl_password
        return faust.SASLCredentials(
            username=settings.kafka_sasl_username,
            password=password.get_secret_value() if password else None,
            mechanism=settings.kafka_sasl_mechanism.value,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None


def longest_question_seconds(settings: Settings) -> float:
    """Return how long one event can keep a model busy, with all retries: partitions and the watchdog wait for it."""
    calls, pauses = settings.llm_attempts + 1, settings.llm_attempts
    question = calls * settings.llm_timeout_seconds + pauses * settings.llm_retry_seconds
    evolving = int(settings.reasoner is ReasonerName.LLM)
    orders = settings.rank_orders + 1 if settings.ranker is not RankerName.DETERMINISTIC else 0
    ranking = (settings.extract_by is By.LLM) + orders
    return question * max(evolving, ranking)


def _table(app: faust.App, settings: Settings, base: str) -> DeliveredTable:
    """Return a table whose changelog is the registry's topic of that name."""
    table = DeliveredTable(
        app,
        name=base,
        key_type=bytes,
        value_type=bytes,
        partitions=settings.partitions,
        changelog_topic=raw_topic(app, settings, base, compacting=True, partitions=settings.partitions, internal=True),
        help=TOPICS[base].model.__doc__,
    )
    app.tables.add(table)
    return table

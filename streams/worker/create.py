"""The Faust app of a worker: settings decided by measurement, eight tables, eight agents."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import faust

from schemas.topics import TOPICS
from streams import private
from streams.exceptions import MissingExtra
from streams.kafka.security import protocol_of, tls_context
from streams.settings import ReasonerName, Settings, Store
from streams.worker import lifecycle
from streams.worker.agents import contrast, evolve, listen, prior, propagate, rank, weigh
from streams.worker.deps import Deps
from streams.worker.reasoning.llm import listener_of, models_of, reader_of, reasoner_of
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.dispatch import RegisteredTopic
from streams.worker.runtime.fence import Membership
from streams.worker.runtime.producer import Producer, delivery_seconds
from streams.worker.runtime.recovery import QuietTableManager, WorkerApp
from streams.worker.runtime.state import LogFirstTable
from streams.worker.tables import Tables

TABLES = ("skills", "profiles", "open-rankings", "memories", "receipts", "weights", "cards", "conversations")
NEVER_SECONDS = 7 * 86_400.0
REQUEST_BYTES = 4 * 1024 * 1024


class Worker(NamedTuple):
    """A worker's parts: the app with all agents, and what the agents share."""

    app: WorkerApp
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
    app.prepare_by(partial(lifecycle.prepare, app, deps))
    lifecycle.add_tasks(app, tables, deps)
    rank.define(*worker, models_of(settings))
    contrast.define(*worker)
    propagate.define(*worker)
    weigh.define(*worker)
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
    listener = listen.define(*worker, reasoning.listen)
    prior.define(*worker, evolve.define(*worker, reasoning, listener))
    return worker


def _app(settings: Settings, datadir: Path) -> WorkerApp:
    if settings.store is Store.ROCKSDB and find_spec("rocksdict") is None:
        raise MissingExtra(
            "SAGER_STORE=rocksdb needs an extra: pip install '.[rocksdb]' in a clone of the repository, "
            "or set SAGER_STORE=memory"
        )
    under_way = delivery_seconds(settings.session_seconds)
    rebalance_seconds = max(settings.rebalance_seconds, lifecycle.longest_question_seconds(settings)) + under_way
    return WorkerApp(
        settings,
        Membership(settings.session_seconds, rebalance_seconds, under_way),
        broker=[f"kafka://{server.strip()}" for server in settings.bootstrap.split(",")],
        broker_credentials=credentials(settings),
        store=f"{settings.store.value}://",
        datadir=str(datadir),
        # A table's changelog must have as many partitions as its source, or every write is lost.
        topic_partitions=settings.partitions,
        topic_replication_factor=settings.replication,
        topic_disable_leader=True,
        table_standby_replicas=settings.standby_replicas,
        TableManager=QuietTableManager,
        Worker=lifecycle.PunctualWorker,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=min(1.0, settings.session_seconds / 8),
        broker_rebalance_timeout=rebalance_seconds,
        broker_commit_interval=settings.commit_seconds,
        # Faust counts time without a fetch, and never comes back from it: our own watchdog looks at progress.
        broker_max_poll_interval=NEVER_SECONDS,
        stream_wait_empty=True,
        consumer_max_fetch_size=REQUEST_BYTES,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
        web_tables_enabled=False,
    )


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


def _table(app: faust.App, settings: Settings, base: str) -> LogFirstTable:
    """Return a table whose changelog is the registry's topic of that name."""
    table = LogFirstTable(
        app,
        name=base,
        key_type=bytes,
        value_type=bytes,
        partitions=settings.partitions,
        changelog_topic=RegisteredTopic(app, topics=[settings.topic(base)], compacting=True, internal=True),
        help=(TOPICS[base].model.__doc__ or "").partition("\n")[0],
    )
    app.tables.add(table)
    return table

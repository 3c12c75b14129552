"""Creates and runs a worker: Faust app, tables, agents, background tasks."""

import asyncio
import gc
import logging
import time
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import faust

from operators.tokens import count_tokens
from schemas import TOPICS, ItemMemory
from streams import permissions, shutdown
from streams.exceptions import MissingExtra
from streams.kafka import topics
from streams.kafka.clients import protocol_of, tls_context
from streams.pseudonyms import FILE, is_shared
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.agents import contrast, enrich, evolve, listen, prior, propagate, rank, weigh
from streams.worker.deps import Deps, Worker
from streams.worker.reasoning.llm import (
    asks_models,
    close_clients,
    conversation_reader,
    correction_reader,
    enricher_of,
    models_of,
    reasoner_of,
)
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.batches import RegisteredTopic
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.producer import Producer, delivery_seconds
from streams.worker.runtime.recovery import BatchTableManager, WorkerApp
from streams.worker.runtime.state import LogFirstTable
from streams.worker.runtime.watchdog import Watchdog, WorkerHealth, recovery_state
from streams.worker.tables import Tables

logger = logging.getLogger("sager.worker")

TABLES = ("skills", "profiles", "open-rankings", "memories", "receipts", "weights", "cards", "conversations")
MAX_POLL_SECONDS = 7 * 86_400.0
REQUEST_BYTES = 4 * 1024 * 1024
# A fetch is decompressed as its records are taken: without a limit, 4 MB per partition become gigabytes.
RECORDS_PER_FETCH = 5_000
MARGIN_SECONDS, MEASURE_SECONDS = 30.0, 10.0
# Python's default threshold of 700 starts the garbage collector several times per event.
GC_THRESHOLDS = (100_000, 20, 10)
REPEAT_SECONDS = 10.0
# Without a broker, aiokafka logs each attempt: about 100 lines per second.
REPETITIVE = ("aiokafka", "mode.timers")


def create(settings: Settings) -> Worker:
    """Return a worker whose app has all agents and is not started."""
    datadir = settings.data_dir / "worker"
    permissions.make_private(datadir)
    app, deps = _app(settings, datadir), Deps(settings)
    producer = Producer(app, settings)
    tables = Tables({base: _table(app, settings, base) for base in TABLES}, producer)
    worker = Worker(app, tables, producer, deps)
    app.prepare = cache(partial(prepare, app, deps))
    add_tasks(app, tables, deps)
    models = models_of(settings)
    rank.define(worker, models)
    contrast.define(worker)
    propagate.define(worker)
    weigh.define(worker)
    reasoning = Reasoning(
        reasoner_of(settings),
        settings.on_llm_failure,
        app.reader.touch,
        settings.evolve_mode,
        correction_reader(settings),
        settings.in_flight if asks_models(settings) else None,
        conversation_reader(settings),
        deps.privacy,
        models.extract,
    )
    if (enricher := enricher_of(settings)) is not None:
        enrich.define(worker, reasoning, enricher)
    listener = listen.define(worker, reasoning.listen)
    prior.define(worker, evolve.define(worker, reasoning, listener))
    return worker


def _app(settings: Settings, datadir: Path) -> WorkerApp:
    if settings.store == "rocksdb" and find_spec("rocksdict") is None:
        raise MissingExtra(
            "SAGER_STORE=rocksdb needs an extra: pip install '.[rocksdb]' in a clone of the repository, "
            "or set SAGER_STORE=memory"
        )
    under_way = delivery_seconds(settings.session_seconds)
    rebalance_seconds = max(settings.rebalance_seconds, max_model_seconds(settings)) + under_way
    return WorkerApp(
        settings,
        Membership(settings.session_seconds, rebalance_seconds, under_way),
        broker=[f"kafka://{server.strip()}" for server in settings.bootstrap.split(",")],
        broker_credentials=credentials(settings),
        store=f"{settings.store}://",
        datadir=str(datadir),
        # A changelog with fewer partitions than its source would lose writes.
        topic_partitions=settings.partitions,
        topic_replication_factor=settings.replication,
        topic_disable_leader=True,
        table_standby_replicas=settings.standby_replicas,
        TableManager=BatchTableManager,
        Worker=GracefulWorker,
        broker_session_timeout=settings.session_seconds,
        broker_heartbeat_interval=min(1.0, settings.session_seconds / 8),
        broker_rebalance_timeout=rebalance_seconds,
        broker_commit_interval=settings.commit_seconds,
        # Off: Faust counts time without a fetch, and does not recover from exceeding it. The watchdog checks progress.
        broker_max_poll_interval=MAX_POLL_SECONDS,
        stream_wait_empty=True,
        consumer_max_fetch_size=REQUEST_BYTES,
        broker_max_poll_records=RECORDS_PER_FETCH,
        consumer_auto_offset_reset="earliest",
        web_enabled=False,
        web_tables_enabled=False,
    )


def credentials(settings: Settings) -> faust.SASLCredentials | faust.SSLCredentials | None:
    """Return the credentials for Faust's clients; None for a plain connection."""
    context = tls_context(settings)
    if protocol_of(settings).sasl:
        password = settings.kafka_sasl_password
        return faust.SASLCredentials(
            username=settings.kafka_sasl_username,
            password=password.get_secret_value() if password else None,
            mechanism=settings.kafka_sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None


def _table(app: faust.App, settings: Settings, base: str) -> LogFirstTable:
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


def prepare(app: Any, deps: Deps) -> None:
    """Create topics, read followed topics and warm up; blocks."""
    health = app.health
    health.step = "checking the topics"
    if created := topics.ensure(deps.settings):
        logger.info("created %s", ", ".join(created))
    if not is_shared(deps.settings):
        logger.warning(
            "neither SAGER_PSEUDONYM_KEY nor SAGER_CHAIN_KEY is set: workers that do not share %s give one user "
            "several pseudonyms in the graph",
            deps.settings.data_dir / FILE,
        )
    health.step = "reading the global skills"
    deps.global_skills.read_all()
    health.step = "reading the weights"
    deps.learned_weights.read_all()
    health.step = "reading the items of the graph"
    deps.items.start()
    health.step = "reading the catalogue"
    deps.catalogue.read_all()
    # The tokenizer takes half a second to load on first use. The group must not wait for that.
    count_tokens("")
    health.app, health.step = app, ""


def max_model_seconds(settings: Settings) -> float:
    """Return how long one event can wait for a model, with retries."""
    # A rebalance and the watchdog must allow for this time.
    calls, pauses = settings.llm_attempts + 1, settings.llm_attempts
    question = calls * settings.llm_timeout_seconds + pauses * settings.llm_retry_seconds
    evolving = (settings.reasoner == "llm") + (settings.extract_by == "llm")
    orders = settings.rank_orders + 1 if settings.ranker != "deterministic" else 0
    ranking = (settings.extract_by == "llm") + orders
    return question * max(evolving, ranking, settings.enrich == "llm")


def add_tasks(app: Any, tables: Tables, deps: Deps) -> None:
    """Add the tasks: watchdog, state metrics, garbage collection."""
    metrics.LLM_BUDGET.set(deps.settings.llm_daily_budget)

    async def start_watchdog() -> None:
        app.reader.touch()
        settings = deps.settings
        patience = max(settings.watchdog_seconds, max_model_seconds(settings) + MARGIN_SECONDS)
        patient = settings.model_copy(update={"watchdog_seconds": patience})
        state, beats = partial(recovery_state, app), lambda: app.health.beats
        assigned = app.consumer.assignment
        watchdog = Watchdog(patient, lambda: app.reader.progressed, assigned, state=state, beats=beats)
        watchdog.start()
        app.health.watchdog = watchdog
        logger.info("watching for lag without progress for %.0f s", patience)

    async def measure_state() -> None:
        while True:
            try:
                metrics.STATE_ENTRIES.labels(ItemMemory.TOPIC).set(deps.items.store.entries())
                for name, table in tables.by_name.items():
                    metrics.STATE_ENTRIES.labels(name).set(table.data.entries())
            except Exception as error:  # a task that raises ends the worker
                logger.warning("cannot measure the tables: %s", error)
            await asyncio.sleep(MEASURE_SECONDS)

    async def tune_garbage_collector() -> None:
        # Imports, agents and recovered state live as long as the process, so the collector need not visit them. Events
        # leave few cycles.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)

    for task in (tune_garbage_collector, start_watchdog, measure_state):
        app.task(task)


class GracefulWorker(faust.Worker):
    """A Faust worker that ends in time, even without a broker."""

    async def on_first_start(self) -> None:
        """Start the heartbeat of the event loop."""
        self.app.health.start_heartbeat(self.loop)
        await super().on_first_start()

    async def on_shutdown(self) -> None:
        """Close the connections to models."""
        await super().on_shutdown()
        await close_clients()

    def _schedule_shutdown(self, signal: Any) -> None:
        seconds = self.app.settings.shutdown_seconds
        self.app.health.is_ending = True
        shutdown.start(seconds)
        logger.info("%s: finishing events in flight, for at most %.0f s", signal.name, seconds)
        super()._schedule_shutdown(signal)


def run(settings: Settings, health: WorkerHealth) -> None:
    """Run one worker until SIGTERM or SIGINT, then finish events in flight."""
    app = create(settings).app
    app.health = health
    # Not in Faust's event loop, so that the user sees an error without a traceback.
    app.prepare()
    # With warn or error, Faust sets the root logger to DEBUG.
    worker = GracefulWorker(app, loglevel="info", redirect_stdouts=False, override_logging=False, quiet=True)
    for name in ("faust", "mode", "aiokafka", "streams.worker.runtime.recovery"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(RateLimitFilter())
    worker.execute_from_commandline()


class RateLimitFilter(logging.Filter):
    """Passes a message of these loggers once per ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[tuple[str, str], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true to log the record."""
        if record.exc_info or not record.name.startswith(REPETITIVE):
            return True
        message, now = (record.name, str(record.msg)), time.monotonic()
        if now - self._logged.get(message, float("-inf")) < REPEAT_SECONDS:
            return False
        self._logged[message] = now
        return True

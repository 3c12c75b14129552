"""The life of a worker beside its agents: steps before it joins its group, tasks, and its end."""

import asyncio
import gc
import logging
from functools import partial
from typing import Any

import faust

from operators.tokens import count_tokens
from schemas import ItemMemory
from streams import shutdown
from streams.kafka import topics
from streams.pseudonyms import FILE, is_shared
from streams.settings import By, RankerName, ReasonerName, Settings
from streams.worker import metrics
from streams.worker.deps import Deps
from streams.worker.reasoning.llm import close_clients
from streams.worker.runtime.watchdog import Watchdog, standing_of
from streams.worker.tables import Tables

logger = logging.getLogger("sager.worker")

MARGIN_SECONDS, MEASURE_SECONDS = 30.0, 10.0
COLLECT_AFTER = (100_000, 20, 10)
"""Thresholds of the garbage collector's generations. Python's own 700 start it several times per event."""


def prepare(app: Any, deps: Deps) -> None:
    """Do what a worker needs before it joins its group; blocks until it is done."""
    health = app.health
    health.starts("looking at the topics")
    make_topics(deps.settings)
    health.starts("reading the global skills")
    deps.global_skills.start()
    health.starts("reading the weights")
    deps.learned_weights.start()
    health.starts("reading the items of the graph")
    deps.items.start()
    # The tokenizer reads its table on first use, for half a second: not while a group waits for this worker.
    count_tokens("")
    health.runs(app)


def make_topics(settings: Settings) -> None:
    """Create missing topics, and warn if users would get several pseudonyms."""
    made = topics.ensure(settings)
    if made:
        logger.info("created %s", ", ".join(made))
    if not is_shared(settings):
        logger.warning(
            "neither SAGER_PSEUDONYM_KEY nor SAGER_CHAIN_KEY is set: workers that do not share %s give one user "
            "several pseudonyms in the graph",
            settings.data_dir / FILE,
        )


def longest_question_seconds(settings: Settings) -> float:
    """Return how long one event can keep a model busy, with all retries: partitions and the watchdog wait for it."""
    calls, pauses = settings.llm_attempts + 1, settings.llm_attempts
    question = calls * settings.llm_timeout_seconds + pauses * settings.llm_retry_seconds
    evolving = int(settings.reasoner is ReasonerName.LLM)
    orders = settings.rank_orders + 1 if settings.ranker is not RankerName.DETERMINISTIC else 0
    ranking = (settings.extract_by is By.LLM) + orders
    return question * max(evolving, ranking)


def add_tasks(app: Any, tables: Tables, deps: Deps) -> None:
    """Add the tasks that start with the app: Faust makes its consumer in the thread that asks for it first."""
    metrics.LLM_BUDGET.set(deps.settings.llm_daily_budget)

    def assigned() -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in app.consumer.assignment()}

    async def on_guard() -> None:
        app.reader.touch()
        settings = deps.settings
        patience = max(settings.watchdog_seconds, longest_question_seconds(settings) + MARGIN_SECONDS)
        patient = settings.model_copy(update={"watchdog_seconds": patience})
        standing, beats = partial(standing_of, app), lambda: app.health.beats
        watchdog = Watchdog(patient, lambda: app.reader.progressed, assigned, standing=standing, beats=beats)
        watchdog.start()
        app.health.guarded_by(watchdog)
        logger.info("watching for lag without progress for %.0f s", patience)

    async def measure_state() -> None:
        while True:
            try:
                sizes = {name: table.data.size() for name, table in tables.by_name.items()}
                sizes[ItemMemory.TOPIC] = deps.items.store.size()
                for name, (entries, size) in sizes.items():
                    metrics.STATE_ENTRIES.labels(name).set(entries)
                    metrics.STATE_BYTES.labels(name).set(size)
            except Exception as error:  # a task that raises ends the worker
                logger.warning("cannot measure the tables: %s", error)
            await asyncio.sleep(MEASURE_SECONDS)

    async def collect_seldom() -> None:
        # The objects of imports, agents and recovery stay for good, so the collector need not visit them again. Events
        # leave few cycles, and reference counts free the rest at once.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)

    for task in (collect_seldom, on_guard, measure_state):
        app.task(task)


class PunctualWorker(faust.Worker):
    """A Faust worker that ends in time after a signal, also without Kafka: Faust would wait to commit."""

    async def on_first_start(self) -> None:
        """Observe the event loop from its first turn on."""
        self.app.health.beat(self.loop)
        await super().on_first_start()

    async def on_shutdown(self) -> None:
        """Close the connections to models."""
        await super().on_shutdown()
        await close_clients()

    def _schedule_shutdown(self, signal: Any) -> None:
        seconds = self.app.settings.shutdown_seconds
        self.app.health.ends()
        shutdown.begin(seconds)
        logger.info("%s: finishing what is in flight, for at most %.0f s", signal.name, seconds)
        super()._schedule_shutdown(signal)

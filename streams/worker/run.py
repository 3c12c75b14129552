"""`sager worker`: checks, then Faust until a signal comes."""

import asyncio
import gc
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import faust

from operators.tokens import count_tokens
from schemas import ItemMemory
from streams import shutdown
from streams.kafka import topics
from streams.pseudonyms import FILE, is_shared
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.app import Worker, create, longest_question_seconds
from streams.worker.reasoning.llm import close_clients
from streams.worker.runtime.health import WorkerHealth, standing_of
from streams.worker.runtime.watchdog import Watchdog

logger = logging.getLogger("sager.worker")

MARGIN_SECONDS, MEASURE_SECONDS, REPEAT_SECONDS = 30.0, 10.0, 10.0
REPETITIVE = ("aiokafka", "mode.timers")
"""Without a broker aiokafka logs each of its attempts, some 100 lines a second for as long as that lasts."""
COLLECT_AFTER = (100_000, 20, 10)
"""Thresholds of the garbage collector's generations. Python's own 700 start it several times per event."""


def run(settings: Settings, health: WorkerHealth) -> None:
    """Run one worker until SIGTERM or SIGINT; in-flight events are finished first."""
    health.starts("looking at the topics")
    made = topics.ensure(settings)
    if made:
        logger.info("created %s", ", ".join(made))
    if not is_shared(settings):
        logger.warning(
            "neither SAGER_PSEUDONYM_KEY nor SAGER_CHAIN_KEY is set: workers that do not share %s give one user "
            "several pseudonyms in the graph",
            settings.data_dir / FILE,
        )
    worker = create(settings)
    app, deps = worker.app, worker.deps
    health.starts("reading the global skills")
    deps.global_skills.start()
    health.starts("reading the weights")
    deps.learned_weights.start()
    health.starts("reading the items of the graph")
    deps.items.start()
    # The tokenizer reads its table on first use, for half a second: not while a group waits for this worker.
    count_tokens("")
    health.runs(app)
    metrics.LLM_BUDGET.set(settings.llm_daily_budget)
    _add_tasks(worker, health)
    # Not warn or error: with those Faust sets the root logger to DEBUG.
    logs: dict[str, Any] = {"loglevel": "info", "redirect_stdouts": False, "override_logging": False, "quiet": True}
    service = PunctualWorker(app, health, settings.shutdown_seconds, **logs)
    for name in ("faust", "mode", "aiokafka", "streams.worker.runtime.repairs"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(RateLimitFilter(REPETITIVE))
    service.execute_from_commandline()


def _add_tasks(worker: Worker, health: WorkerHealth) -> None:
    """Add the tasks that start with the app: Faust makes its consumer in the thread that asks for it first."""
    app, deps, reader = worker.app, worker.deps, worker.app.reader

    def assigned() -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in app.consumer.assignment()}

    async def on_guard() -> None:
        reader.touch()
        settings = deps.settings
        patience = max(settings.watchdog_seconds, longest_question_seconds(settings) + MARGIN_SECONDS)
        patient = settings.model_copy(update={"watchdog_seconds": patience})
        standing, beats = partial(standing_of, app), lambda: health.beats
        watchdog = Watchdog(patient, lambda: reader.progressed, assigned, standing=standing, beats=beats)
        watchdog.start()
        health.guarded_by(watchdog)
        logger.info("watching for lag without progress for %.0f s", patience)

    async def measure_state() -> None:
        while True:
            try:
                sizes = {name: table.data.size() for name, table in worker.tables.by_name.items()}
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
    """A Faust worker that ends at most `seconds` after a signal, also without Kafka: Faust would wait to commit."""

    def __init__(self, app: faust.App, health: WorkerHealth, seconds: float, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self._health, self._seconds = health, seconds

    async def on_first_start(self) -> None:
        """Observe the event loop from its first turn on."""
        self._health.beat(self.loop)
        await super().on_first_start()

    async def on_shutdown(self) -> None:
        """Close the connections to models."""
        await super().on_shutdown()
        await close_clients()

    def _schedule_shutdown(self, signal: Any) -> None:
        self._health.ends()
        shutdown.begin(self._seconds)
        logger.info("%s: finishing what is in flight, for at most %.0f s", signal.name, self._seconds)
        super()._schedule_shutdown(signal)


class RateLimitFilter(logging.Filter):
    """Lets each message of these loggers through once per `seconds`, whatever its arguments, and counts the others."""

    def __init__(
        self, names: tuple[str, ...], seconds: float = REPEAT_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._names, self._seconds, self._clock = names, seconds, clock
        self._logged: dict[tuple[str, str], float] = {}
        self._held: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return true if the record is to be logged, and add how many like it were not."""
        if record.exc_info or not any(
            record.name == name or record.name.startswith(f"{name}.") for name in self._names
        ):
            return True
        message, now = (record.name, str(record.msg)), self._clock()
        if now - self._logged.get(message, float("-inf")) < self._seconds:
            self._held[message] = self._held.get(message, 0) + 1
            return False
        self._logged[message] = now
        if held := self._held.pop(message, 0):
            record.msg, record.args = f"{record.getMessage()} (and {held} more like it)", ()
        return True

"""`sager worker`: checks, then Faust until a signal comes."""

import gc
import logging
from functools import partial
from typing import Any

import faust

from operators.tokens import count_tokens
from streams import shutdown
from streams.kafka import topics
from streams.pseudonyms import FILE, is_shared
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.app import create, longest_question_seconds
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.llm import close_clients
from streams.worker.runtime import logs, state
from streams.worker.runtime.health import WorkerHealth, standing_of
from streams.worker.runtime.watchdog import Watchdog

logger = logging.getLogger("sager.worker")

MARGIN_SECONDS = 30.0
COLLECT_AFTER = (100_000, 20, 10)
"""Objects made beyond those that went, until the garbage collector looks at the young ones; how often it does so before
it looks at the middle-aged, and these before the old. Python's own 700 make it look at every event several times."""


def run(settings: Settings, health: WorkerHealth) -> None:
    """Run one worker until SIGTERM or SIGINT; in-flight events are finished first.

    Args:
        settings: the effective configuration.
        health: is told how far the worker has come.

    Raises:
        StreamsError: the broker, a topic or an optional part is not as it must be.
        SystemExit: the worker has ended; its code says how.
    """
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
    pipeline = create(settings)
    health.starts("reading the global skills")
    pipeline.global_skills.start()
    health.starts("reading the weights")
    pipeline.learned_weights.start()
    health.starts("reading the items of the graph")
    pipeline.items.start()
    # The tokenizer reads its table when it is first asked, for half a second: not when a group waits for this worker.
    count_tokens("")
    health.runs(pipeline)
    metrics.LLM_BUDGET.set(settings.llm_daily_budget)
    _watch(pipeline, health)
    # Not warn or error: with those Faust sets the root logger to DEBUG.
    worker = PunctualWorker(
        pipeline.app,
        health,
        settings.shutdown_seconds,
        loglevel="info",
        redirect_stdouts=False,
        override_logging=False,
        quiet=True,
    )
    logs.quiet()
    worker.execute_from_commandline()


def _watch(pipeline: Pipeline, health: WorkerHealth) -> None:
    """Set the watchdog on guard once the app runs: Faust makes its consumer in the thread that asks for it first."""

    def assigned() -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in pipeline.app.consumer.assignment()}

    async def on_guard() -> None:
        pipeline.touch()
        settings = pipeline.settings
        patience = max(settings.watchdog_seconds, longest_question_seconds(settings) + MARGIN_SECONDS)
        patient = settings.model_copy(update={"watchdog_seconds": patience})
        standing, beats = partial(standing_of, pipeline.app), lambda: health.beats
        watchdog = Watchdog(patient, lambda: pipeline.progressed, assigned, standing=standing, beats=beats)
        watchdog.start()
        health.guarded_by(watchdog)
        logger.info("watching for lag without progress for %.0f s", patience)

    async def measure_state() -> None:
        await state.measure(pipeline.tables)

    async def collect_seldom() -> None:
        # What the imports, the agents and the recovery have made stays for good: it need not be looked at again. Events
        # leave little in cycles, which is all that the collector is for: reference counts free the rest at once.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)

    pipeline.app.task(collect_seldom)
    pipeline.app.task(on_guard)
    pipeline.app.task(measure_state)
    for timer in pipeline.timers:
        pipeline.app.task(timer)


class PunctualWorker(faust.Worker):
    """A Faust worker that ends in time, also where Kafka is gone and it would wait for ever to commit.

    Args:
        app: what it runs.
        health: is told that the event loop turns, and of the end.
        seconds: how long after a signal it may still work.
    """

    def __init__(self, app: faust.App, health: WorkerHealth, seconds: float, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self._health = health
        self._seconds = seconds

    async def on_first_start(self) -> None:
        """Let the event loop be watched from its first turn on."""
        self._health.beat(self.loop)
        await super().on_first_start()

    async def on_shutdown(self) -> None:
        """Close what was opened for models: nothing is asked any more."""
        await super().on_shutdown()
        await close_clients()

    def _schedule_shutdown(self, signal: Any) -> None:
        self._health.ends()
        shutdown.begin(self._seconds)
        logger.info("%s: finishing what is in flight, for at most %.0f s", signal.name, self._seconds)
        super()._schedule_shutdown(signal)

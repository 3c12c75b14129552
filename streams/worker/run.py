"""`sager worker`: checks, then Faust until a signal comes."""

import logging
import os
import threading
from typing import Any

import faust

from streams import metrics, topics
from streams.settings import Settings
from streams.worker.app import create, longest_question_seconds, quiet_logs
from streams.worker.pipeline import Pipeline
from streams.worker.watchdog import EXIT_CODE, Watchdog

logger = logging.getLogger("sager.worker")

MARGIN_SECONDS = 30.0


def run(settings: Settings) -> None:
    """Run one worker until SIGTERM or SIGINT; in-flight events are finished first.

    Raises:
        StreamsError: the broker, a topic or an optional part is not as it must be.
        SystemExit: the worker has ended; its code says how.
    """
    made = topics.ensure(settings)
    if made:
        logger.info("created %s", ", ".join(made))
    pipeline = create(settings)
    pipeline.global_skills.start()
    metrics.serve(settings)
    _watch(pipeline)
    # Not warn or error: with those Faust sets the root logger to DEBUG.
    worker = PunctualWorker(
        pipeline.app,
        settings.shutdown_seconds,
        loglevel="info",
        redirect_stdouts=False,
        override_logging=False,
        quiet=True,
    )
    quiet_logs()
    worker.execute_from_commandline()


def _watch(pipeline: Pipeline) -> None:
    """Set the watchdog on guard once the app runs: Faust makes its consumer in the thread that asks for it first."""

    def assigned() -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in pipeline.app.consumer.assignment()}

    async def on_guard() -> None:
        pipeline.touch()
        settings = pipeline.settings
        patience = max(settings.watchdog_seconds, longest_question_seconds(settings) + MARGIN_SECONDS)
        patient = settings.model_copy(update={"watchdog_seconds": patience})
        Watchdog(patient, lambda: pipeline.progressed, assigned).start()
        logger.info("watching for lag without progress for %.0f s", patience)

    pipeline.app.task(on_guard)


class PunctualWorker(faust.Worker):
    """A Faust worker that ends in time, also where Kafka is gone and it would wait for ever to commit.

    Args:
        app: what it runs.
        seconds: how long after a signal it may still work.
    """

    def __init__(self, app: faust.App, seconds: float, **kwargs: Any) -> None:
        super().__init__(app, **kwargs)
        self._seconds = seconds

    def _schedule_shutdown(self, signal: Any) -> None:
        timer = threading.Timer(self._seconds, _give_up, [self._seconds])
        timer.daemon = True
        timer.start()
        super()._schedule_shutdown(signal)


def _give_up(seconds: float) -> None:
    logger.critical("not shut down after %.0f s: ending now; what is not acknowledged comes again", seconds)
    os._exit(EXIT_CODE)

"""`sager worker`: checks, then Faust until a signal comes."""

import logging
import os
import threading

import faust

from streams import metrics, topics
from streams.settings import Settings
from streams.worker.app import create, quiet_logs
from streams.worker.pipeline import Pipeline
from streams.worker.watchdog import EXIT_CODE, Watchdog

logger = logging.getLogger("sager.worker")


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
    metrics.serve(settings)
    _watch(pipeline)
    # Not warn or error: with those Faust sets the root logger to DEBUG.
    worker = faust.Worker(pipeline.app, loglevel="info", redirect_stdouts=False, override_logging=False, quiet=True)
    quiet_logs()
    worker.execute_from_commandline()


def _watch(pipeline: Pipeline) -> None:
    def assigned() -> set[tuple[str, int]]:
        return {(tp.topic, tp.partition) for tp in pipeline.app.consumer.assignment()}

    def start_watching(app: faust.App, **kwargs: object) -> None:
        pipeline.touch()
        Watchdog(pipeline.settings, lambda: pipeline.progressed, assigned).start()
        logger.info("worker started")

    def shut_down_in_time(app: faust.App, **kwargs: object) -> None:
        """Without a broker Faust would try to commit for ever, and an orphan would burn a core."""
        seconds = pipeline.settings.shutdown_seconds
        timer = threading.Timer(seconds, _give_up, [seconds])
        timer.daemon = True
        timer.start()

    pipeline.app.on_worker_init.connect(start_watching, weak=False)
    pipeline.app.on_before_shutdown.connect(shut_down_in_time, weak=False)


def _give_up(seconds: float) -> None:
    logger.critical("not shut down after %.0f s: ending now; what is not acknowledged comes again", seconds)
    os._exit(EXIT_CODE)

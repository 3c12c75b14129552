"""Several workers of one group: started, watched, asked for their metrics, and ended."""

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.processes import cpu_seconds
from benchmarks.surroundings import scraped
from streams.local.broker import free_port
from streams.local.launch import child
from streams.local.probes import why_not_ready
from streams.settings import Settings

READY_SECONDS = 240.0
STEADY_SECONDS = 6.0
"""All workers are ready for so long: nobody joins any more."""
LOOK_SECONDS = 0.2
SECRET = "the same for all workers of a benchmark"  # noqa: S105 - of nobody


@dataclass
class Worker:
    """One worker.

    Attributes:
        process: its process.
        port: where its metrics and health are.
    """

    process: "subprocess.Popen[bytes]"
    port: int

    @property
    def is_ready(self) -> bool:
        """Whether it does its work."""
        return not why_not_ready(f"http://127.0.0.1:{self.port}")

    @property
    def cpu(self) -> float:
        """Its CPU seconds so far."""
        return cpu_seconds(self.process.pid)

    def asked(self) -> tuple[float, float]:
        """How many calls to the LLM have ended, and the seconds that they took together."""
        told = scraped(self.port)
        return told.get("sager_llm_seconds_count", 0.0), told.get("sager_llm_seconds_sum", 0.0)


def start(settings: Settings, number: int) -> Worker:
    """Starts a worker with a folder of its own; it is not ready yet."""
    port, folder = free_port(), settings.data_dir / f"worker-{number}"
    own = settings.model_dump(exclude_unset=True) | {"data_dir": folder, "metrics_port": port}
    folder.mkdir(mode=0o700)
    return Worker(child(["worker"], Settings(**own), folder / "log"), port)


def check(workers: Sequence[Worker]) -> None:
    """Raises SystemExit if one has ended."""
    if any(each.process.poll() is not None for each in workers):
        raise SystemExit("a worker has ended")


def wait_until_ready(workers: Sequence[Worker]) -> None:
    """Waits until all of them do their work, and nobody joins any more.

    Raises:
        SystemExit: one has ended, or is not ready in time.
    """
    give_up = time.monotonic() + READY_SECONDS
    since = time.monotonic()
    while time.monotonic() - since < STEADY_SECONDS:
        check(workers)
        if not all(each.is_ready for each in workers):
            since = time.monotonic()
        if time.monotonic() > give_up:
            raise SystemExit("the workers are not ready")
        time.sleep(LOOK_SECONDS)


def end(worker: Worker) -> None:
    """Ends it, at last by force."""
    worker.process.terminate()
    try:
        worker.process.wait(60)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        worker.process.wait()

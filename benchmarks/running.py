"""A process that turns choices into diffs, and what a benchmark does with it: send, wait, and see what it spent."""

import subprocess
import time
from collections.abc import Callable
from typing import Self

from benchmarks.choices import choices, send
from benchmarks.processes import cpu_seconds, settled
from benchmarks.surroundings import reached_as
from benchmarks.traffic import Counted, Traffic
from sager_client import EventProducer
from schemas import SkillDiff
from streams.kafka import topics
from streams.local.children import start_child
from streams.local.demo.outputs import PipelineOutputs
from streams.settings import Settings

END_SECONDS = 60
# On a busy machine a process takes long to start.
WAIT_SECONDS = 180.0
LOG = "process.log"


def worker(settings: Settings) -> "subprocess.Popen[bytes]":
    """The pipeline's own worker."""
    return start_child(["worker"], settings, settings.data_dir / LOG)


class Ended(SystemExit):
    """The process under measurement has ended; the message is what it said last."""


class Running:
    """Such a process, on topics of its own, and who looks at it.

    Args:
        settings: the deployment.
        start: starts the process. Its output goes to `process.log` in the data folder.
    """

    def __init__(self, settings: Settings, start: Callable[[Settings], "subprocess.Popen[bytes]"] = worker) -> None:
        topics.ensure(settings)
        self.settings = settings
        self.process = start(settings)
        self.outputs = PipelineOutputs(settings)
        self.traffic = Traffic(settings)

    @property
    def diffs(self) -> int:
        """How many choices have evolved a skill."""
        return len(self.outputs[SkillDiff])

    @property
    def spent(self) -> float:
        """The process' CPU seconds so far."""
        return cpu_seconds(self.process.pid)

    def check(self) -> None:
        """Look whether the process still runs.

        Raises:
            Ended: it does not.
        """
        if self.process.poll() is not None:
            last = (self.settings.data_dir / LOG).read_text(errors="replace").splitlines()[-8:]
            raise Ended("\n".join(["the process has ended; its last words:", *last]))

    def send(self, count: int, users: int, name: str) -> None:
        """Choices, as fast as the broker takes them."""
        with EventProducer(connection=reached_as(self.settings)) as events:
            send(events, choices(count, users, name))

    def wait(self, count: int, what: str) -> None:
        """Until there are so many diffs."""
        before, newest = -1, time.monotonic()
        while self.diffs < count:
            self.check()
            if self.diffs > before:
                before, newest = self.diffs, time.monotonic()
            elif time.monotonic() - newest > WAIT_SECONDS:
                raise Ended(f"no {what} for {WAIT_SECONDS:.0f} s")
            self.outputs.read()

    def settled(self) -> tuple[float, Counted]:
        """The process' CPU seconds once all is done, and what has come since the last time."""
        counted = self.traffic.read()

        def is_news() -> bool:
            more = self.traffic.read()
            counted.add(more)
            return bool(more.records)

        return settled(self.process.pid, is_news), counted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.traffic.close()
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

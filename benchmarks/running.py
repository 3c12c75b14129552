"""Sends choices to a process, waits for diffs, measures its CPU."""

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple, Self

from benchmarks.surroundings import cpu_seconds, reached_as, settled
from benchmarks.traffic import Counted, Traffic
from sager_client import Candidate, EventProducer, Ranking, Selection
from schemas import SkillDiff
from streams.kafka import topics
from streams.local.children import start_child
from streams.local.demo import catalogue
from streams.local.demo.run import PipelineOutputs
from streams.settings import Settings

END_SECONDS = 60
# On a busy machine a process takes long to start.
WAIT_SECONDS = 180.0
LOG = "process.log"


class SentChoice(NamedTuple):
    """A ranking of ten films, and the selection of one."""

    ranking: Ranking
    selection: Selection


def choices(count: int, users: int, name: str = "choice", seed: int = 1) -> Iterator[SentChoice]:
    """Yield choices of `user-0` and so on, in turn, occurred now.

    `name` begins their ids: each call on one deployment needs another one.
    """
    films, rng = catalogue.load()["films"], random.Random(seed)
    for number in range(count):
        shown, at = rng.sample(films, 10), datetime.now(UTC)
        common = {"occurred_at": at, "user_id": f"user-{number % users}", "ranking_id": f"{name}-{number}"}
        ranking = Ranking.model_validate(
            {**common, "event_id": f"{name}-{number}-shown", "domain": "films", "candidates": shown},
            from_attributes=True,
        )
        taken = shown[rng.randrange(10)].item_id
        yield SentChoice(
            ranking, Selection.model_validate({**common, "event_id": f"{name}-{number}-taken", "item_id": taken})
        )


def worker(settings: Settings) -> "subprocess.Popen[bytes]":
    """The pipeline's own worker."""
    return start_child(["worker"], settings, settings.data_dir / LOG)


class Running:
    """A process on its own topics; its output is `process.log`."""

    def __init__(self, settings: Settings, start: Callable[[Settings], "subprocess.Popen[bytes]"] = worker) -> None:
        topics.ensure(settings)
        self.settings = settings
        self.process = start(settings)
        self.outputs = PipelineOutputs(settings)
        self.traffic = Traffic(settings)

    @property
    def diffs(self) -> int:
        """The number of choices that have evolved a skill."""
        return len(self.outputs[SkillDiff])

    @property
    def spent(self) -> float:
        """The process's CPU seconds so far."""
        return cpu_seconds(self.process.pid)

    def check(self) -> None:
        """Raise SystemExit with its log if the process has ended."""
        if self.process.poll() is not None:
            last = (self.settings.data_dir / LOG).read_text(errors="replace").splitlines()[-8:]
            raise SystemExit("\n".join(["the process has ended; its last lines:", *last]))

    def send(self, count: int, users: int, name: str, *, by_ids: bool = False) -> None:
        """Send choices as fast as the broker takes them; `by_ids` leaves out the items' facts."""
        with EventProducer(connection=reached_as(self.settings)) as events:
            for ranking, selection in choices(count, users, name):
                alone = tuple(Candidate(item_id=each.item_id) for each in ranking.candidates)
                events.send(ranking.model_copy(update={"candidates": alone}) if by_ids else ranking)
                events.send(selection)

    def send_items(self) -> None:
        """Send the catalogue of the choices' films."""
        with EventProducer(connection=reached_as(self.settings)) as events:
            for film in catalogue.load()["films"]:
                events.item("films", film.model_dump())

    def wait(self, count: int, what: str) -> None:
        """Wait until there are this many diffs."""
        before, newest = -1, time.monotonic()
        while self.diffs < count:
            self.check()
            if self.diffs > before:
                before, newest = self.diffs, time.monotonic()
            elif time.monotonic() - newest > WAIT_SECONDS:
                raise SystemExit(f"no {what} for {WAIT_SECONDS:.0f} s")
            self.outputs.read()

    def settled(self) -> tuple[float, Counted]:
        """The CPU seconds once idle, and traffic since the last call."""
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

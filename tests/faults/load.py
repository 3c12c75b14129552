"""Events that continue during faults, from a thread of their own."""

import threading
import time
from collections import Counter
from typing import Any, Self

from benchmarks.surroundings import reached_as
from operators.admission import abstention_id
from sager_client import EventProducer
from schemas import Ranking, Selection
from streams.settings import Settings
from tests.builders import slate
from tests.faults.oracle import Run, assert_the_graph_knows_each_choice_once, assert_undisturbed
from tests.harness import Harness, Outputs, by_bytes

DOMAIN = "films"


class _Background:
    """Produces events of some users at a steady pace until it is stopped, as a context manager."""

    users = 24

    def __init__(self, settings: Settings, per_second: float) -> None:
        self._events = EventProducer(connection=reached_as(settings))
        self._pause = 1 / per_second
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stop.is_set():
            self._produce(f"user-{number % self.users}", number)
            number += 1
            due += self._pause
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _produce(self, user: str, number: int) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join(60)
        self._events.close()


class Talk(_Background):
    """Signals, corrections and abstentions; `told` has the ids that versions will answer, by user."""

    users = 12

    def __init__(self, settings: Settings, per_second: float) -> None:
        super().__init__(settings, per_second)
        self.told: dict[str, set[str]] = {}

    def _produce(self, user: str, number: int) -> None:
        told = self.told.setdefault(user, set())
        told.add(self._say(user, number, number // self.users % 3))

    def _say(self, user: str, number: int, kind: int) -> str:
        shown, name = slate(number), f"said-{number}"
        if kind == 0:
            self._events.feedback(user, DOMAIN, shown[0], "liked", event_id=name)
            return name
        if kind == 1:
            genre = shown[0]["metadata"]["genres"][0]
            said = {"stance": "avoids", "dimension": "genre", "value": genre}
            self._events.correct(user, DOMAIN, items=shown, directives=[said], event_id=name)
            return name
        ranking = self._events.ranking(user, DOMAIN, shown, ranking_id=name)
        self._events.none_of_these(ranking)
        return abstention_id(user, name)


class Load(_Background):
    def __init__(self, settings: Settings, per_second: float) -> None:
        super().__init__(settings, per_second)
        self.rankings: list[Ranking] = []
        self.selections: list[Selection] = []

    @property
    def choices(self) -> Counter[str]:
        return Counter(selection.user_id for selection in self.selections)

    def _produce(self, user: str, number: int) -> None:
        shown = slate(number)
        ranking = self._events.ranking(user, DOMAIN, shown, ranking_id=f"r{number}")
        self.rankings.append(by_bytes(Ranking, ranking))
        selection = self._events.selection(ranking, shown[number % 10]["item_id"], event_id=f"s{number}")
        self.selections.append(by_bytes(Selection, selection))

    def assert_undisturbed(self, harness: Harness, run: Run, **allowed: Any) -> Outputs:
        """Compare all outputs and the graph with these choices; see `oracle.assert_undisturbed`."""
        outputs = assert_undisturbed(harness, run, self.rankings, self.selections, **allowed)
        assert_the_graph_knows_each_choice_once(outputs, self.choices)
        return outputs

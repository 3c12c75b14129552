"""Choices that go on while things break: produced in a thread of their own, at a steady pace."""

import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

from benchmarks.surroundings import reached_as
from operators.admission import abstention_id
from sager_client import EventProducer
from schemas import Ranking, Selection
from streams.settings import Settings
from tests.builders import slate
from tests.harness import by_bytes


class Talk:
    """People say what they think of items and lists until it is stopped, as a context manager; then `told`.

    Args:
        settings: the deployment.
        per_second: how much is said.
        users: how many people take turns.
        domain: of all of it.
    """

    def __init__(self, settings: Settings, per_second: float = 20.0, users: int = 12, domain: str = "films") -> None:
        self.told: dict[str, set[str]] = {}
        self._events = EventProducer(connection=reached_as(settings))
        self._pause = 1 / per_second
        self._users, self._domain = users, domain
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="talk", daemon=True)

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stop.is_set():
            user = f"user-{number % self._users}"
            told = self.told.setdefault(user, set())
            told.add(self._say(user, number, number // self._users % 3))
            number += 1
            due += self._pause
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _say(self, user: str, number: int, kind: int) -> str:
        """One thing of a kind; the id of the event that a version will answer."""
        shown, name = slate(number), f"said-{number}"
        if kind == 0:
            self._events.feedback(user, self._domain, shown[0], "liked", event_id=name)
            return name
        if kind == 1:
            genre = shown[0]["metadata"]["genres"][0]
            said = {"stance": "avoids", "dimension": "genre", "value": genre}
            self._events.correct(user, self._domain, items=shown, directives=[said], event_id=name)
            return name
        ranking = self._events.ranking(user, self._domain, shown, ranking_id=name)
        self._events.none_of_these(ranking)
        return abstention_id(user, name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(60)
        self._events.close()


class Load:
    """Produces choices of some users until it is stopped, as a context manager; then `rankings` and `selections`.

    Args:
        settings: the deployment.
        per_second: how many choices.
        users: how many users take turns.
        domain: of all of them.
    """

    def __init__(self, settings: Settings, per_second: float = 20.0, users: int = 24, domain: str = "films") -> None:
        self.rankings: list[Ranking] = []
        self.selections: list[Selection] = []
        self._events = EventProducer(connection=reached_as(settings))
        self._pause = 1 / per_second
        self._users, self._domain = users, domain
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    @property
    def choices(self) -> Counter[str]:
        """How often each user has chosen."""
        return Counter(selection.user_id for selection in self.selections)

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stop.is_set():
            shown = slate(number)
            user = f"user-{number % self._users}"
            ranking = self._events.ranking(user, self._domain, shown, ranking_id=f"r{number}")
            self.rankings.append(by_bytes(Ranking, ranking))
            chosen = shown[number % 10]["item_id"]
            selection = self._events.selection(ranking, chosen, event_id=f"s{number}")
            self.selections.append(by_bytes(Selection, selection))
            number += 1
            due += self._pause
            self._stop.wait(max(0.0, due - time.monotonic()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(60)
        self._events.close()

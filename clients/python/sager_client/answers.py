"""Answers to rank requests: reads the topic `rankings` from now on, and gives each to who waits for it."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from .connection import Connection
from .exceptions import Closed
from .follower import Follower
from .schemas import BadRecord, Ranking, RankRequest, decode


class Answers:
    """Rankings that somebody waits for. It reads nothing before `start`.

    Args:
        connection: the deployment.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._closed = False
        self._waiting: dict[bytes, dict[str, Future[Ranking]]] = {}
        """By the user's key and the request: what is of nobody who waits is not even decoded."""

    def follow(self) -> Follower:
        """The reader of `rankings`, begun with the first call.

        Raises:
            Closed: `close` was called.
        """
        with self._lock:
            if self._closed:
                raise Closed("this producer is closed: make a new one")
            if self._follower is None:
                self._follower = Follower(self._connection, Ranking.TOPIC, self._take, from_end=True)
                self._follower.start()
            return self._follower

    def start(self, seconds: float) -> None:
        """Read from now on; returns when an answer can be missed no more.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self.follow().wait(seconds)

    @contextmanager
    def to(self, request: RankRequest) -> Iterator[Future[Ranking]]:
        """The ranking that answers this request, once it comes."""
        key, answer = request.user_id.encode(), Future[Ranking]()
        with self._lock:
            self._waiting.setdefault(key, {})[request.request_id] = answer
        try:
            yield answer
        finally:
            with self._lock:
                left = self._waiting[key]
                del left[request.request_id]
                if not left:
                    del self._waiting[key]

    def close(self) -> None:
        """End the reading thread."""
        with self._lock:
            self._closed = True
            follower = self._follower
        if follower is not None:
            follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        if key not in self._waiting:
            return
        try:
            ranking = decode(Ranking, value)
        except BadRecord:
            return
        with self._lock:
            answer = self._waiting.get(key, {}).get(ranking.ranking_id)
            if answer is not None and not answer.done():
                answer.set_result(ranking)

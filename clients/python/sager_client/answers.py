"""Answers that callers wait for: reads a topic from now on, and hands each answer to its caller."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

from .connection import Connection
from .exceptions import Closed
from .follower import Follower
from .schemas import BadRecord, Event, decode

AnswerT = TypeVar("AnswerT", bound=Event)


class Answers(Generic[AnswerT]):
    """The awaited records of one topic. It reads nothing before `start`.

    Args:
        connection: the deployment.
        model: the class of the records.
        user_of: the user in a record's key; records of users without a caller are not decoded.
        request_of: the id of the request that a record answers.
    """

    def __init__(
        self,
        connection: Connection,
        model: type[AnswerT],
        user_of: Callable[[bytes], str],
        request_of: Callable[[AnswerT], str],
    ) -> None:
        self._connection, self._model = connection, model
        self._user_of, self._request_of = user_of, request_of
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._closed = False
        self._waiting: dict[str, dict[str, Future[AnswerT]]] = {}
        """By the user and the request."""

    @property
    def topic(self) -> str:
        """The topic's name in the registry."""
        return self._model.TOPIC

    def follow(self) -> Follower:
        """The reader of the topic, begun with the first call.

        Raises:
            Closed: `close` was called.
        """
        with self._lock:
            if self._closed:
                raise Closed("this producer is closed: make a new one")
            if self._follower is None:
                self._follower = Follower(self._connection, self.topic, self._take, from_end=True)
                self._follower.start()
            return self._follower

    def start(self, seconds: float) -> None:
        """Read from now on; returns when an answer can be missed no more.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self.follow().wait(seconds)

    @contextmanager
    def to(self, user_id: str, request_id: str) -> Iterator[Future[AnswerT]]:
        """The record that answers this request, once it comes."""
        answer = Future[AnswerT]()
        with self._lock:
            self._waiting.setdefault(user_id, {})[request_id] = answer
        try:
            yield answer
        finally:
            with self._lock:
                left = self._waiting[user_id]
                del left[request_id]
                if not left:
                    del self._waiting[user_id]

    def close(self) -> None:
        """End the reading thread."""
        with self._lock:
            self._closed = True
            follower = self._follower
        if follower is not None:
            follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        if not self._waiting:
            return
        user_id = self._user_of(key)
        if user_id not in self._waiting:
            return
        try:
            record = decode(self._model, value)
        except BadRecord:
            return
        with self._lock:
            answer = self._waiting.get(user_id, {}).get(self._request_of(record))
            if answer is not None and not answer.done():
                answer.set_result(record)

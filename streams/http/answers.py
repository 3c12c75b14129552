"""Waits for what workers answer: rankings, versions of skills and cards, receipts, on topics that are followed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar, cast

from pydantic_core import to_json

from schemas import BadRecord, CardDiff, Event, Ranking, Receipt, SkillDiff, decode
from streams.http.live import Held
from streams.kafka.clients import partition_of

TOPICS = (Ranking.TOPIC, SkillDiff.TOPIC, CardDiff.TOPIC, Receipt.TOPIC)
"""The topics of answers."""

AnswerT = TypeVar("AnswerT", bound=Event)


class Awaited(Generic[AnswerT]):
    """One answer that somebody waits for."""

    def __init__(self, kind: type[AnswerT], is_it: Callable[[AnswerT], bool], hint: bytes = b"") -> None:
        self.kind, self._is_it, self._hint = kind, is_it, hint
        self._loop = asyncio.get_running_loop()
        self._found: asyncio.Future[AnswerT] = self._loop.create_future()

    async def within(self, seconds: float) -> AnswerT | None:
        """The answer; None if none came in so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._found)
        except TimeoutError:
            return None

    def offer(self, value: bytes) -> None:
        """Takes a record, in the thread that read it."""
        if self._hint not in value:
            return
        try:
            found = decode(self.kind, value)
        except BadRecord:  # the materializer reports it
            return
        if self._is_it(found):
            self._loop.call_soon_threadsafe(self._tell, found)

    def _tell(self, found: AnswerT) -> None:
        if not self._found.done():
            self._found.set_result(found)


class Answers:
    """Matches records with those who wait for them.

    A record is decoded only if somebody waits for an answer on its partition, which is its user's.

    Args:
        partitions: of the deployment.
    """

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._awaited: dict[tuple[str, int], tuple[Awaited[Event], ...]] = {}

    @contextmanager
    def expect(
        self, kind: type[AnswerT], user: str, is_it: Callable[[AnswerT], bool], hint: str = ""
    ) -> Iterator[Awaited[AnswerT]]:
        """Waits from now on, so that the question is asked within; as a context manager, in the event loop.

        Args:
            kind: one of `TOPICS`' events.
            user: whose partition it will be on.
            is_it: whether a record is the answer; called in another thread.
            hint: what its JSON must have, such as an id: a record without is not decoded, of which each that waits
                would pay for each that comes.
        """
        place = (kind.TOPIC, partition_of(user, self._partitions))
        awaited = Awaited(kind, is_it, to_json(hint)[1:-1])
        mine = cast("Awaited[Event]", awaited)
        # Replaced, never changed: another thread reads it.
        self._awaited[place] = (*self._awaited.get(place, ()), mine)
        try:
            yield awaited
        finally:
            left = tuple(each for each in self._awaited[place] if each is not mine)
            if left:
                self._awaited[place] = left
            else:
                del self._awaited[place]

    def hear(self, base: str, key: bytes, held: Held) -> None:
        """Takes a record of a topic of answers, in the thread that read it."""
        if held.value is not None:
            for awaited in self._awaited.get((base, held.partition), ()):
                awaited.offer(held.value)

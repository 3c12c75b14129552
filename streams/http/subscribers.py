"""Who follows slim skills, and of what each has not been told yet.

Keys wait, not values: who is slow gets the newest of each only.
"""

import asyncio
import re
import secrets
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from streams.http.live import Held, Live

GONE_KEPT = 10_000
"""Tombstones that are remembered, for streams that resume."""
GONE_HOURS = 20
"""How old a stream's place may be, so that it has missed no tombstone: Kafka keeps them for a day."""
MS_PER_HOUR = 3_600_000
KAFKA = "kafka"
_ID = re.compile(r"[a-z0-9]{1,16};[0-9]{1,15};(?:[0-9]{1,9}:[0-9]{1,19}(?:,[0-9]{1,9}:[0-9]{1,19})*)?", re.ASCII)
"""The form of an event's id: numbers are no longer than Kafka's."""


@dataclass(frozen=True)
class Place:
    """Where a stream is: it has been told everything before these offsets.

    Attributes:
        life: whose offsets they are: the embedded broker counts anew at each start.
        at_ms: when that was, in milliseconds since 1970.
        offsets: the next offset of each partition.
    """

    life: str
    at_ms: int
    offsets: dict[int, int]

    def __str__(self) -> str:
        """As an event's id.

        >>> str(Place("kafka", 5, {0: 7, 1: 9}))
        'kafka;5;0:7,1:9'
        """
        told = ",".join(f"{partition}:{offset}" for partition, offset in sorted(self.offsets.items()))
        return f"{self.life};{self.at_ms};{told}"

    @classmethod
    def of(cls, text: str) -> "Place | None":
        """The place that an event's id names; None if it is no such id.

        >>> Place.of("kafka;5;0:7,1:9"), Place.of("x")
        (Place(life='kafka', at_ms=5, offsets={0: 7, 1: 9}), None)
        """
        if not _ID.fullmatch(text):
            return None
        life, at, rest = text.split(";")
        pairs = [part.split(":") for part in rest.split(",") if part]
        return cls(life, int(at), {int(partition): int(offset) for partition, offset in pairs})


class Follower:
    """One stream.

    Args:
        wanted: the key that it is about; None for all.
    """

    def __init__(self, wanted: bytes | None) -> None:
        self.wanted = wanted
        self._pending: dict[bytes, None] = {}
        self._told = asyncio.Event()
        self.is_over = False

    def tell(self, key: bytes) -> None:
        """There is news of this key."""
        if self.wanted in (None, key):
            self._pending[key] = None
            self._told.set()

    def end(self) -> None:
        """There will be none any more."""
        self.is_over = True
        self._told.set()

    async def news(self, seconds: float) -> tuple[bytes, ...]:
        """The keys with news since the last call; none if there were none for so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._told.wait()
        except TimeoutError:
            return ()
        self._told.clear()
        found, self._pending = tuple(self._pending), {}
        return found


class Subscribers:
    """All streams of slim skills, in one event loop.

    Args:
        live: what is followed.
        keeps: whether the broker counts on when it starts again.
    """

    def __init__(self, live: Live, *, keeps: bool) -> None:
        self._live = live
        self._life = KAFKA if keeps else secrets.token_hex(4)
        self._all: set[Follower] = set()
        self._of: dict[bytes, set[Follower]] = {}
        self._gone: deque[tuple[int, int, int, bytes]] = deque(maxlen=GONE_KEPT)
        self._forgets = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        live.on_slim(self._hear)

    def begin(self) -> None:
        """Has news brought to the event loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        """Ends all streams."""
        for follower in (*self._all, *(each for some in self._of.values() for each in some)):
            follower.end()
        self._loop = None

    @contextmanager
    def follow(self, wanted: bytes | None) -> Iterator[Follower]:
        """A stream, from now on: of one key, or of all."""
        follower = Follower(wanted)
        among = self._all if wanted is None else self._of.setdefault(wanted, set())
        among.add(follower)
        try:
            yield follower
        finally:
            among.discard(follower)
            if wanted is not None and not among:
                self._of.pop(wanted, None)

    def place(self) -> Place:
        """Where a stream is that has been told everything."""
        return Place(self._life, int(time.time() * 1000), dict(self._live.positions))

    def since(self, place: Place, wanted: bytes | None = None) -> list[bytes] | None:
        """The keys with news since a place, the removed ones too; None if nobody knows which these are any more.

        Args:
            place: where a stream was.
            wanted: looks at this key alone: a stream of one person must not cost a look at everybody.
        """
        positions = self._live.positions
        is_ours = place.life == self._life and all(
            offset <= positions.get(partition, 0) for partition, offset in place.offsets.items()
        )
        is_old = time.time() * 1000 - place.at_ms > GONE_HOURS * MS_PER_HOUR
        if not is_ours or is_old or (self._forgets and self._gone and place.at_ms < self._gone[0][0]):
            return None
        offsets = place.offsets
        gone = (
            key
            for _, partition, offset, key in tuple(self._gone)
            if wanted in (None, key) and offset >= offsets.get(partition, 0)
        )
        if wanted is None:
            held = tuple(self._live.slims.items())
        else:
            mine = self._live.slims.get(wanted)
            held = () if mine is None else ((wanted, mine),)
        return list(dict.fromkeys([*gone, *(key for key, it in held if it.offset >= offsets.get(it.partition, 0))]))

    def known(self) -> list[bytes]:
        """All keys that there are."""
        return list(self._live.slims)

    def _hear(self, _: str, key: bytes, held: Held) -> None:
        """In the reading thread: what nobody follows does not wake the event loop."""
        # Older ones serve no stream that may resume: whoever is forgotten is not kept for longer than that.
        now = min(held.at_ms, int(time.time() * 1000))
        while self._gone and now - self._gone[0][0] > GONE_HOURS * MS_PER_HOUR:
            self._gone.popleft()
        if held.value is None:
            self._forgets += len(self._gone) == GONE_KEPT
            self._gone.append((held.at_ms, held.partition, held.offset, key))
        loop = self._loop
        if loop is not None and (self._all or key in self._of):
            loop.call_soon_threadsafe(self._tell, key)

    def _tell(self, key: bytes) -> None:
        for follower in (*self._all, *self._of.get(key, ())):
            follower.tell(key)

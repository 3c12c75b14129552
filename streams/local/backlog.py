"""What the workers of the embedded broker still have to do."""

import time
from collections.abc import Callable
from typing import Self

from schemas.topics import WORKED_OFF
from streams.local.journal import partitions_of
from streams.local.wire import Partition, Wire
from streams.settings import Settings

FAR = 1 << 60
"""An offset behind every end: what is asked from there on brings no record, and tells the end."""
ROUNDS = 4
"""What a worker sends, others of its agents take up: a selection, its contrast, what that tells items, and people."""
LOOK_SECONDS = 0.1

Tell = Callable[[int], None]
"""Is told how many records are left."""


class Backlog:
    """Asks how far the workers are. Use it as a context manager.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._wire = Wire(settings.bootstrap)
        self._group = settings.app_id
        consumed = {settings.topic(base) for base in WORKED_OFF}
        self._partitions = [each for each in partitions_of(settings) if each[0] in consumed]

    def waits(self, seconds: float, tell: Tell, check: Callable[[], None], *, patient: bool = True) -> int:
        """Wait until the workers have done all that is there now, and all that comes of it.

        Args:
            seconds: how long they may take.
            tell: is told of the rest, again and again.
            check: raises if there is no use in waiting.
            patient: whether that is how long they may take over one record, instead of all.

        Returns:
            How many records they have not done.
        """
        give_up = time.monotonic() + seconds
        for _ in range(ROUNDS):
            wanted, fewest = self._ends(), FAR
            while left := self._left(wanted):
                if patient and left < fewest:
                    give_up, fewest = time.monotonic() + seconds, left
                if time.monotonic() > give_up:
                    return self.left()
                tell(left)
                check()
                time.sleep(LOOK_SECONDS)
        return 0

    def left(self) -> int:
        """How many records they have not done."""
        return self._left(self._ends())

    def _ends(self) -> dict[Partition, int]:
        return {each: end for each, (_, end) in self._wire.fetch(dict.fromkeys(self._partitions, FAR), 1).items()}

    def _left(self, wanted: dict[Partition, int]) -> int:
        done = self._wire.committed(self._group, wanted)
        return sum(max(0, end - done.get(each, 0)) for each, end in wanted.items())

    def close(self) -> None:
        """End the connection."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

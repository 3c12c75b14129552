"""What takes a second of CPU, is needed by few workers, and is made ready in a thread when one first needs it."""

import asyncio
from collections.abc import Callable


class Warming:
    """Makes something ready, once; whoever needs it meanwhile waits, and the event loop goes on.

    Args:
        make: makes it ready, in a thread.
    """

    def __init__(self, make: Callable[[], None]) -> None:
        self._make = make
        self._making: asyncio.Task[None] | None = None

    async def wait(self) -> None:
        """Wait until it is ready."""
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        # Shielded: others wait for it too when one of them is cancelled.
        await asyncio.shield(self._making)

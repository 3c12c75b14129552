"""A real HTTP endpoint that takes webhooks, verifies them as a receiver would, and answers as told."""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web
from standardwebhooks import Webhook

from tests.waiting import WAIT_SECONDS

SECRET = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
"""24 bytes in base64."""


@dataclass
class Receiver:
    """Use it as a context manager; it runs in a thread.

    Attributes:
        messages: every message that was answered with 2xx, in their order.
        attempts: the id and the answer of every request.
        answers: statuses for the next requests; afterwards `always`.
    """

    secret: str = SECRET
    always: int = 204
    delay: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    attempts: list[tuple[str, int]] = field(default_factory=list)
    answers: deque[int] = field(default_factory=deque)
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [each["data"] for each in self.messages if each["type"] == kind]

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(WAIT_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(WAIT_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_post("/hook", self._on_message)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _on_message(self, request: web.Request) -> web.Response:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            body = await request.read()
            said = Webhook(self.secret).verify(body, dict(request.headers))
            await asyncio.sleep(self.delay)
            status = self.answers.popleft() if self.answers else self.always
            self.attempts.append((request.headers["webhook-id"], status))
            if status < 300:
                self.messages.append(said)
            return web.Response(status=status, headers=self.headers if status >= 300 else None)
        finally:
            self.at_once -= 1

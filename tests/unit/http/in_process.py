"""The server on a transport of ours, in the test's own event loop: what a request costs can be counted, not timed."""

import asyncio
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from streams.http.api import Api
from streams.http.app import application
from streams.http.connection import Connection
from streams.http.gate import Gate
from streams.http.run import connections_of
from streams.http.server import Server
from streams.http.tokens import TokensFile
from streams.settings import Settings

TURNS = 200
"""Of the event loop, in which every answer is there."""


class _Wire(asyncio.Transport):
    """Keeps what the server sends."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = bytearray()

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)}.get(name, default)

    def close(self) -> None:
        """Nothing to end."""


class InProcess:
    """The API without sockets or threads; to be made within an event loop."""

    def __init__(self, settings: Settings) -> None:
        gate = Gate(TokensFile(settings.http_tokens or Path()), settings)
        self.api = Api(settings, gate)
        self.api.live._ready.set()
        connections = connections_of(Server(application(self.api), settings), settings, gate)
        self._wire = _Wire()
        self._connection = Connection(connections._inner(), "127.0.0.1", connections._bounds, connections)
        self._connection.connection_made(self._wire)

    async def ask(self, request: bytes) -> bytes:
        """The answer, as it is sent."""
        self._wire.sent.clear()
        self._connection.data_received(request)
        for _ in range(TURNS):
            await asyncio.sleep(0)
            head, found, body = bytes(self._wire.sent).partition(b"\r\n\r\n")
            length = next((int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"content-length: ")), 0)
            if found and len(body) == length:
                return bytes(self._wire.sent)
        raise AssertionError("no answer")

    async def calls(self, request: bytes) -> int:
        """How many Python functions a request calls, once all that is made once is there."""
        for _ in range(3):
            await self.ask(request)
        count = 0

        def counted(_: FrameType, event: str, __: object) -> None:
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            await self.ask(request)
        finally:
            sys.setprofile(before)
        return count

"""Bytes on a socket, as no HTTP client would send them, and the answers."""

import socket
from dataclasses import dataclass, field
from typing import Self

from tests.unit.http.http_world import Reply
from tests.waiting import WAIT_SECONDS


@dataclass
class Raw:
    """A connection of its own, as a context manager."""

    port: int
    _held: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Return True if the server still took it."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def reply(self) -> Reply | None:
        """Return the next answer; None where the server closed the connection instead."""
        while b"\r\n\r\n" not in self._held:
            if not self._more():
                return None
        head, _, rest = self._held.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        size = int(headers.get("content-length", "0"))
        while len(rest) < size:
            assert self._more(), "the answer ends before its end"
            rest = self._held.partition(b"\r\n\r\n")[2]
        self._held = rest[size:]
        return Reply(int(first.split()[1]), headers, rest[:size])

    def is_closed(self) -> bool:
        """Wait until the server closes the connection; return False if it sends something instead."""
        return not self._held and not self._more()

    def _more(self) -> bool:
        try:
            found = self.socket.recv(65_536)
        except ConnectionError:
            return False
        self._held += found
        return bool(found)


def ask(port: int, data: bytes) -> Reply | None:
    """Return the answer to these bytes."""
    with Raw(port) as raw:
        raw.send(data)
        return raw.reply()

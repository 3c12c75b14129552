"""The head of a request: its first line and its headers, by a grammar that is narrower than RFC 9112.

What two parsers could read in two ways is refused: bare line feeds, folded lines, chunked bodies, a length said twice.
"""

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote_to_bytes

from streams.http.refusals import (
    BODY_TOO_LARGE,
    CONTENT_ENCODING,
    EXPECTATION,
    HEADERS_TOO_LARGE,
    MALFORMED,
    METHOD,
    TARGET_TOO_LONG,
    TRANSFER_ENCODING,
    UPGRADE,
    VERSION,
    Refused,
)

HEAD_BYTES = 16 * 1024
"""Maximum size of a head."""
LINE_BYTES = 8_000
"""Maximum size of its first line, and of one header."""
HEADERS = 64
"""Maximum number of headers."""

Larger = Callable[[bytes, Mapping[bytes, bytes]], int]

END = b"\r\n\r\n"
FORBIDDEN = re.compile(rb"[^\t\r\n\x20-\x7e]|(?<!\r)\n|\r[^\n]")
"""What no head contains: other bytes than visible ASCII, space and tab, and ends of lines that are half of one."""

_LINE = re.compile(rb"([!-~]+) ([!-~]+) HTTP/([0-9])\.([0-9])")
_TARGET = re.compile(rb"/(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\x20-\x7e\t]*)")
_HOST = re.compile(rb"(?:[A-Za-z0-9\-._]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_LENGTH = re.compile(rb"[0-9]{1,12}")
_METHODS = {b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"}
_ONCE = {b"host", b"content-length", b"content-type", b"authorization", b"transfer-encoding", b"expect"}
"""Headers that are refused if they are there twice, even if both say the same."""


def body_bytes(head: bytes, most: int, larger: Larger | None = None) -> int:
    r"""The size of the body that follows this head.

    Args:
        head: the head without the empty line at its end.
        most: maximum size of a body.
        larger: the maximum for a target with these headers, asked only where a body is larger than `most`.

    Raises:
        Refused: the head is not one that the server accepts.

    >>> body_bytes(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2", 10)
    2
    """
    first, *lines = head.split(b"\r\n")
    version, target = _check_first(first)
    if len(lines) > HEADERS:
        raise Refused(HEADERS_TOO_LARGE)
    headers: dict[bytes, bytes] = {}
    for line in lines:
        if len(line) > LINE_BYTES:
            raise Refused(HEADERS_TOO_LARGE)
        found = _HEADER.fullmatch(line)
        name = found[1].lower() if found else b""
        if found is None or (name in _ONCE and name in headers):
            raise Refused(MALFORMED)
        headers[name] = found[2].rstrip(b" \t")
    host = headers.get(b"host")
    if (host is None and version != b"0") or (host is not None and not _HOST.fullmatch(host)):
        raise Refused(MALFORMED)
    length = _length(headers)
    if length > most and (larger is None or length > larger(target, headers)):
        raise Refused(BODY_TOO_LARGE)
    return length


def _check_first(line: bytes) -> tuple[bytes, bytes]:
    """Checks the first line, and gives the minor version and the target."""
    if len(line) > LINE_BYTES:
        raise Refused(TARGET_TOO_LONG)
    found = _LINE.fullmatch(line)
    if found is None:
        raise Refused(MALFORMED)
    method, target, major, minor = found.groups()
    if major != b"1" or minor not in b"01":
        raise Refused(VERSION)
    if method not in _METHODS:
        raise Refused(METHOD)
    if not _TARGET.fullmatch(target) or not _is_utf_8(target):
        raise Refused(MALFORMED)
    return minor, target


def _is_utf_8(target: bytes) -> bool:
    try:
        unquote_to_bytes(target).decode()
    except UnicodeDecodeError:
        return False
    return True


def _length(headers: dict[bytes, bytes]) -> int:
    if b"transfer-encoding" in headers:
        # Both together are how one request is smuggled in another one.
        raise Refused(MALFORMED if b"content-length" in headers else TRANSFER_ENCODING)
    if b"upgrade" in headers:
        raise Refused(UPGRADE)
    if b"expect" in headers:
        raise Refused(EXPECTATION)
    if headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refused(CONTENT_ENCODING)
    length = headers.get(b"content-length", b"0")
    if not _LENGTH.fullmatch(length):
        raise Refused(MALFORMED)
    return int(length)

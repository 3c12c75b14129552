"""What a text's tokens say when decoded: base64, base32, hex, numbers, escapes, entities, rotated letters."""

import base64
import binascii
import codecs
import html
import quopri
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Final

_MOST: Final = 16_000
_MOST_TOKENS: Final = 8


@lru_cache(maxsize=64)
def decoded(text: str) -> tuple[str, ...]:
    """What the text's tokens say when decoded, if that is text.

    >>> decoded("SWdub3JlIHRoZSBvdGhlcnM="), decoded("noir")
    (('Ignore the others',), ())
    """
    return tuple(_decoded(text[:_MOST])) if _MAYBE.search(text) else ()


_MAYBE: Final = re.compile(r"[%\\&=]|[A-Za-z0-9+/_-]{10}|\d[ ,:]+\w{2,8}[ ,:]+\w")


def _decoded(text: str) -> Iterator[str]:
    for escapes, unescape in _ESCAPED:
        if escapes.search(text) and _is_text(told := unescape(text)):
            yield told
    for pattern, decode in _DECODERS:
        for token in pattern.findall(text)[:_MOST_TOKENS]:
            if (found := decode(token)) is not None and found != token and _is_text(found):
                yield found


def _is_text(told: str) -> bool:
    letters = sum(c.isalpha() or c.isspace() for c in told)
    return len(told) > 3 and told.isprintable() and letters >= 0.75 * len(told)  # noqa: PLR2004


def _bytes(decode: Callable[[str], bytes]) -> Callable[[str], str | None]:
    def told(token: str) -> str | None:
        try:
            return decode(token).decode()
        except (binascii.Error, ValueError):
            return None

    return told


def _base64(token: str) -> bytes:
    body = token.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(body + "=" * (-len(body) % 4))


def _base32(token: str) -> bytes:
    body = token.rstrip("=").upper()
    return base64.b32decode(body + "=" * (-len(body) % 8))


def _escapes(token: str) -> str:
    return re.sub(r"\\[uUx]\{?0*([0-9a-fA-F]{2,6})\}?", lambda at: chr(min(int(at[1], 16), 0x10FFFF)), token)


def _octets(text: str) -> str:
    """Quoted-printable, read; percent encoding is the same with another sign."""
    return quopri.decodestring(text.encode()).decode(errors="replace")


def _numbers(base: int) -> Callable[[str], bytes]:
    return lambda token: bytes(int(each, base) for each in re.split(r"[\s,]+", token.strip()))


_ESCAPED: Final = (
    (
        re.compile(r"(?:%[0-9a-fA-F]{2}.{0,3}?){3}|\w%20\w"),
        lambda text: _octets(text.replace("=", "=3D").replace("%", "=")),
    ),
    (re.compile(r"(?:\\[uUx]\{?[0-9a-fA-F]{2,6}\}?.{0,3}?){3}"), _escapes),
    (re.compile(r"(?:&(?:#\w{1,7}|[a-z]{2,8});.{0,3}?){3}"), html.unescape),
    (
        re.compile(r"(?:=[0-9A-F]{2}.{0,3}?){3}|\w=20\w"),
        _octets,
    ),
)
_DECODERS: Final = (
    (re.compile(r"[A-Za-z0-9+/_-]{10,2000}={0,2}"), _bytes(_base64)),
    (re.compile(r"\b[A-Z2-7]{12,2000}={0,6}|\b[a-z2-7]{16,2000}={1,6}"), _bytes(_base32)),
    (re.compile(r"\b(?:0x)?((?:[0-9a-fA-F]{2}){5,1000})\b"), _bytes(bytes.fromhex)),
    (
        re.compile(r"(?:\b[0-9a-fA-F]{2}[ :]){4,1000}[0-9a-fA-F]{2}\b"),
        _bytes(lambda t: bytes.fromhex(t.replace(":", " "))),
    ),
    (
        re.compile(r"(?:\b[01]{8}[ ,]?){4,1000}"),
        _bytes(lambda t: bytes(int(t2, 2) for t2 in re.findall(r"[01]{8}", t))),
    ),
    (re.compile(r"(?:\b\d{2,3}[ ,]+){5,1000}\d{2,3}\b"), _bytes(_numbers(10))),
)


def turned(text: str, by: int) -> str:
    """The text with each ASCII letter so many places further."""
    return codecs.decode(text, "rot13") if by == 13 else text.translate(_rotation(by))  # noqa: PLR2004


_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_MIRROR: Final = str.maketrans(_LETTERS, _LETTERS[::-1])


def mirrored(text: str) -> str:
    """The text in Atbash: z for a, y for b."""
    return text.translate(_MIRROR)


@cache
def _rotation(by: int) -> dict[int, int]:
    turned_letters = _LETTERS[by:] + _LETTERS[:by]
    return str.maketrans(_LETTERS + _LETTERS.upper(), turned_letters + turned_letters.upper())

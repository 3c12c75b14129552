"""Dead letters as the console tells them: where from, why, and their bytes in a form that does nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from schemas import DeadLetter
from streams.console.board import words
from streams.operations.dead_letters.reading import Chosen, Found, Listing, is_clipped

MOST_SHOWN = 50
"""On one page, so that all of them fit into one form."""
SHOWN_BYTES = 4_096
PER_LINE = 16
PREFIX = "letter-"
"""How the fields of a form begin that choose one."""


class Since(StrEnum):
    """How far a page looks back."""

    DAY = "24h"
    WEEK = "7d"
    ALL = "all"

    @property
    def words(self) -> str:
        """As people say it."""
        return {Since.DAY: "the last 24 hours", Since.WEEK: "the last 7 days", Since.ALL: "all that are kept"}[self]

    def ms(self, now: datetime) -> int:
        """In milliseconds since 1970; 0 for all."""
        back = {Since.DAY: timedelta(days=1), Since.WEEK: timedelta(days=7)}.get(self)
        return 0 if back is None else int((now - back).timestamp() * 1000)


@dataclass(frozen=True)
class Row:
    """One dead letter in the list.

    Attributes:
        event_id: its id.
        at: when it was refused.
        stage, reason, detail: which stage refused it, and why.
        place: where the original was.
        size: the original's, in words.
        state: `replayed`, `clipped` or nothing.
    """

    event_id: str
    at: datetime
    stage: str
    reason: str
    detail: str
    place: str
    size: str
    state: str


@dataclass(frozen=True)
class Page:
    """The list.

    Attributes:
        rows: the newest.
        total, replayed, forgotten: how many there are, were sent again, or are of people who are forgotten.
        by_reason: how many, by reason.
        reasons, stages: what can be filtered by.
    """

    rows: list[Row]
    total: int
    replayed: int
    forgotten: int
    by_reason: list[tuple[str, int]]
    reasons: list[str]
    stages: list[str]


def chosen(reason: str, stage: str, since: Since, now: datetime | None = None) -> Chosen:
    """A filter; what is empty takes all."""
    return Chosen(
        reasons=frozenset([reason] if reason else ()),
        stages=frozenset([stage] if stage else ()),
        since_ms=since.ms(now or datetime.now(UTC)),
    )


def page(found: Listing) -> Page:
    """What was found, as it is shown."""
    return Page(
        [_row(each, found.replayed) for each in found.newest],
        found.total,
        len(found.replayed),
        found.forgotten,
        [(words.cut(reason), count) for reason, count in found.by_reason.most_common()],
        sorted(found.there.get("reason", ())),
        sorted(found.there.get("stage", ())),
    )


def _row(found: Found, replayed: set[str]) -> Row:
    letter = found.letter
    state = "replayed" if letter.event_id in replayed else "clipped" if is_clipped(letter) else ""
    return Row(
        letter.event_id,
        found.refused_at,
        words.cut(letter.stage, 60),
        words.cut(letter.reason, 60),
        words.cut(letter.detail, 200),
        place(letter),
        size(letter.value),
        state,
    )


def place(letter: DeadLetter) -> str:
    """Where the original was."""
    source = letter.source
    return f"{words.cut(source.topic, 120)}, partition {source.partition}, offset {source.offset}"


def size(value: bytes | None) -> str:
    """How large it is.

    >>> size(None), size(b"ab")
    ('none', '2 bytes')
    """
    return "none" if value is None else f"{len(value):,} bytes"


def as_text(value: bytes | None) -> str | None:
    r"""The bytes as text, other signs escaped; None if they are no text.

    >>> as_text(b'{"a": "<b>\\u202e"}\n\x1b'), as_text(b"\xff")
    ('{"a": "<b>\\u202e"}\n\\x1b', None)
    """
    if value is None:
        return None
    shown = value[:SHOWN_BYTES]
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        # A sign may have been cut in two at the end, and nowhere else.
        if error.start < len(shown) - 3 or len(value) <= SHOWN_BYTES:
            return None
        text = shown[: error.start].decode()
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def as_hex(value: bytes | None) -> str:
    r"""The bytes in hexadecimal, sixteen a line, with their place and what is printable of them.

    >>> as_hex(b"\x00<b>")
    '00000000  00 3c 62 3e                                      .<b>'
    """
    shown = (value or b"")[:SHOWN_BYTES]
    lines = []
    for start in range(0, len(shown), PER_LINE):
        part = shown[start : start + PER_LINE]
        seen = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)  # noqa: PLR2004 - ASCII's
        lines.append(f"{start:08x}  {part.hex(' '):<{3 * PER_LINE - 1}}  {seen}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Part:
    """The key or the value of an original.

    Attributes:
        title: which.
        size: how large it is, in words.
        text: as text; None if it is none.
        hexadecimal: as bytes.
        is_cut: whether only its beginning is shown.
    """

    title: str
    size: str
    text: str | None
    hexadecimal: str
    is_cut: bool


def part(title: str, value: bytes | None) -> Part:
    """A key or a value, as it is shown."""
    return Part(title, size(value), as_text(value), as_hex(value), len(value or b"") > SHOWN_BYTES)


def ticked(form: Mapping[str, str]) -> frozenset[str]:
    """The ids that a form chooses.

    >>> sorted(ticked({"letter-b": "on", "letter-a": "on", "since": "7d"}))
    ['a', 'b']
    """
    return frozenset(name.removeprefix(PREFIX) for name in form if name.startswith(PREFIX))


def only(ids: frozenset[str]) -> Chosen:
    """A filter that takes these."""
    return Chosen(ids=ids)

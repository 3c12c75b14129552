"""Dead letters: listed, shown as inert text or bytes, and replayed after a preview."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from starlette.responses import Response

from streams.console.pages import OPERATE, Visit
from streams.exceptions import StreamsError
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.operations.dead_letters import reading, replay
from streams.operations.dead_letters.reading import Chosen

MOST_SHOWN = 50
"""On one page, so that all of them fit into one form."""
SHOWN_BYTES, BYTES_PER_LINE = 4_096, 16
SINCE = {
    "24h": ("the last 24 hours", timedelta(days=1)),
    "7d": ("the last 7 days", timedelta(days=7)),
    "all": ("all that are kept", None),
}
PREFIX = "letter-"
"""Of the form's fields that choose a dead letter."""
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_Result = TypeVar("_Result")


@OPERATE.get("/letters", Scope.OPERATE, nav="Dead letters", icon="letter")
async def listed(visit: Visit) -> Response:
    """The newest ones, by reason, stage and age."""
    reason, stage = visit.fields.get("reason", ""), visit.fields.get("stage", "")
    since = visit.fields.get("since", "7d")
    if since not in SINCE:
        raise Problem(400, f"since is one of {', '.join(SINCE)}")
    words, age = SINCE[since]
    since_ms = int((datetime.now(UTC) - age).timestamp() * 1000) if age else 0
    chosen = Chosen(reasons=frozenset({reason} - {""}), stages=frozenset({stage} - {""}), since_ms=since_ms)
    found = await _kafka(visit, lambda: reading.listing(visit.api.settings, chosen, MOST_SHOWN))
    values = {"reason": reason, "stage": stage, "since": since, "words": words, "sinces": SINCE, "prefix": PREFIX}
    return visit.show("letters.html", found=found, is_clipped=reading.is_clipped, **values)


@OPERATE.get("/letters/one", Scope.OPERATE, under="/letters")
async def one(visit: Visit) -> Response:
    """One of them, with its original."""
    found, replayed = await _kafka(visit, lambda: reading.one(visit.api.settings, visit.fields.get("id", "")))
    letter = found.letter
    parts = [
        (name, value, as_text(value), as_hex(value)) for name, value in (("Key", letter.key), ("Value", letter.value))
    ]
    values = {"clipped": reading.is_clipped(letter), "most": SHOWN_BYTES, "prefix": PREFIX}
    return visit.show("letter.html", found=found, letter=letter, replayed=replayed, parts=parts, **values)


@OPERATE.post("/letters/plan", Scope.OPERATE, under="/letters")
async def planned(visit: Visit) -> Response:
    """The effect of replaying the chosen ones; nothing is sent."""
    ids = _ticked(visit)
    plan = await _kafka(visit, lambda: replay.plan(visit.api.settings, Chosen(ids=ids)))
    return visit.show("plan.html", plan=plan, prefix=PREFIX)


@OPERATE.post("/letters/replay", Scope.OPERATE, under="/letters")
async def replayed(visit: Visit) -> Response:
    """Replay the chosen ones, each once however often the form is sent."""
    ids = _ticked(visit)

    def send() -> int:
        with replay.ONE_AT_A_TIME:  # the API's routes replay too
            return replay.replay(visit.api.settings, replay.plan(visit.api.settings, Chosen(ids=ids)))

    sent = await _kafka(visit, send)
    notice = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    if rest := len(ids) - sent:
        notice += f" {rest} had been already, or cannot be."
    return visit.go("/letters", notice, "good" if sent else "wait")


def _ticked(visit: Visit) -> frozenset[str]:
    ids = frozenset(name.removeprefix(PREFIX) for name in visit.fields if name.startswith(PREFIX))
    if not ids:
        raise Problem(400, "no dead letter is chosen: tick some of them")
    return ids


async def _kafka(visit: Visit, do: Callable[[], _Result]) -> _Result:
    """The result of `do`, one at a time, as each reads the whole topic of dead letters.

    Raises:
        Problem: Kafka cannot be read, or there is no such dead letter.
    """
    try:
        async with _ONE_AT_A_TIME:
            return await visit.api.read(visit.token, do)
    except reading.NoSuchLetter:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", {"Retry-After": "5"}) from None


def as_text(value: bytes | None) -> str | None:
    r"""The beginning of a value as text, control characters escaped; None if it is no text.

    >>> as_text(b'{"a": "<b>\\u202e"}\n\x1b'), as_text(b"\xff")
    ('{"a": "<b>\\u202e"}\n\\x1b', None)
    """
    shown = (value or b"")[:SHOWN_BYTES]
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        # The limit may cut the last character in two.
        if error.start < SHOWN_BYTES - 3:
            return None
        text = shown[: error.start].decode()
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)


def as_hex(value: bytes | None) -> str:
    r"""The beginning of a value in hexadecimal, sixteen bytes a line, with their offset and the printable ones.

    >>> as_hex(b"\x00<b>")
    '00000000  00 3c 62 3e                                      .<b>'
    """
    shown, lines = (value or b"")[:SHOWN_BYTES], []
    for start in range(0, len(shown), BYTES_PER_LINE):
        part = shown[start : start + BYTES_PER_LINE]
        printable = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)  # noqa: PLR2004 - ASCII's
        lines.append(f"{start:08x}  {part.hex(' '):<{3 * BYTES_PER_LINE - 1}}  {printable}")
    return "\n".join(lines)

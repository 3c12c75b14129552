"""Dead letters: listed, shown as inert text, and replayed after a preview."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.responses import Response

from streams.console.pages import Visit, page
from streams.exceptions import StreamsError
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.operations.dead_letters import reading, replay
from streams.operations.dead_letters.reading import Chosen

MOST_SHOWN, SHOWN_BYTES = 50, 4_096
"""Dead letters on one page, so that all of them fit into one form, and the first bytes of one."""
PREFIX = "letter-"  # of the form's fields that choose a dead letter
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_Result = TypeVar("_Result")


@page("GET", "/letters", Scope.OPERATE)
async def listed(visit: Visit) -> Response:
    """The newest ones; `sager dead-letters list` filters them."""
    found = await _kafka(visit, lambda: reading.listing(visit.api.settings, Chosen(), MOST_SHOWN))
    return visit.show("letters.html", found=found, is_clipped=reading.is_clipped, prefix=PREFIX)


@page("GET", "/letters/one", Scope.OPERATE, under="/letters")
async def one(visit: Visit) -> Response:
    """One of them, with its original."""
    found, replayed = await _kafka(visit, lambda: reading.one(visit.api.settings, visit.fields.get("id", "")))
    letter = found.letter
    parts = [(name, value, readable(value)) for name, value in (("Key", letter.key), ("Value", letter.value))]
    shown: dict[str, Any] = {"clipped": reading.is_clipped(letter), "most": SHOWN_BYTES, "prefix": PREFIX}
    return visit.show("letter.html", found=found, letter=letter, replayed=replayed, parts=parts, **shown)


@page("POST", "/letters/plan", Scope.OPERATE, under="/letters")
async def planned(visit: Visit) -> Response:
    """The effect of replaying the chosen ones; nothing is sent."""
    ids = _ticked(visit)
    plan = await _kafka(visit, lambda: replay.plan(visit.api.settings, Chosen(ids=ids)))
    return visit.show("plan.html", plan=plan, prefix=PREFIX)


@page("POST", "/letters/replay", Scope.OPERATE, under="/letters")
async def replayed(visit: Visit) -> Response:
    """Replay the chosen ones, each once however often the form is sent."""
    ids = _ticked(visit)

    def send() -> int:
        with replay.ONE_AT_A_TIME:  # the API's routes replay too
            return replay.replay(visit.api.settings, replay.plan(visit.api.settings, Chosen(ids=ids)))

    sent = await _kafka(visit, send)
    notice = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    notice += f" {rest} had been already, or cannot be." if (rest := len(ids) - sent) else ""
    return visit.go("/letters", notice, "good" if sent else "wait")


def _ticked(visit: Visit) -> frozenset[str]:
    ids = frozenset(name.removeprefix(PREFIX) for name in visit.fields if name.startswith(PREFIX))
    if not ids:
        raise Problem(400, "no dead letter is chosen: tick some of them")
    return ids


async def _kafka(visit: Visit, do: Callable[[], _Result]) -> _Result:
    """The result of `do`, one at a time, as each reads the whole topic of dead letters."""
    try:
        async with _ONE_AT_A_TIME:
            return await visit.api.read(visit.token, do)
    except reading.NoSuchLetter:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", {"Retry-After": "5"}) from None


def readable(value: bytes | None) -> str:
    r"""The beginning of a value as text, or as bytes if it is none; control characters are escaped.

    >>> readable("<b>\u202e".encode()), readable(b"\xff<b>")
    ('<b>\\u202e', "b'\\xff<b>'")
    """
    shown = (value or b"")[:SHOWN_BYTES]
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        if error.start < SHOWN_BYTES - 3:
            return repr(shown)
        text = shown[: error.start].decode()  # the limit cut the last character in two
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)

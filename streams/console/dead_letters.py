"""Pages of dead letters: list, show and replay them."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.responses import Response

from streams.console.pages import PageContext, page
from streams.exceptions import StreamsError
from streams.http.problems import Problem
from streams.http.tokens import Scope
from streams.operations.dead_letters import reading, replay
from streams.operations.dead_letters.reading import LetterFilter

# One form must hold all dead letters of a page; of each only the first bytes are shown.
MOST_SHOWN, SHOWN_BYTES = 50, 4_096
PREFIX = "letter-"  # of the form's checkboxes
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_Result = TypeVar("_Result")


@page("GET", "/letters", Scope.OPERATE)
async def listed(ctx: PageContext) -> Response:
    """List the newest dead letters."""
    found = await _kafka(ctx, lambda: reading.list_letters(ctx.api.settings, LetterFilter(), MOST_SHOWN))
    return ctx.render("letters.html", found=found, is_clipped=reading.is_clipped, prefix=PREFIX)


@page("GET", "/letters/one", Scope.OPERATE, under="/letters")
async def one(ctx: PageContext) -> Response:
    """Show one dead letter with its original."""
    found, replayed = await _kafka(ctx, lambda: reading.find_letter(ctx.api.settings, ctx.fields.get("id", "")))
    letter = found.letter
    parts = [(name, value, readable(value)) for name, value in (("Key", letter.key), ("Value", letter.value))]
    shown: dict[str, Any] = {"clipped": reading.is_clipped(letter), "most": SHOWN_BYTES, "prefix": PREFIX}
    return ctx.render("letter.html", found=found, letter=letter, replayed=replayed, parts=parts, **shown)


@page("POST", "/letters/plan", Scope.OPERATE, under="/letters")
async def planned(ctx: PageContext) -> Response:
    """Preview a replay of the selected dead letters."""
    ids = _selected_ids(ctx)
    plan = await _kafka(ctx, lambda: replay.plan(ctx.api.settings, LetterFilter(ids=ids)))
    return ctx.render("plan.html", plan=plan, prefix=PREFIX)


@page("POST", "/letters/replay", Scope.OPERATE, under="/letters")
async def replayed(ctx: PageContext) -> Response:
    """Replay the selected dead letters, each exactly once."""
    ids = _selected_ids(ctx)

    def send() -> int:
        with replay.ONE_AT_A_TIME:  # a thread may outlive its cancelled request
            return replay.replay(ctx.api.settings, replay.plan(ctx.api.settings, LetterFilter(ids=ids)))

    sent = await _kafka(ctx, send)
    notice = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    notice += f" {rest} had been already, or cannot be." if (rest := len(ids) - sent) else ""
    return ctx.redirect("/letters", notice, "good" if sent else "wait")


def _selected_ids(ctx: PageContext) -> frozenset[str]:
    ids = frozenset(name.removeprefix(PREFIX) for name in ctx.fields if name.startswith(PREFIX))
    if not ids:
        raise Problem(400, "no dead letter is selected: tick at least one")
    return ids


async def _kafka(ctx: PageContext, do: Callable[[], _Result]) -> _Result:
    # One at a time: each reads the whole topic of dead letters.
    try:
        async with _ONE_AT_A_TIME:
            return await ctx.api.read(ctx.token, do)
    except reading.LetterNotFound:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", {"Retry-After": "5"}) from None


def readable(value: bytes | None) -> str:
    r"""Return the beginning of a value as inert text, or as bytes.

    >>> readable("<b>\u202e".encode()), readable(b"\xff<b>")
    ('<b>\\u202e', "b'\\xff<b>'")
    """
    shown = (value or b"")[:SHOWN_BYTES]
    try:
        text = shown.decode()
    except UnicodeDecodeError as error:
        if error.start < SHOWN_BYTES - 3:
            return repr(shown)
        text = shown[: error.start].decode()  # the limit split the last character
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)

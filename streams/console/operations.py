"""Pages for operators: dead letters and their replay."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.responses import Response

from streams.console.pages import PageContext, page
from streams.exceptions import StreamsError
from streams.http.problems import RETRY, Problem
from streams.http.tokens import Scope
from streams.operations import dead_letters
from streams.operations.dead_letters import LetterFilter

# One form must hold all dead letters of a page; of each only the first bytes are shown.
MOST_SHOWN, SHOWN_BYTES = 50, 4_096
PREFIX = "letter-"  # of the form's checkboxes
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_Result = TypeVar("_Result")


@page("GET", "/letters", Scope.OPERATE)
async def listed(ctx: PageContext) -> Response:
    """List the newest dead letters."""
    found = await _kafka(ctx, lambda: dead_letters.list_letters(ctx.api.settings, LetterFilter(), MOST_SHOWN))
    return ctx.render("letters.html", found=found, prefix=PREFIX)


@page("GET", "/letters/one", Scope.OPERATE, parent="/letters")
async def one(ctx: PageContext) -> Response:
    """Show one dead letter with its original."""
    found, replayed = await _kafka(ctx, lambda: dead_letters.find_letter(ctx.api.settings, ctx.fields.get("id", "")))
    letter = found.letter
    parts = [(name, value, readable(value)) for name, value in (("Key", letter.key), ("Value", letter.value))]
    shown: dict[str, Any] = {"clipped": found.is_clipped, "most": SHOWN_BYTES, "prefix": PREFIX}
    return ctx.render("letter.html", found=found, letter=letter, replayed=replayed, parts=parts, **shown)


@page("POST", "/letters/plan", Scope.OPERATE, parent="/letters")
async def planned(ctx: PageContext) -> Response:
    """Preview a replay of the selected dead letters."""
    ids = _selected_ids(ctx)
    plan = await _kafka(ctx, lambda: dead_letters.plan(ctx.api.settings, LetterFilter(ids=ids)))
    return ctx.render("plan.html", plan=plan, prefix=PREFIX)


@page("POST", "/letters/replay", Scope.OPERATE, parent="/letters")
async def replayed(ctx: PageContext) -> Response:
    """Replay the selected dead letters, each exactly once."""
    ids, settings = _selected_ids(ctx), ctx.api.settings
    sent = await _kafka(ctx, lambda: dead_letters.replay(settings, dead_letters.plan(settings, LetterFilter(ids=ids))))
    notice = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    notice += f" {rest} had been already, or cannot be." if (rest := len(ids) - sent) else ""
    return ctx.redirect("/letters", notice, "good" if sent else "wait")


def _selected_ids(ctx: PageContext) -> frozenset[str]:
    ids = frozenset(name.removeprefix(PREFIX) for name in ctx.fields if name.startswith(PREFIX))
    if not ids:
        raise Problem(400, "no dead letter is selected: tick at least one")
    return ids


async def _kafka(ctx: PageContext, do: Callable[[], _Result]) -> _Result:
    # One at a time: concurrent replays would send records twice, and each call reads the whole topic.
    try:
        async with _ONE_AT_A_TIME:
            return await ctx.api.read(ctx.token, do)
    except dead_letters.LetterNotFound:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", RETRY) from None


def readable(value: bytes | None) -> str:
    r"""Return the beginning of a value as inert text, invalid bytes escaped.

    >>> readable("<b>\u202e".encode()), readable(b"\xff<b>")
    ('<b>\\u202e', '\\xff<b>')
    """
    text = (value or b"")[:SHOWN_BYTES].decode(errors="backslashreplace")
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)

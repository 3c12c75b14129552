"""Dead letters: looked at, chosen, and sent again after a look at what that would do."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.responses import Response

from streams.console.board import letters
from streams.console.board.letters import Since
from streams.console.board.pages_live import OPERATE, OPERATORS
from streams.console.visit import Visit
from streams.exceptions import StreamsError
from streams.http.problems import Problem
from streams.operations.dead_letters import reading, replay

LETTERS = "/letters"
_Result = TypeVar("_Result")


@OPERATE.get(LETTERS, needs=OPERATORS, nav="Dead letters", icon="letter")
async def listed(visit: Visit) -> Response:
    """The newest ones, by reason, stage and age."""
    reason, stage = visit.query.get("reason", ""), visit.query.get("stage", "")
    since = _since(visit.query.get("since", Since.WEEK.value))
    wanted = letters.chosen(reason, stage, since)
    found = await _kafka(visit, lambda: reading.listing(visit.api.settings, wanted, letters.MOST_SHOWN))
    return visit.page(
        "board/letters.html", page=letters.page(found), reason=reason, stage=stage, since=since, sinces=list(Since),
    )  # fmt: skip


@OPERATE.get("/letters/one", needs=OPERATORS, under=LETTERS)
async def one(visit: Visit) -> Response:
    """One of them, with its original."""
    name = visit.query.get("id", "")
    found, replayed = await _kafka(visit, lambda: reading.one(visit.api.settings, name))
    letter = found.letter
    return visit.page(
        "board/letter.html", found=found, letter=letter, place=letters.place(letter), replayed=replayed,
        clipped=reading.is_clipped(letter),
        parts=[letters.part("Key", letter.key), letters.part("Value", letter.value)],
    )  # fmt: skip


@OPERATE.post("/letters/plan", needs=OPERATORS, under=LETTERS)
async def planned(visit: Visit) -> Response:
    """What a replay of the chosen ones would do: nothing is sent yet."""
    ids = _ticked(visit)
    plan = await _kafka(visit, lambda: replay.plan(visit.api.settings, letters.only(ids)))
    return visit.page(
        "board/plan.html",
        ready=[(name, f"{each.source.topic}, partition {each.source.partition}") for name, each in plan.ready.items()],
        hindered=[(name, why.value) for name, why in plan.hindered.items()],
        unknown=plan.unknown, prefix=letters.PREFIX,
    )  # fmt: skip


@OPERATE.post("/letters/replay", needs=OPERATORS)
async def replayed(visit: Visit) -> Response:
    """Sends the chosen ones again, each once however often this is asked."""
    ids = _ticked(visit)

    def do() -> int:
        with replay.ONE_AT_A_TIME:  # the API's routes replay too
            plan = replay.plan(visit.api.settings, letters.only(ids))
            return replay.replay(visit.api.settings, plan)

    sent = await _kafka(visit, do)
    left = len(ids) - sent
    told = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    return visit.go(
        LETTERS, f"{told} {left} had been already, or cannot be." if left else told, "good" if sent else "wait"
    )


def _ticked(visit: Visit) -> frozenset[str]:
    ids = letters.ticked(visit.form)
    if not ids:
        raise Problem(400, "no dead letter is chosen: tick some of them")
    return ids


def _since(text: str) -> Since:
    try:
        return Since(text)
    except ValueError:
        raise Problem(400, f"since is one of {', '.join(Since)}") from None


async def _kafka(visit: Visit, do: Callable[[], _Result]) -> _Result:
    """The result of `do`, which reads Kafka; one at a time, as each reads a whole topic.

    Raises:
        Problem: Kafka cannot be read, or what was asked for is not there.
    """
    try:
        async with _ONE_AT_A_TIME:
            return await visit.read(do)
    except reading.NoSuchLetter:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", {"Retry-After": "5"}) from None


_ONE_AT_A_TIME = asyncio.Semaphore(1)

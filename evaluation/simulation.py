"""The loop behind every evaluation: show, answer, reply, learn.

A *turn* is one situation of one user: a list to choose from, a scenario, a conversation. A *user model* is a function
from a turn and the arm's answer to the user's reply. A *recorder* receives all three. To add an evaluation, write its
turns and its user model; to add an arm, implement `Arm`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Shown = TypeVar("Shown")
Thing = TypeVar("Thing")
Answer = TypeVar("Answer")
Reply = TypeVar("Reply")
Reply_contra = TypeVar("Reply_contra", contravariant=True)


class Progress(Protocol):
    """Receives progress: a stage, its done and total parts, its cost."""

    def __call__(self, stage: str, done: int, total: int, cost: str = "") -> object:
        """Receive one update."""
        ...


def no_progress(*_: object, **__: object) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Turn(Generic[Shown]):
    """One situation; the arm may learn, and may ask a question first."""

    user_id: str
    shown: Shown
    learns: bool = True
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Retry(Generic[Shown, Reply]):
    """An answer to a question, and the turn to answer then."""

    reply: Reply
    turn: Turn[Shown]


class Arm(Protocol[Shown, Answer, Reply_contra]):
    """One way to serve users."""

    async def answer(self, turn: Turn[Shown]) -> Answer:
        """Answer a turn, without knowing the reply."""
        ...

    async def learn(self, turn: Turn[Shown], answer: Answer, reply: Reply_contra) -> object:
        """Learn from the user's reply to an answer."""
        ...


async def simulate(
    turns: Sequence[Turn[Shown]],
    arm: Arm[Shown, Answer, Reply],
    user: Callable[[Turn[Shown], Answer], Reply | Retry[Shown, Reply]],
    record: Callable[[Turn[Shown], Answer, Reply], object] = lambda *_: None,
    progress: Progress = no_progress,
    stage: str = "choices",
) -> None:
    """Run turns in order; `record` precedes learning."""
    for done, turn in enumerate(turns):
        progress(stage, done, len(turns))
        answer = await arm.answer(turn)
        reply: Any = user(turn, answer)
        while isinstance(reply, Retry):
            await arm.learn(turn, answer, reply.reply)
            turn = reply.turn  # noqa: PLW2901
            answer = await arm.answer(turn)
            reply = user(turn, answer)
        record(turn, answer, reply)
        if turn.learns:
            await arm.learn(turn, answer, reply)
    progress(stage, len(turns), len(turns))


async def side_by_side(things: Iterable[Thing], work: Callable[[Thing], Awaitable[object]], concurrency: int) -> None:
    """Do work for each thing, several at a time, in order.

    The first error stops all of it and is raised unchanged.
    """
    waiting = iter(things)

    async def take() -> None:
        for thing in waiting:
            await work(thing)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(take())
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        raise first from first.__cause__

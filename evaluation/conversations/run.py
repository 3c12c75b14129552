"""Plays the persons of a folder, one after another, and sums up what comes of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.conversations.choices import Chooser, Chosen, by_words, chosen_of
from evaluation.conversations.figures import Figures, figures_of
from evaluation.conversations.layout import Person, Unreadable
from evaluation.conversations.play import Listener, Play, Played, by_rules
from evaluation.exceptions import QualityError

Tell = Callable[[int], None]
"""Receives how many persons are done."""
Show = Callable[[Played], None]
"""Receives a person's play, in the order of the files."""


@dataclass
class Run:
    """What a folder comes to.

    Attributes:
        unreadable: files that are none of a person, with the reason.
        failed: persons who could not be played, with the error: a fault of ours.
        skipped: what could not be read in the others, by reason.
    """

    figures: Figures = field(default_factory=Figures)
    chosen: Chosen = field(default_factory=Chosen)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)

    async def add(self, played: Played, choose: Chooser = by_words) -> None:
        """Count one person."""
        self.figures.add(figures_of(played))
        self.chosen.add(await chosen_of(played, choose))
        for why, times in played.person.skipped.items():
            self.skipped[why] = self.skipped.get(why, 0) + times


async def run(
    persons: Iterator[Person | Unreadable],
    *,
    listen: Listener = by_rules,
    choose: Chooser = by_words,
    concurrency: int = 1,
    tell: Tell = lambda _: None,
    show: Show = lambda _: None,
) -> Run:
    """Plays persons, `concurrency` of them at a time; the sums do not depend on who is done first.

    Args:
        persons: as they are read.
        listen: understands a chunk.
        choose: answers a multiple choice by a card.
        concurrency: more than one is of use only where a model is asked.
        tell: receives how many are done, files that are none of a person too.
        show: receives each play.
    """
    found, play, done = Run(), Play(listen), 0
    async for who, playing in _under_way(persons, play, concurrency, found):
        try:
            played = await playing
            await found.add(played, choose)
        except QualityError:  # the endpoint or the budget: no other person fares better
            raise
        except Exception as error:
            found.failed.append((who.user_id, f"{type(error).__name__}: {error}"))
        else:
            show(played)
        done += 1
        tell(done + len(found.unreadable))
    return found


async def _under_way(
    persons: Iterator[Person | Unreadable], play: Play, concurrency: int, found: Run
) -> AsyncIterator[tuple[Person, asyncio.Task[Played]]]:
    """The persons in their order, each with its play, while those behind it are under way too."""
    waiting: list[tuple[Person, asyncio.Task[Played]]] = []
    try:
        for person in persons:
            if isinstance(person, Unreadable):
                found.unreadable.append((person.path, person.why))
                continue
            waiting.append((person, asyncio.create_task(play.play(person))))
            if len(waiting) >= concurrency:
                yield waiting.pop(0)
        while waiting:
            yield waiting.pop(0)
    finally:
        for _, task in waiting:
            task.cancel()

"""A person's card as their page shows it: what they said of themselves, in plain words, and what was overtaken."""

from dataclasses import dataclass
from datetime import datetime

from operators.cards.lines import in_words
from operators.vouch import Vouching
from schemas import Card, CardLine, Strength
from streams.console.visit import Visit
from streams.http.cards import card_of, now
from streams.rights.cards import card_told, line_told
from streams.vouching import vouching_of

HOW = {
    Strength.SAID: "said plainly",
    Strength.IMPLIED: "told in passing",
    Strength.SET: "written by somebody",
}
SURE = ((0.75, 3, "certain"), (0.5, 2, "likely"), (0.25, 1, "uncertain"), (0.0, 0, "nearly faded"))
"""From which certainty on, how many steps, in which words."""


@dataclass(frozen=True)
class CardRow:
    """One line of a card, to be shown.

    Attributes:
        line: the line.
        says: in plain words.
        steps: how certain it is, 0 to 3.
        sure: the same in words.
        how: how plainly it was said.
        held_back: whether no app and no model is told it.
        successor: what took its place; empty: nothing.
    """

    line: CardLine
    says: str
    steps: int
    sure: str
    how: str
    held_back: bool = False
    successor: str = ""


@dataclass(frozen=True)
class CardShown:
    """A card, to be shown: the surest lines first, and what was overtaken, the newest first."""

    version: int
    changed_at: datetime
    lines: list[CardRow]
    past: list[CardRow]


async def card_shown(visit: Visit, user: str) -> CardShown | None:
    """The card of a person; None where there is none."""
    card = await card_of(visit.api, visit.token, user)
    if card is None or not (card.lines or card.past):
        return None
    return shown_at(card, now(), vouching_of(visit.api.settings))


def shown_at(card: Card, at: datetime, vouching: Vouching) -> CardShown:
    """A card, its lines as sure as they are at a moment."""
    lines = {line.line_id: line for line in card.lines}
    told = [lines[each.line_id] for each in card_told(card, at, vouching).lines]
    told += [line for line in card.lines if line not in told]
    said = {line.line_id: in_words(line) for line in (*card.lines, *card.past)}
    return CardShown(
        version=card.version,
        changed_at=card.occurred_at,
        lines=[card_row(line, at, vouching) for line in told],
        past=[card_row(line, at, vouching, said.get(line.overtaken_by or "", "")) for line in reversed(card.past)],
    )


def card_row(line: CardLine, at: datetime, vouching: Vouching, successor: str = "") -> CardRow:
    """A line as it is shown at a moment."""
    told = line_told(line, at, vouching)
    steps, sure = next((steps, sure) for least, steps, sure in SURE if told.certainty >= least)
    times = "" if line.times == 1 else f", {line.times} times"
    return CardRow(line, told.says, steps, sure, f"{HOW[line.strength]}{times}", told.held_back, successor)

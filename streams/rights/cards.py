"""A person's card as people and models are told it: line by line, as text for a prompt, and as a SKILL.md."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from operators.cards.ageing import certainty
from operators.cards.history import as_of
from operators.cards.identity import line_id
from operators.cards.letting import is_let_out
from operators.cards.retrieve import chosen
from operators.cards.words import in_words, why_not
from operators.tokens import count_tokens
from operators.vouch import Vouching
from schemas import Card, CardChange, CardDiff, CardLine, CardStated, Model, Strength
from schemas.cards import MAX_CARD_LINES
from schemas.fields import UtcDatetime
from schemas.statements import Stance
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_FOR_A_REQUEST = 12
DIGITS = 3
GONE = "a line that is forgotten"


class UnknownCard(StreamsError, LookupError):
    """Nothing is on a card of this person."""


class UnknownCardLine(StreamsError, LookupError):
    """The card has no such line."""


class ToldCardLine(Model):
    """One line of a card."""

    line_id: str
    says: str = Field(description="Such as `does not like coriander`.")
    stance: Stance
    dimension: str = Field(description="Of the domain's vocabulary; `stated` for words of none.")
    value: str
    domain: str | None = Field(default=None, description="Where it holds; none: anywhere.")
    strength: Strength
    words: str = Field(default="", description="The person's own; empty where a command wrote it.")
    since: UtcDatetime
    confirmed_at: UtcDatetime
    times: int = Field(description="How often it was said.")
    certainty: Annotated[float, Field(ge=0, le=1)] = Field(description="From 0 to 1; it fades unless confirmed.")
    pinned: bool = False
    held_back: bool = Field(default=False, description="Nothing vouches for its words: no prompt has it.")
    evidence: tuple[str, ...] = Field(default=(), description="The newest events behind it, newest last.")
    score: float | None = Field(default=None, description="How well it fits the request.")
    reason: str = Field(default="", description="Why it is told.")
    overtaken_by: str | None = Field(default=None, description="The line that took its place.")
    overtaken_at: UtcDatetime | None = None


class ToldCard(Model):
    """A card, its lines in the order in which they are told."""

    user_id: str
    version: int
    as_of: UtcDatetime
    lines: tuple[ToldCardLine, ...]
    past: tuple[ToldCardLine, ...] = Field(default=(), description="What was overtaken lately, newest first.")
    left_out: int = Field(default=0, description="Lines that the request or the budget has no room for.")


def card_told(
    card: Card,
    at: datetime,
    vouching: Vouching,
    *,
    request: str = "",
    budget_tokens: int | None = None,
    domain: str | None = None,
) -> ToldCard:
    """The card, line by line.

    Args:
        card: as it is, or was.
        at: the moment by which lines have faded.
        vouching: what prompts get.
        request: what is asked for now; lines that it is about come first, and of the others only the surest.
        budget_tokens: how many tokens the lines' words may have; None: any number.
        domain: only what holds there or anywhere.
    """
    most = MOST_FOR_A_REQUEST if request.strip() else MAX_CARD_LINES
    lines: list[ToldCardLine] = []
    left = budget_tokens
    for each in chosen(card, request, at, domain=domain, most=most):
        if left is not None:
            left -= count_tokens(in_words(each.line))
            if left < 0:
                break
        lines.append(line_told(each.line, at, vouching, round(each.score, DIGITS), each.reason))
    return ToldCard(
        user_id=card.user_id,
        version=card.version,
        as_of=at,
        lines=tuple(lines),
        past=tuple(line_told(line, at, vouching) for line in reversed(card.past)),
        left_out=len(card.lines) - len(lines),
    )


def line_told(
    line: CardLine, at: datetime, vouching: Vouching, score: float | None = None, reason: str = ""
) -> ToldCardLine:
    """One line, with how sure it is at a moment."""
    return ToldCardLine(
        line_id=line.line_id,
        says=in_words(line),
        stance=line.stance,
        dimension=line.dimension,
        value=line.value,
        domain=line.domain,
        strength=line.strength,
        words=line.words,
        since=line.since,
        confirmed_at=line.confirmed_at,
        times=line.times,
        certainty=round(certainty(line, at), DIGITS),
        pinned=line.pinned,
        held_back=not is_let_out(line, vouching),
        evidence=line.evidence,
        score=score,
        reason=reason,
        overtaken_by=line.overtaken_by,
        overtaken_at=line.overtaken_at,
    )


class CameOf(StrEnum):
    """What a version of a card came of."""

    CONVERSATION = "conversation"
    COMMAND = "command"
    SIGNAL = "signal"


@dataclass(frozen=True)
class CardVersion:
    """One version of a card, as people are told of it.

    Attributes:
        diff: the version.
        came_of: what led to it.
        changes: what it changed, each with what the line says, which of a forgotten one is no word of it.
        not_kept: what was said and is not kept, by its kind; nothing of it is quoted.
    """

    diff: CardDiff
    came_of: CameOf
    changes: tuple[tuple[CardChange, str], ...]
    not_kept: tuple[str, ...]


def card_versions(diffs: Iterable[CardDiff]) -> list[CardVersion]:
    """The log of a card, version by version; what a line says that is gone is what it said last."""
    known: dict[str, str] = {}
    told = []
    for diff in diffs:
        known |= {change.line_id: in_words(change.line) for change in diff.changes if change.line is not None}
        signal = CameOf.COMMAND if diff.reward is None else CameOf.SIGNAL
        told.append(
            CardVersion(
                diff,
                CameOf.CONVERSATION if diff.conversation_id else signal,
                tuple((change, known.get(change.line_id, GONE)) for change in diff.changes),
                tuple(why_not(each.kind) + _times(each.times) for each in diff.not_kept),
            )
        )
    return told


def _times(count: int) -> str:
    return f", {count} times" if count > 1 else ""


def logged_card(con: "DuckDBPyConnection", user: str) -> list[CardDiff]:
    """The log of a card, out of the snapshot.

    Raises:
        UnknownCard: there is none.
    """
    from streams.materializer import read  # noqa: PLC0415

    diffs = read.card_diffs(con, user)
    if not diffs:
        raise unknown_card(user)
    return diffs


def card_at(diffs: Sequence[CardDiff], user: str, moment: datetime) -> Card:
    """The card as it was at a moment.

    Raises:
        UnknownCard: there was none yet.
    """
    found = as_of(diffs, moment)
    if found is None:
        # The first version's, not the earliest: a history that is told later is known later.
        first = diffs[0].occurred_at if diffs else moment
        raise UnknownCard(
            f"{user!r} had no card at {moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: the first line came at "
            f"{first.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        )
    return found


def unknown_card(user: str) -> UnknownCard:
    """Why there is nothing, and what to try."""
    return UnknownCard(
        f"nothing is on a card of {user!r}: it begins with what they say in a conversation, or with `sager card set`. "
        "If that was just now, the snapshot is some seconds behind"
    )


def line_of_card(card: Card | None, named: str) -> CardLine:
    """The line of a card with this id, one that is past too.

    Raises:
        UnknownCardLine: there is none.
    """
    for line in () if card is None else (*card.lines, *card.past):
        if line.line_id == named:
            return line
    raise UnknownCardLine("the card has no such line: `sager card show USER` prints the ids")


def stated_says(line: CardStated, at: datetime) -> str:
    """What a line that a command writes will say."""
    made = CardLine(
        line_id=line_id(line.stance, line.dimension, line.value, line.domain),
        stance=line.stance,
        dimension=line.dimension,
        value=line.value,
        domain=line.domain,
        strength=Strength.SET,
        weight=0,
        since=at,
        confirmed_at=at,
        version=1,
    )
    return in_words(made)

"""What a file says of its person once all talks are held, and what a line of a card says by it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evaluation.conversations.layout import About, Person, Talk
from evaluation.conversations.matching import agree, claims, claims_of, content
from schemas import Role
from schemas.cards import CardLine

SAID_SHARE: Final = 0.75
"""A preference is said, not implied, if so many of its words stand in one sentence of the person's."""
_SENTENCE: Final = re.compile(r"[.!?\n]+")


class Verdict(StrEnum):
    """What a line says, by the file."""

    STANDS = "stands"
    """What the person prefers now."""
    OVERTAKEN = "overtaken"
    FORGOTTEN = "forgotten"
    OTHERS = "others"
    SENSITIVE = "sensitive"
    UNTOLD = "untold"
    """Nothing that the file has: it may be true or not, and counts against precision."""


@dataclass(frozen=True, slots=True)
class Truth:
    """One thing that a file says of its person, as it is after the last talk.

    Attributes:
        said: whether plainly, not by implication.
    """

    preference: str
    verdict: Verdict
    said: bool = False


def truths_of(person: Person) -> tuple[Truth, ...]:
    """All that the file says; of a thing told twice, what was told last."""
    found: dict[tuple[str, bool], Truth] = {}
    for talk in person.talks:
        if talk.about is About.NOTHING or not talk.preference:
            continue
        if talk.before is not None:
            _take_back(found, talk.before, Verdict.FORGOTTEN if talk.about is About.FORGET else Verdict.OVERTAKEN)
        if talk.about is About.FORGET:
            continue
        key = talk.preference.casefold(), talk.of_others
        if talk.about is About.SENSITIVE:
            found[key] = Truth(talk.preference, Verdict.SENSITIVE)
        elif talk.of_others:
            found[key] = Truth(talk.preference, Verdict.OTHERS)
        else:
            was_said = key in found and found[key].said
            found[key] = Truth(talk.preference, Verdict.STANDS, is_said_in(talk) or was_said)
    return tuple(found.values())


def _take_back(found: dict[tuple[str, bool], Truth], preference: str, verdict: Verdict) -> None:
    key = preference.casefold(), False
    told = found.get(key)
    if told is None or told.verdict is not Verdict.SENSITIVE:
        found[key] = Truth(preference, verdict)


def is_said_in(talk: Talk) -> bool:
    """Whether the person says the preference, rather than that it can be gathered from what they say."""
    if talk.strength is not None:
        return talk.strength == "said"
    wanted = content(talk.preference)
    sentences = (each for said in talk.turns if said.role is Role.USER for each in _SENTENCE.split(said.text))
    return bool(wanted) and any(len(wanted & content(each)) >= SAID_SHARE * len(wanted) for each in sentences)


def verdict_on(line: CardLine, truths: Sequence[Truth]) -> tuple[Verdict, Truth | None]:
    """What a line says: of all that matches, that with which it shares most; what stands first, where two share alike.

    What is sensitive counts whatever the stance: nothing is to be kept about it.
    """
    told = claims_of(line)
    best: tuple[float, bool] = (0.0, False)
    found: tuple[Verdict, Truth | None] = (Verdict.UNTOLD, None)
    for truth in truths:
        share = agree(told, claims(truth.preference), whatever_stance=truth.verdict is Verdict.SENSITIVE)
        rank = share, truth.verdict is Verdict.STANDS
        if share and rank > best:
            best, found = rank, (truth.verdict, truth)
    return found


def matches(line: CardLine, preference: str) -> bool:
    """Whether a line says a preference."""
    return agree(claims_of(line), claims(preference)) > 0

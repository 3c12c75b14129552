"""What a file says of its person once all talks are held, and what a line of a card says by it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from evaluation.conversations.layout import About, Person, Talk
from evaluation.conversations.matching import MIN_SHARE, Claim, agree, claims, claims_of, content
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
    OPPOSITE = "opposite"
    """The contrary of what the person prefers now."""
    DESCRIBED = "described"
    """Nothing that a conversation was written to tell, but the person's description has it."""
    UNTOLD = "untold"
    """Nothing that the file has: it may be true or not, and counts against precision."""


@dataclass(frozen=True, slots=True)
class Truth:
    """One thing that a file says of its person, as it is after the last talk.

    Attributes:
        said: whether plainly, not by implication.
        own_words: whether most of its words stand in what the person says or writes.
        pref_type, kind: of the conversation that told it last.
    """

    preference: str
    verdict: Verdict
    said: bool = False
    own_words: bool = False
    pref_type: str = ""
    kind: str = ""


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
            said, own_words = is_said_in(talk), is_in_own_words(talk)
            if key in found:
                said, own_words = said or found[key].said, own_words or found[key].own_words
            found[key] = Truth(talk.preference, Verdict.STANDS, said, own_words, talk.pref_type, talk.kind)
    return (*found.values(), *(Truth(each, Verdict.DESCRIBED) for each in person.described))


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


def is_in_own_words(talk: Talk) -> bool:
    """Whether most words of a preference are the person's, rather than the assistant's or between the lines."""
    told = frozenset[str]().union(*(content(said.text) for said in talk.turns if said.role is Role.USER))
    return any(len(each.words & told) >= MIN_SHARE * len(each.words) for each in claims(talk.preference)[:1])


def verdict_on(line: CardLine, truths: Sequence[Truth]) -> tuple[Verdict, Truth | None]:
    """What a line says: of all that matches, that with which it shares most; what stands first, where two share alike.

    What is sensitive counts whatever the stance: nothing is to be kept about it. A line that says nothing of this may
    be the contrary of what stands, or what the person's description has.
    """
    told = claims_of(line)
    best: tuple[float, bool] = (0.0, False)
    found: tuple[Verdict, Truth | None] = (Verdict.UNTOLD, None)
    for truth in truths:
        if truth.verdict is Verdict.DESCRIBED:
            continue
        share = agree(told, claims(truth.preference), whatever_stance=truth.verdict is Verdict.SENSITIVE)
        rank = share, truth.verdict is Verdict.STANDS
        if share and rank > best:
            best, found = rank, (truth.verdict, truth)
    return found if found[1] is not None else _beside(told, truths)


def _beside(told: Sequence[Claim], truths: Sequence[Truth]) -> tuple[Verdict, Truth | None]:
    """What a line says that says nothing which a conversation was written to tell."""
    for verdict, lies_to in ((Verdict.OPPOSITE, Verdict.STANDS), (Verdict.DESCRIBED, Verdict.DESCRIBED)):
        for truth in truths:
            is_any = verdict is Verdict.OPPOSITE
            if truth.verdict is lies_to and agree(told, claims(truth.preference), whatever_stance=is_any):
                return verdict, truth
    return Verdict.UNTOLD, None


def matches(line: CardLine, preference: str) -> bool:
    """Whether a line says a preference."""
    return agree(claims_of(line), claims(preference)) > 0

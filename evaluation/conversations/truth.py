"""Matches the lines of cards with a file's truth, without a model.

The rule behind the figures:

- Words are casefolded, without those that every preference has ("enjoys", "prefers", "regularly", "the"), and cut to
  their stem by a few endings, so that "morning runs" and "runs in the mornings" share both.
- The words behind "over", "instead of", "rather than", "statt" are *not* preferred: they make a preference of their
  own, of the opposite stance.
- A line matches if at least `MIN_SHARE` of the words of the shorter one are in the longer one, and they share at least
  `MIN_DICE` of all their words (twice the shared, by the sum of both); and the stance agrees.
- Of several preferences that match, a line says the one with which it shares most.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from evaluation.conversations.layout import Person, PreferenceKind, Talk
from operators.attributes import normalise
from schemas import FREE, CardLine, Speaker, Stance

MIN_SHARE: Final = 0.6
MIN_DICE: Final = 0.3
# A preference is said, not implied, if so many of its words stand in one sentence of the person's.
SAID_SHARE: Final = 0.75
# The minimum number of letters of a stem.
_STEM: Final = 3
_ENDINGS: Final = ("ing", "ern", "est", "ie", "ed", "en", "er", "em", "ly", "e", "n", "y")
_COMMON: Final = frozenset(
    """
    a about all also always am an and any anything are as at be been being by can do does for from get gets getting
    go goes going had has have having he her him his how i in into is it its just keep keeps kind lot lots make makes
    many me more most much my no not of often on one or other our out own quite rather really regularly s she so some
    something still such t than that the their them they thing things this those time times to too up us use used uses
    using usually very was way we well when where which who will with without you your
    enjoy enjoys like likes love loves prefer prefers preferred preference favor favors favour favours fond adore
    adores avoid avoids dislike dislikes hate hates despise refuse refuses stand stands want wants value values rely
    relies stay stays steer steers clear never rarely interest interests interested into choose chooses opt opts
    regularly frequently typically generally constantly user person feels feel finds find likely while
    ab aber alle alles als am an auch auf aus bei beim bin bis das dass dem den der des die dies doch ein eine einem
    einen einer eines er es etwas fuer für gar ganz gern gerne lieber liebsten hat habe haben ich ihr ihre im immer in
    ist ja kann kein keine keinen man mag magst mal mehr meide meidet mein meine meist mit möchte nach nicht nie noch
    nur oder ohne oft schon sehr sein seine sich sie sind so über um und uns vom von vor war was weil wenn wie will wir
    wird zu zum zur liebt liebe hasst hasse bevorzugt bevorzuge ziehe zieht vorzug regelmäßig selten
    """.split()  # noqa: SIM905 - as prose it can be read
)
_AGAINST: Final = re.compile(
    r"\b(avoids?|dislikes?|hates?|despises?|refuses?|never|rarely|distrusts?|opposes?|rejects?|dismisses|no longer"
    r"|not|cannot|can't|doesn't|don't|isn't|won't|without|lacks?|skeptical|sceptical|disapproves?|detests?|loathes?"
    r"|steers? clear|stays? away|turns? down|skips?|meid\w+|kein\w*|nicht|nie|hasst|lehnt|ungern|ohne)\b",
    re.IGNORECASE,
)
_OVER: Final = re.compile(
    r"\b(?:over|instead of|rather than|as opposed to|more than|statt|anstatt|anstelle von|lieber als)\b|(?<=,) not\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A preference in a text: the words that count, and the stance."""

    words: frozenset[str]
    stance: Stance


@lru_cache(maxsize=65_536)
def content(text: str) -> frozenset[str]:
    """The words that count, cut to their stems.

    >>> sorted(content("Enjoys regular morning runs")), sorted(content("likes to run in the mornings"))
    (['morn', 'regular', 'run'], ['morn', 'run'])
    """
    return frozenset(_stem(word) for word in normalise(text).split("-") if word and word not in _COMMON)


def _stem(word: str) -> str:
    if word.endswith("s") and len(word) > _STEM:
        word = word[:-1]
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _STEM:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > _STEM and word[-1] == word[-2] else word


def stance_of(text: str) -> Stance:
    """The stance of a text, by its words of refusal."""
    return Stance.AVOIDS if _AGAINST.search(text) else Stance.PREFERS


@lru_cache(maxsize=16_384)
def claims(preference: str) -> tuple[Claim, ...]:
    """The claims of a preference: one thing, or one over another.

    >>> [(claim.stance.value, sorted(claim.words)) for claim in claims("Prefers tea over rum")]
    [('prefers', ['tea']), ('avoids', ['rum'])]
    """
    first, *rest = _OVER.split(preference, maxsplit=1)
    return _claims(content(first), stance_of(first), rest)


def claims_of(line: CardLine) -> tuple[Claim, ...]:
    """The claims of a line of a card."""
    first, *rest = _OVER.split(line.value, maxsplit=1)
    return _claims(content(first if line.dimension == FREE else f"{line.dimension} {first}"), line.stance, rest)


def _claims(words: frozenset[str], stance: Stance, rest: Sequence[str]) -> tuple[Claim, ...]:
    found = [Claim(words, stance)]
    if rest:
        opposite = Stance.PREFERS if stance is Stance.AVOIDS else Stance.AVOIDS
        found.append(Claim(content(rest[0]) - words, opposite))
    return tuple(claim for claim in found if claim.words)


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """The shared part of two word sets; 0 below the thresholds.

    >>> shared(content("morning runs"), content("long runs in the morning")), shared(content("tea"), content("coffee"))
    (0.8, 0.0)
    """
    both = len(one & other)
    if not both or both / min(len(one), len(other)) < MIN_SHARE:
        return 0.0
    dice = 2 * both / (len(one) + len(other))
    return dice if dice >= MIN_DICE else 0.0


def agree(held: Iterable[Claim], wanted: Iterable[Claim], *, any_stance: bool = False) -> float:
    """The share of the best two claims, by default of one stance."""
    wanted = tuple(wanted)
    return max(
        (shared(a.words, b.words) for a in held for b in wanted if any_stance or a.stance is b.stance), default=0.0
    )


_SENTENCE: Final = re.compile(r"[.!?\n]+")


class Verdict(StrEnum):
    """The meaning of a line, by the file."""

    # A preference that the person has now.
    STANDS = "stands"
    OVERTAKEN = "overtaken"
    FORGOTTEN = "forgotten"
    OTHERS = "others"
    SENSITIVE = "sensitive"
    # The contrary of a preference that the person has now.
    OPPOSITE = "opposite"
    # Only the person's description has it, and no conversation.
    DESCRIBED = "described"
    # The file does not have it: it may be true or not, and counts against precision.
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class Truth:
    """One fact about the person after the last talk.

    `said`: stated plainly, not implied. `own_words`: most words are the person's. `pref_type` and `kind` are of the
    last conversation about it.
    """

    preference: str
    verdict: Verdict
    said: bool = False
    own_words: bool = False
    pref_type: str = ""
    kind: str = ""


def truths_of(person: Person) -> tuple[Truth, ...]:
    """All facts of the file; of several about one thing, the last."""
    found: dict[tuple[str, bool], Truth] = {}
    for talk in person.talks:
        if talk.about is PreferenceKind.NOTHING or not talk.preference:
            continue
        if talk.before is not None:
            _take_back(
                found, talk.before, Verdict.FORGOTTEN if talk.about is PreferenceKind.FORGET else Verdict.OVERTAKEN
            )
        if talk.about is PreferenceKind.FORGET:
            continue
        key = talk.preference.casefold(), talk.of_others
        if talk.about is PreferenceKind.SENSITIVE:
            found[key] = Truth(talk.preference, Verdict.SENSITIVE)
        elif talk.of_others:
            found[key] = Truth(talk.preference, Verdict.OTHERS)
        else:
            said, own_words = occurs_in(talk), occurs_in_own_turns(talk)
            if key in found:
                said, own_words = said or found[key].said, own_words or found[key].own_words
            found[key] = Truth(talk.preference, Verdict.STANDS, said, own_words, talk.pref_type, talk.kind)
    return (*found.values(), *(Truth(each, Verdict.DESCRIBED) for each in person.described))


def _take_back(found: dict[tuple[str, bool], Truth], preference: str, verdict: Verdict) -> None:
    key = preference.casefold(), False
    known = found.get(key)
    if known is None or known.verdict is not Verdict.SENSITIVE:
        found[key] = Truth(preference, verdict)


def occurs_in(talk: Talk) -> bool:
    """True if the person states the preference; else it is implied."""
    if talk.strength is not None:
        return talk.strength == "said"
    wanted = content(talk.preference)
    sentences = (each for said in talk.turns if said.role is Speaker.USER for each in _SENTENCE.split(said.text))
    return bool(wanted) and any(len(wanted & content(each)) >= SAID_SHARE * len(wanted) for each in sentences)


def occurs_in_own_turns(talk: Talk) -> bool:
    """True if most words of a preference are the person's own."""
    own = frozenset[str]().union(*(content(said.text) for said in talk.turns if said.role is Speaker.USER))
    return any(len(each.words & own) >= MIN_SHARE * len(each.words) for each in claims(talk.preference)[:1])


def verdict_on(line: CardLine, truths: Sequence[Truth]) -> tuple[Verdict, Truth | None]:
    """The fact that a line matches best; ties favour one that stands.

    Sensitive facts match in any stance, since nothing may be kept about them. A line without a match may be the
    contrary of a fact that stands, or in the person's description.
    """
    held = claims_of(line)
    best: tuple[float, bool] = (0.0, False)
    found: tuple[Verdict, Truth | None] = (Verdict.UNTOLD, None)
    for truth in truths:
        if truth.verdict is Verdict.DESCRIBED:
            continue
        share = agree(held, claims(truth.preference), any_stance=truth.verdict is Verdict.SENSITIVE)
        rank = share, truth.verdict is Verdict.STANDS
        if share and rank > best:
            best, found = rank, (truth.verdict, truth)
    return found if found[1] is not None else _beside(held, truths)


def _beside(held: Sequence[Claim], truths: Sequence[Truth]) -> tuple[Verdict, Truth | None]:
    """The meaning of a line that matches no fact of a conversation."""
    for verdict, lies_to in ((Verdict.OPPOSITE, Verdict.STANDS), (Verdict.DESCRIBED, Verdict.DESCRIBED)):
        for truth in truths:
            is_any = verdict is Verdict.OPPOSITE
            if truth.verdict is lies_to and agree(held, claims(truth.preference), any_stance=is_any):
                return verdict, truth
    return Verdict.UNTOLD, None


def matches(line: CardLine, preference: str) -> bool:
    """True if a line says a preference."""
    return agree(claims_of(line), claims(preference)) > 0

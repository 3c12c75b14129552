"""Whether a line of a card says what a preference says, without a model: by the words that they share, and the stance.

The rule, which the figures stand on:

- Words are casefolded, without those that every preference has ("enjoys", "prefers", "regularly", "the"), and cut to
  their stem by a few endings, so that "morning runs" and "runs in the mornings" share both.
- What stands behind "over", "instead of", "rather than", "statt" is what is *not* preferred: it makes a preference of
  its own, of the opposite stance.
- A line matches if at least `MIN_SHARE` of the words of the shorter one are in the longer one, and they share at least
  `MIN_DICE` of all their words (twice the shared, by the sum of both); and the stance agrees.
- Of several preferences that match, a line says the one with which it shares most.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from operators.attributes import normalise
from schemas.cards import FREE, CardLine
from schemas.statements import Stance

MIN_SHARE: Final = 0.6
MIN_DICE: Final = 0.3
_STEM: Final = 3
"""Of so many letters at least is a stem."""
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
    """What a text says of a person: the words that count, and whether they like it."""

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
    """Whether somebody likes what a text is about: by its words of refusal."""
    return Stance.AVOIDS if _AGAINST.search(text) else Stance.PREFERS


@lru_cache(maxsize=16_384)
def claims(preference: str) -> tuple[Claim, ...]:
    """What a preference in the third person says: one thing, or one and what it is preferred to.

    >>> [(claim.stance.value, sorted(claim.words)) for claim in claims("Prefers tea over rum")]
    [('prefers', ['tea']), ('avoids', ['rum'])]
    """
    first, *rest = _OVER.split(preference, maxsplit=1)
    stance = stance_of(first)
    found = [Claim(content(first), stance)]
    if rest:
        opposite = Stance.PREFERS if stance is Stance.AVOIDS else Stance.AVOIDS
        found.append(Claim(content(rest[0]) - content(first), opposite))
    return tuple(claim for claim in found if claim.words)


def claims_of(line: CardLine) -> tuple[Claim, ...]:
    """What a line of a card says."""
    first, *rest = _OVER.split(line.value, maxsplit=1)
    words = content(first if line.dimension == FREE else f"{line.dimension} {first}")
    found = [Claim(words, line.stance)]
    if rest:
        opposite = Stance.PREFERS if line.stance is Stance.AVOIDS else Stance.AVOIDS
        found.append(Claim(content(rest[0]) - words, opposite))
    return tuple(claim for claim in found if claim.words)


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """How much two sets of words say the same, from 0 to 1; 0 below the thresholds.

    >>> shared(content("morning runs"), content("long runs in the morning")), shared(content("tea"), content("coffee"))
    (0.8, 0.0)
    """
    both = len(one & other)
    if not both or both / min(len(one), len(other)) < MIN_SHARE:
        return 0.0
    dice = 2 * both / (len(one) + len(other))
    return dice if dice >= MIN_DICE else 0.0


def agree(told: Iterable[Claim], wanted: Iterable[Claim], *, whatever_stance: bool = False) -> float:
    """How much the best two claims share, of the same stance or of any."""
    wanted = tuple(wanted)
    return max(
        (shared(a.words, b.words) for a in told for b in wanted if whatever_stance or a.stance is b.stance), default=0.0
    )

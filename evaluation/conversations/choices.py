"""Multiple choice by card: which of some answers to a request suits the person, without a model.

An answer may claim something of the person ("Since you prefer independent news, ...", "As a fan of ...", "your love of
..."). A claim that a line of the card says, of the same stance, counts for the answer; one that the card does not hold
counts against it: it was made up, is somebody else's, or was forgotten. The rest of an answer counts by what it has of
the lines' words and the other answers have not, against it where the line says that the person does not like it.
Answers that fit alike are drawn from by a hash of their words.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from evaluation.conversations.figures import share
from evaluation.conversations.layout import About, Question, Talk
from evaluation.conversations.matching import Claim, claims, claims_of, content, stance_of
from evaluation.conversations.play import Played
from evaluation.conversations.truth import Truth, Verdict, truths_of
from schemas.cards import Card
from schemas.statements import Stance

Chooser: TypeAlias = Callable[[Card | None, str, Sequence[str]], Awaitable[int]]
"""Which answer to a request fits the card, by its place."""

CLAIM: Final = 1.0
REST: Final = 0.5
SUPPORT: Final = 0.35
"""A claim of which the card holds less than this share speaks against its answer."""
_FEELING: Final = (
    "love|passion|preference|fondness|interest|affinity|penchant|habit|appreciation|taste|enthusiasm|admiration|belief"
    "|commitment|dedication|tendency|appetite|dislike|aversion|vorliebe|liebe|leidenschaft|begeisterung|interesse"
    "|abneigung"
)
_KIND: Final = (
    "advocate|fan|lover|enthusiast|supporter|proponent|opponent|admirer|follower|collector|who|freund|liebhaber"
)
_CLAIM: Final = re.compile(
    r"(?:\b(?:since|given|as|because|knowing|considering|recognizing|based on|aware of|with|da|weil|nachdem|wegen|bei)"
    r"\s+(?:that\s+)?(?:you(?:r|.re|.ve)?|du|dein\w*|sie|ihr\w*)\b"
    r"|\bif\s+you(?:.re|\s+are)?\s+(?:lean\b|love\b|enjoy\b|prefer\b|all about\b|into\b)"
    rf"|\b(?:as|for|als)\s+(?=(?:\w+[ -]){{0,3}}?(?:{_KIND})\w*\b)"
    rf"|\b(?:your|dein\w*|ihr\w*)\s+(?=(?:\w+[ -]){{0,2}}?(?:{_FEELING})\w*\b))"
    r"([^,;:.!?\n—]*)",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"\b(?:and|but|und|aber)\b", re.IGNORECASE)


@dataclass
class Chosen:
    """How often the right answer was chosen, by whom the question is about.

    Attributes:
        asked, right: by group: self, others, forgotten, sensitive.
        ideal: right without a model, if the card held just what the file tells of the person.
        chance: the sum of what a draw would have got right.
    """

    asked: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    ideal: Counter[str] = field(default_factory=Counter)
    chance: dict[str, float] = field(default_factory=dict)

    def add(self, other: "Chosen") -> None:
        """Count another's too."""
        self.asked.update(other.asked)
        self.right.update(other.right)
        self.ideal.update(other.ideal)
        for group, chance in other.chance.items():
            self.chance[group] = self.chance.get(group, 0.0) + chance

    def shares(self) -> dict[str, dict[str, Any]]:
        """By group and in all: how many were asked, the share right, and the share that a draw gets right."""
        told: dict[str, dict[str, Any]] = {}
        for name, groups in (*((group, (group,)) for group in sorted(self.asked)), ("all", tuple(self.asked))):
            asked = sum(self.asked[group] for group in groups)
            told[name] = {
                "asked": asked,
                "right": share(sum(self.right[group] for group in groups), asked),
                "chance": share(sum(self.chance[group] for group in groups), asked),
                "right_if_all_known": share(sum(self.ideal[group] for group in groups), asked),
            }
        return told


async def by_words(card: Card | None, query: str, answers: Sequence[str]) -> int:
    """The answer that fits the card best by its words."""
    del query
    return best([each for line in (() if card is None else card.lines) for each in claims_of(line)], answers)


def best(told: Sequence[Claim], answers: Sequence[str]) -> int:
    """The place of the answer that fits what is told of a person."""
    return max(range(len(answers)), key=lambda place: (fit(answers, place, told), _drawn(answers[place])))


def fit(answers: Sequence[str], place: int, told: Sequence[Claim]) -> float:
    """How well one of the answers fits what is told of a person; 0 where that is nothing."""
    answer = answers[place]
    others = frozenset[str]().union(*(content(each) for at, each in enumerate(answers) if at != place))
    claimed, fits = claimed_in(answer), 0.0
    if claimed:
        most = max((_support(each, line) for each in claimed for line in told), default=0.0)
        fits += CLAIM * (most if most >= SUPPORT else most - SUPPORT)
    rest = content(answer).difference(others, *(each.words for each in claimed))
    for line in told:
        part = len(line.words & rest) / len(line.words)
        fits += REST * (part if line.stance is Stance.PREFERS else -part)
    return fits


def claimed_in(answer: str) -> tuple[Claim, ...]:
    """What an answer claims of the person: each claim whole, and in parts where it is of several.

    >>> [(claim.stance.value, sorted(claim.words)) for claim in claimed_in("Since you avoid rum, have tea.")]
    [('avoids', ['rum'])]
    """
    wholes = _CLAIM.findall(answer)
    parts = [*wholes, *(part for whole in wholes if _AND.search(whole) for part in _AND.split(whole))]
    return tuple(Claim(words, stance_of(part)) for part in parts if (words := content(part)))


def _support(claim: Claim, line: Claim) -> float:
    """How much of a claim a line says: as far as they are the same, or how much of the claim's words it has."""
    both = len(claim.words & line.words)
    if claim.stance is not line.stance or not both:
        return 0.0
    alike = 2 * both / (len(claim.words) + len(line.words))
    return alike if both == 1 else max(alike, both / len(claim.words))


def _drawn(answer: str) -> bytes:
    return hashlib.sha256(b"choice 0:" + answer.encode()).digest()


async def chosen_of(played: Played, choose: Chooser = by_words) -> Chosen:
    """The questions about a person, asked when all is said. What was overtaken is asked about no more."""
    told, truths = Chosen(), truths_of(played.person)
    all_known = [each for truth in truths if truth.verdict is Verdict.STANDS for each in claims(truth.preference)]
    for talk in played.person.talks:
        if talk.question is None or (group := _group(talk, truths)) is None:
            continue
        answers = ordered(talk.question)
        picked = answers[await choose(played.card, talk.question.query, answers)]
        told.asked[group] += 1
        told.right[group] += picked == talk.question.right
        told.ideal[group] += answers[best(all_known, answers)] == talk.question.right
        told.chance[group] = told.chance.get(group, 0.0) + 1 / len(answers)
    return told


def ordered(question: Question) -> tuple[str, ...]:
    """The answers in an order that tells nothing, the same every time."""
    return tuple(sorted((question.right, *question.wrong), key=lambda answer: _drawn(f"{question.query}\n{answer}")))


def _group(talk: Talk, truths: Sequence[Truth]) -> str | None:
    if talk.of_others:
        return "others"
    if talk.about is About.FORGET:
        return "forgotten"
    told = {(truth.preference.casefold()): truth.verdict for truth in truths if truth.verdict is not Verdict.OTHERS}
    verdict = told.get(talk.preference.casefold())
    return {Verdict.STANDS: "self", Verdict.SENSITIVE: "sensitive"}.get(verdict) if verdict is not None else None

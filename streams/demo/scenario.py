"""What the demo's app does: who the users are, what they did before, and which choices they make."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Protocol

from operators.attributes import fact_id
from operators.statinit import parser_for
from schemas import Candidate, Event, Fact, PolicySkill, SkillDiff
from streams.demo import catalogue, people, words
from streams.importers import Dataset, load

SLATE = 10
NO_SKILL_EVERY = 5
"""One simulated user in five is in the arm without skills, for comparison."""
PAUSE_DAYS = 14
"""Between the last choice and the words."""


@dataclass(frozen=True)
class Past:
    """One interaction from before the demo."""

    user_id: str
    domain: str
    item: Candidate
    at: datetime


@dataclass(frozen=True)
class Choice:
    """Ten candidates before a user, and how they decide.

    Attributes:
        choice_id: unique in this run.
        candidates: in the order in which an app without a ranker of its own would show them.
        target: what the user takes.
        at: when.
    """

    choice_id: str
    user_id: str
    domain: str
    candidates: tuple[Candidate, ...]
    target: str
    at: datetime


class Scenario(Protocol):
    """The demo's world."""

    closed_loop: bool
    """Whether the app asks our ranker first, and shows what it answers."""

    def describe(self) -> str:
        """One line for people."""
        ...

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Domain and item, all of them."""
        ...

    def past(self) -> Iterator[Past]:
        """The interactions that the prior is made of, in the order of time."""
        ...

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """The choices that are streamed, a round at a time, in each user's order of time."""
        ...

    def held_back(self) -> Sequence[Choice]:
        """Choices that are never streamed: on these the ranker is measured."""
        ...

    def has_skill(self, user_id: str) -> bool:
        """False in the arm without skills, in which the app shows its own order."""
        ...

    def words(self, skills: Mapping[tuple[str, str], PolicySkill]) -> Sequence[Event]:
        """The users' words after the last choice, in order."""
        ...

    def last_lists(self) -> Sequence[Choice]:
        """Lists that ask a question, after the words; every other user declines theirs."""
        ...

    def agreement(
        self, skills: Mapping[tuple[str, str], PolicySkill], firsts: Mapping[tuple[str, str], SkillDiff]
    ) -> tuple[float, float] | None:
        """Learned against hidden policy, before and after; None where nobody knows the hidden one."""
        ...


@dataclass
class Simulated:
    """Simulated users of the built-in catalogue, with hidden policies.

    Args:
        users: how many.
        rounds: choices per user that are streamed.
        seed: decides everything.
    """

    users: int
    n_rounds: int
    seed: int
    history: int = 12
    held: int = 6
    closed_loop: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self._items = catalogue.load()
        facts = {item.item_id: parser_for(domain, {})(item) for domain, items in self._items.items() for item in items}
        self._facts_of: Callable[[Candidate], tuple[Fact, ...]] = lambda item: facts[item.item_id]
        self.people = people.simulate(self.users, self.seed, self._items, self._facts_of)
        self._start = datetime(2025, 12, 24, tzinfo=UTC)

    def describe(self) -> str:
        """One line for people."""
        return (
            f"{self.users} simulated users with hidden policies choose among "
            f"{sum(map(len, self._items.values()))} real films, books and restaurants"
        )

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Domain and item, all of them."""
        return ((domain, item) for domain, items in self._items.items() for item in items)

    def past(self) -> Iterator[Past]:
        """Each user's earlier phase, when only part of what they want was there."""
        for person in self.people:
            taken = people.history(person, self._items, self._facts_of, self._rng(person, "past"), self.history)
            for place, item in enumerate(taken):
                yield Past(person.user_id, person.domain, item, self._start + timedelta(days=place))

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """One choice of every user per round."""
        rngs = [self._rng(person, "rounds") for person in self.people]
        for turn in range(self.n_rounds):
            at = self._start + timedelta(days=self.history + turn)
            yield [self._choice(person, rng, f"{turn}", at) for person, rng in zip(self.people, rngs, strict=True)]

    def held_back(self) -> Sequence[Choice]:
        """A few choices of every user from the end."""
        at = self._start + timedelta(days=self.history + self.n_rounds)
        return [
            self._choice(person, rng, f"held-{place}", at)
            for person in self.people
            for rng in [self._rng(person, "held")]
            for place in range(self.held)
        ]

    def has_skill(self, user_id: str) -> bool:
        """False for every fifth user."""
        return int(user_id.rpartition("-")[2]) % NO_SKILL_EVERY != 0

    def words(self, skills: Mapping[tuple[str, str], PolicySkill]) -> Sequence[Event]:
        """The users' words, two weeks after the last choice."""

        def first_line(person: people.Person) -> str | None:
            skill = skills.get((person.user_id, person.domain))
            return skill.attributes[0].attribute_id if skill and skill.attributes else None

        return words.words(self.people, self._items, first_line, self._end())

    def last_lists(self) -> Sequence[Choice]:
        """One list each for a few users, an hour after the words."""
        at = self._end() + timedelta(hours=1)
        some = self.people[: words.LISTS]
        return [self._choice(person, self._rng(person, "last"), "last", at) for person in some]

    def _end(self) -> datetime:
        return self._start + timedelta(days=self.history + self.n_rounds + PAUSE_DAYS)

    def agreement(
        self, skills: Mapping[tuple[str, str], PolicySkill], firsts: Mapping[tuple[str, str], SkillDiff]
    ) -> tuple[float, float] | None:
        """The share of each hidden policy's wants that the skill has at medium or high, averaged over users."""
        before = after = 0.0
        for person in self.people:
            key = (str(person.user_id), str(person.domain))
            seed = firsts[key].seed or () if key in firsts else ()
            before += people.agreement(person, {a.attribute_id: a.tier for a in seed})
            lines = skills[key].attributes if key in skills else ()
            after += people.agreement(person, {a.attribute_id: a.tier for a in lines})
        return before / len(self.people), after / len(self.people)

    def wants(self, user_id: str) -> list[str]:
        """What a user hides: attribute ids, the strongest first."""
        person = next(p for p in self.people if p.user_id == user_id)
        return [fact_id(want.fact) for want in person.policy.wants]

    def _rng(self, person: people.Person, what: str) -> random.Random:
        return random.Random(f"{self.seed}:{person.user_id}:{what}")  # noqa: S311 - a simulation

    def _choice(self, person: people.Person, rng: random.Random, name: str, at: datetime) -> Choice:
        shown = people.candidates(person, self._items, rng, SLATE)
        taken = people.choose(person, shown, self._facts_of, rng)
        return Choice(f"{person.user_id}-{name}", person.user_id, person.domain, shown, taken, at)


@dataclass
class Recorded:
    """Real users' histories: the first part as interactions, then each further item as a choice among ten.

    Args:
        folder: a data set in a layout that `sager import` reads.
        users: how many of its users, from the first.
        seed: decides the nine unseen items of every choice and their order.
        past_share: the part of each history that becomes interactions.
    """

    folder: Path
    users: int
    seed: int
    past_share: float = 0.8
    closed_loop: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._data: Dataset = load(self.folder, self.users)
        self._ids = sorted(self._data.items)
        self._choices = cache(self._choices_of)

    def describe(self) -> str:
        """One line for people."""
        return f"{len(self._data.histories)} users of {self.folder.name}, in the order of their time"

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Domain and item, of those that the users met or are offered."""
        return ((self._data.domain, item) for item in self._data.items.values())

    def _split(self, user_id: str) -> int:
        return max(1, int(len(self._data.histories[user_id]) * self.past_share))

    def past(self) -> Iterator[Past]:
        """The first part of each history, all users' in the order of time."""
        pasts = [
            Past(user, self._data.domain, self._data.items[visit.item_id], visit.at)
            for user, visits in self._data.histories.items()
            for visit in visits[: self._split(user)]
        ]
        return iter(sorted(pasts, key=lambda past: past.at))

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """All further items but the last of each user, in the order of time, a hundred at a time."""
        streamed = sorted(
            (choice for user in self._data.histories for choice in self._choices(user)[:-1]),
            key=lambda choice: choice.at,
        )
        for start in range(0, len(streamed), 100):
            yield streamed[start : start + 100]

    def held_back(self) -> Sequence[Choice]:
        """The last item of every user: the paper's protocol (3.1)."""
        return [choices[-1] for user in self._data.histories if (choices := self._choices(user))]

    def has_skill(self, user_id: str) -> bool:
        """True: every user of a data set is in the same arm."""
        return True

    def words(self, skills: Mapping[tuple[str, str], PolicySkill]) -> Sequence[Event]:
        """A data set has no words."""
        return ()

    def last_lists(self) -> Sequence[Choice]:
        """A data set has no further lists."""
        return ()

    def agreement(
        self, skills: Mapping[tuple[str, str], PolicySkill], firsts: Mapping[tuple[str, str], SkillDiff]
    ) -> tuple[float, float] | None:
        """Nobody knows a real user's hidden policy."""
        return None

    def _choices_of(self, user_id: str) -> list[Choice]:
        visits = self._data.histories[user_id]
        seen = {visit.item_id for visit in visits}
        rng = random.Random(f"{self.seed}:{user_id}")  # noqa: S311 - a sample that can be repeated
        choices = []
        for place, visit in enumerate(visits[self._split(user_id) :]):
            others: set[str] = set()
            while len(others) < SLATE - 1 and len(others) + len(seen) < len(self._ids):
                other = rng.choice(self._ids)
                if other not in seen:
                    others.add(other)
            shown = [visit.item_id, *sorted(others)]
            rng.shuffle(shown)
            items = tuple(self._data.items[name] for name in shown)
            choices.append(Choice(f"{user_id}-{place}", user_id, self._data.domain, items, visit.item_id, visit.at))
        return choices

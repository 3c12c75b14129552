"""The demo's users: their history, and the choices that they make."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

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
BATCH = 100

Key = tuple[str, str]


@dataclass(frozen=True)
class Past:
    """One interaction from before the demo."""

    user_id: str
    domain: str
    item: Candidate
    at: datetime


@dataclass(frozen=True)
class Choice:
    """Ten candidates for a user, in the order of an app without a ranker, and the one that the user takes."""

    choice_id: str
    user_id: str
    domain: str
    candidates: tuple[Candidate, ...]
    target: str
    at: datetime


class Scenario:
    """The users of a demo; by default they say nothing in words, and their policy is unknown."""

    closed_loop = False
    """True if the app asks our ranker first, and shows its answer."""

    def describe(self) -> str:
        """Describe the scenario in one line."""
        raise NotImplementedError

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Yield the domain and candidate of every item."""
        raise NotImplementedError

    def past(self) -> Iterator[Past]:
        """Yield the interactions behind the prior, in the order of time."""
        raise NotImplementedError

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """Yield the streamed choices, a round at a time, in each user's order of time."""
        raise NotImplementedError

    def held_back(self) -> Sequence[Choice]:
        """Return the choices that measure the ranker, which are never streamed."""
        raise NotImplementedError

    def has_skill(self, user_id: str) -> bool:
        """Return False in the arm without skills, in which the app shows its own order."""
        return True

    def words(self, skills: Mapping[Key, PolicySkill]) -> Sequence[Event]:
        """Return the users' words after the last choice, in order."""
        return ()

    def last_lists(self) -> Sequence[Choice]:
        """Return the lists that ask a question, after the words; every other user declines theirs."""
        return ()

    def agreement(
        self, skills: Mapping[Key, PolicySkill], firsts: Mapping[Key, SkillDiff]
    ) -> tuple[float, float] | None:
        """Compare learned and hidden policies, before and after; None if those are unknown."""
        return None


class Simulated(Scenario):
    """Simulated users of the built-in catalogue, with hidden policies.

    Args:
        users: how many.
        n_rounds: streamed choices per user.
        seed: decides everything.
        history: interactions per user before that.
        held: held-back choices per user.
    """

    closed_loop = True

    def __init__(self, users: int, n_rounds: int, seed: int, history: int = 12, held: int = 6) -> None:
        self._n_rounds, self._seed, self._history, self._held = n_rounds, seed, history, held
        self._items = catalogue.load()
        facts = {item.item_id: parser_for(domain, {})(item) for domain, items in self._items.items() for item in items}
        self._facts_of: Callable[[Candidate], tuple[Fact, ...]] = lambda item: facts[item.item_id]
        self.people = people.simulate(users, seed, self._items, self._facts_of)
        self._start = datetime(2025, 12, 24, tzinfo=UTC)
        self._after = self._start + timedelta(days=history + n_rounds)

    def describe(self) -> str:
        """Describe the scenario in one line."""
        items = sum(map(len, self._items.values()))
        return (
            f"{len(self.people)} simulated users with hidden policies choose among {items} real films, books and "
            "restaurants"
        )

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Yield the domain and candidate of every item."""
        return ((domain, item) for domain, items in self._items.items() for item in items)

    def past(self) -> Iterator[Past]:
        """Yield each user's earlier phase, when they had only part of their wants."""
        for person in self.people:
            taken = people.history(person, self._items, self._facts_of, self._rng(person, "past"), self._history)
            for place, item in enumerate(taken):
                yield Past(person.user_id, person.domain, item, self._start + timedelta(days=place))

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """Yield one choice of every user per round."""
        rngs = [self._rng(person, "rounds") for person in self.people]
        for turn in range(self._n_rounds):
            at = self._start + timedelta(days=self._history + turn)
            yield [self._choice(person, rng, f"{turn}", at) for person, rng in zip(self.people, rngs, strict=True)]

    def held_back(self) -> Sequence[Choice]:
        """Return a few choices of every user from the end."""
        return [
            self._choice(person, rng, f"held-{place}", self._after)
            for person in self.people
            for rng in [self._rng(person, "held")]
            for place in range(self._held)
        ]

    def has_skill(self, user_id: str) -> bool:
        """Return False for every fifth user."""
        return int(user_id.rpartition("-")[2]) % NO_SKILL_EVERY != 0

    def words(self, skills: Mapping[Key, PolicySkill]) -> Sequence[Event]:
        """Return the users' words, two weeks after the last choice."""

        def first_line(person: people.Person) -> str | None:
            skill = skills.get((person.user_id, person.domain))
            return skill.attributes[0].attribute_id if skill and skill.attributes else None

        return words.words(self.people, self._items, first_line, self._after + timedelta(days=PAUSE_DAYS))

    def last_lists(self) -> Sequence[Choice]:
        """Return one list each for a few users, an hour after the words."""
        at = self._after + timedelta(days=PAUSE_DAYS, hours=1)
        return [self._choice(each, self._rng(each, "last"), "last", at) for each in self.people[: words.LISTS]]

    def agreement(
        self, skills: Mapping[Key, PolicySkill], firsts: Mapping[Key, SkillDiff]
    ) -> tuple[float, float] | None:
        """Return the mean share of each hidden policy's wants that the skill has at medium or high."""
        before = after = 0.0
        for person in self.people:
            key = (str(person.user_id), str(person.domain))
            seed = firsts[key].seed or () if key in firsts else ()
            before += people.agreement(person, {a.attribute_id: a.tier for a in seed})
            lines = skills[key].attributes if key in skills else ()
            after += people.agreement(person, {a.attribute_id: a.tier for a in lines})
        return before / len(self.people), after / len(self.people)

    def wants(self, user_id: str) -> list[str]:
        """Return the attribute ids of a user's hidden policy, the strongest first."""
        person = next(p for p in self.people if p.user_id == user_id)
        return [fact_id(want.fact) for want in person.policy.wants]

    def _rng(self, person: people.Person, what: str) -> random.Random:
        return random.Random(f"{self._seed}:{person.user_id}:{what}")  # noqa: S311 - a simulation

    def _choice(self, person: people.Person, rng: random.Random, name: str, at: datetime) -> Choice:
        shown = people.candidates(person, self._items, rng, SLATE)
        taken = people.choose(person, shown, self._facts_of, rng)
        return Choice(f"{person.user_id}-{name}", person.user_id, person.domain, shown, taken, at)


class Recorded(Scenario):
    """Real users' histories: the first part as interactions, then each further item as a choice among ten.

    Args:
        folder: a data set in a layout that `sager import` reads.
        users: how many of its users, from the first.
        seed: decides the nine unseen items of every choice and their order.
        past_share: the part of each history that becomes interactions.
    """

    def __init__(self, folder: Path, users: int, seed: int, past_share: float = 0.8) -> None:
        self._folder, self._seed, self._past_share = folder, seed, past_share
        self._data: Dataset = load(folder, users)
        self._ids = sorted(self._data.items)
        self._choices = cache(self._choices_of)

    def describe(self) -> str:
        """Describe the scenario in one line."""
        return f"{len(self._data.histories)} users of {self._folder.name}, in the order of their time"

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Yield the domain and candidate of every item."""
        return ((self._data.domain, item) for item in self._data.items.values())

    def past(self) -> Iterator[Past]:
        """Yield the first part of each history, all users' in the order of time."""
        pasts = [
            Past(user, self._data.domain, self._data.items[visit.item_id], visit.at)
            for user, visits in self._data.histories.items()
            for visit in visits[: self._split(user)]
        ]
        return iter(sorted(pasts, key=lambda past: past.at))

    def rounds(self) -> Iterator[Sequence[Choice]]:
        """Yield all further items but the last of each user, in the order of time."""
        streamed = [choice for user in self._data.histories for choice in self._choices(user)[:-1]]
        streamed.sort(key=lambda choice: choice.at)
        return (streamed[start : start + BATCH] for start in range(0, len(streamed), BATCH))

    def held_back(self) -> Sequence[Choice]:
        """Return the last item of every user: the paper's protocol (3.1)."""
        return [choices[-1] for user in self._data.histories if (choices := self._choices(user))]

    def _split(self, user_id: str) -> int:
        return max(1, int(len(self._data.histories[user_id]) * self._past_share))

    def _choices_of(self, user_id: str) -> list[Choice]:
        visits = self._data.histories[user_id]
        seen = {visit.item_id for visit in visits}
        rng = random.Random(f"{self._seed}:{user_id}")  # noqa: S311 - a sample that can be repeated
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

"""The demo's users: their history, their choices, and their statements."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from statistics import mean
from typing import Any

from operators.statinit import parser_for
from schemas import Action, Attribute, Candidate, Correction, Event, ItemId, PolicySkill, SkillCommand, Utterance
from schemas.events import Feedback, Interaction, Signal
from streams.kafka.producer import envelope
from streams.local.demo import catalogue, people
from streams.local.demo.people import Person

HISTORY = 12  # interactions per user before the streamed choices
TEST_CHOICES = 6  # per user; nothing is learned from them
NO_SKILL_EVERY = 5  # one user in five is in the arm without skills
PAUSE_DAYS = 14  # between the last choice and the statements

# Keys are people's numbers. The rules understand most of these sentences, not all.
CORRECTIONS: Mapping[int, Sequence[str]] = {
    1: ("no musicals, please", "something with a bit more of everything"),
    4: ("no horror, please", "well, surprise me"),
    8: ("no romance, please",),
    12: ("no sushi, please",),
    13: ("I used to like crime, but not any more",),
    22: ("no horror, please",),
    26: ("more mystery",),
    31: ("my sister loves westerns",),
}
SIGNALS: Mapping[int, tuple[Signal, float | None]] = {
    2: (Signal.LIKED, None),
    4: (Signal.RATED, 5.0),
    7: (Signal.RATED, 1.0),
    10: (Signal.HIDDEN, None),
    11: (Signal.PURCHASED, None),
    16: (Signal.SKIPPED, None),
    19: (Signal.RATED, 4.0),
    25: (Signal.HIDDEN, None),
}
CHATS: Mapping[int, Sequence[str]] = {
    1: ("I'm vegetarian. What could I cook tonight?", "And I can't stand coriander. My number is +1 202 555 0142."),
    6: ("I'm vegetarian, and I love spicy food.",),
}
PINS = (3, 6)  # people who pin the first line of their skill
TRAVELLER = 14  # the person who chooses trains
LAST_LISTS = 12  # people with a last list: every other one declines it, the others answer its question

SkillKey = tuple[str, str]  # user and domain


@dataclass(frozen=True)
class DemoChoice:
    """Ten candidates in an app's order, and the one taken."""

    choice_id: str
    user_id: str
    domain: str
    candidates: tuple[Candidate, ...]
    target: ItemId
    at: datetime


class Scenario:
    """Simulated users of the built-in catalogue; the seed decides everything."""

    def __init__(self, users: int, n_rounds: int, seed: int) -> None:
        self.n_rounds, self._seed = n_rounds, seed
        self._items = {**catalogue.load(), "trains": catalogue.trains()}
        facts = {item.item_id: parser_for(domain, {})(item) for domain, items in self._items.items() for item in items}
        self._facts_of: people.FactsOf = lambda item: facts[item.item_id]
        self.people = people.simulate(users, seed, catalogue.load(), self._facts_of)
        if users >= TRAVELLER:
            self.people[TRAVELLER - 1] = people.traveller(TRAVELLER)
        self._start = datetime(2025, 12, 24, tzinfo=UTC)
        self._after = self._start + timedelta(days=HISTORY + n_rounds)

    def describe(self) -> str:
        """Describe the scenario in one sentence."""
        users, items = len(self.people), sum(map(len, self._items.values()))
        return f"{users} simulated users with hidden policies choose among {items} films, books, restaurants and trains"

    def catalogue(self) -> Iterator[tuple[str, Candidate]]:
        """Yield the domain and candidate of every item."""
        return ((domain, item) for domain, items in self._items.items() for item in items)

    def past(self) -> Iterator[Interaction]:
        """Yield interactions of an earlier phase, with the early wants alone."""
        for person in self.people:
            taken = people.history(person, self._items, self._facts_of, self._rng(person, "past"), HISTORY)
            for place, item in enumerate(taken):
                at = self._start + timedelta(days=place)
                yield Interaction(**envelope(at), user_id=person.user_id, domain=person.domain, item=item)

    def rounds(self) -> Iterator[Sequence[DemoChoice]]:
        """Yield one choice of every user per round."""
        rngs = [self._rng(person, "rounds") for person in self.people]
        for turn in range(self.n_rounds):
            at = self._start + timedelta(days=HISTORY + turn)
            yield [self._make_choice(person, rng, f"{turn}", at) for person, rng in zip(self.people, rngs, strict=True)]

    def test_choices(self) -> Sequence[DemoChoice]:
        """Return a few choices of every user after the last round."""
        return [
            self._make_choice(person, rng, f"held-{place}", self._after)
            for person in self.people
            for rng in [self._rng(person, "held")]
            for place in range(TEST_CHOICES)
        ]

    def has_skill(self, user_id: str) -> bool:
        """Return False for a user of the arm without skills."""
        return int(user_id.rpartition("-")[2]) % NO_SKILL_EVERY != 0

    def statements(self, skills: Mapping[SkillKey, PolicySkill]) -> Iterator[Event]:
        """Yield the users' statements, two weeks after the last choice."""
        start = self._after + timedelta(days=PAUSE_DAYS)
        moments = (start + timedelta(minutes=minute) for minute in count())
        for number, person in enumerate(self.people, 1):
            about: dict[str, Any] = {"user_id": person.user_id, "domain": person.domain}
            for text in CORRECTIONS.get(number, ()):
                yield Correction(**envelope(next(moments)), **about, text=text)
            if number in SIGNALS:
                signal, value = SIGNALS[number]
                item = self._items[person.domain][number]
                yield Feedback(**envelope(next(moments)), **about, item=item, signal=signal.value, value=value)
            skill = skills.get((person.user_id, person.domain))
            if number in PINS and skill is not None and skill.attributes:
                pin = {"action": Action.PIN, "attribute_id": skill.attributes[0].attribute_id}
                yield SkillCommand(**envelope(next(moments)), **about, **pin, actor=person.user_id)
            chat = CHATS.get(number, ())
            for turn, text in enumerate(chat, 1):
                place = {"conversation_id": "chat", "turn": turn, "ends": turn == len(chat)}
                yield Utterance(**envelope(next(moments)), user_id=person.user_id, text=text, **place)

    def last_lists(self) -> Sequence[DemoChoice]:
        """Return a list each for some users, an hour after the statements."""
        at = self._after + timedelta(days=PAUSE_DAYS, hours=1)
        return [self._make_choice(each, self._rng(each, "last"), "last", at) for each in self.people[:LAST_LISTS]]

    def wants_found(self, skills: Mapping[SkillKey, Sequence[Attribute]]) -> float:
        """Return the mean share of hidden wants in these lines."""
        return mean(
            each.agreement({line.attribute_id: line.tier for line in skills.get((each.user_id, each.domain), ())})
            for each in self.people
        )

    def policy(self, user_id: str) -> list[str]:
        """Return the lines of a user's hidden policy, the strongest first."""
        person = next(each for each in self.people if each.user_id == user_id)
        return [*person.policy(), *(["pays 20 EUR more to save 40 minutes"] if person.costs else [])]

    def _rng(self, person: Person, purpose: str) -> random.Random:
        return random.Random(f"{self._seed}:{person.user_id}:{purpose}")  # noqa: S311 - a simulation

    def _make_choice(self, person: Person, rng: random.Random, name: str, at: datetime) -> DemoChoice:
        shown = tuple(rng.sample(self._items[person.domain], people.SLATE))
        taken = person.choose(shown, self._facts_of, rng).item_id
        return DemoChoice(f"{person.user_id}-{name}", person.user_id, person.domain, shown, taken, at)

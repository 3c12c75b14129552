"""Measures false alarms and delays of the test of change.

    python -m benchmarks.shifts [--people N] [--choices N]

People of the demo, with hidden policies: the taste of half of them stays, the others have another policy from the
middle on. Each chooses from lists of ten; the steps are the worker's own, in this process. It prints JSON; exit status
1: false alarms for more than one in fifty people.
"""

import argparse
import json
import random
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from operators.attributes import fact_id
from operators.evolve.proposals import CountsReasoner
from operators.language.privacy import read_item
from operators.statinit import parser_for
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.prior import PriorState, PriorStep, SkillStart
from schemas import Contrast, Interaction, ItemFacts, Position, Profile, SkillChangeKind
from streams.local.demo import catalogue, people
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

# As many choices as the demo has, for more people than it has.
PEOPLE, CHOICES = 200, 16
HISTORY = 12
SLATE = 10
MOST_ALARMED = 1 / 50
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=PEOPLE, help="of each kind")
    parser.add_argument("--choices", type=int, default=CHOICES, help="of each person; as many again after a taste ends")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    found = measured(args.people, args.choices, args.seed)
    print(json.dumps(found))
    return int(found["alarmed"] > MOST_ALARMED * found["people"])


def measured(n_people: int, n_choices: int, seed: int) -> dict[str, Any]:
    """The figures of people with lasting and with ending tastes."""
    world = World(2 * n_people, seed)
    holding = [world.play(number, n_choices) for number in range(n_people)]
    alarms = [alarm for found, _ in holding for alarm in found]
    delays: list[int] = []
    changed = 0
    for number in range(n_people):
        found, sure = world.play(number, 2 * n_choices, ends_after=n_choices)
        ended = world.ended(number) & sure
        changed += bool(ended)
        after = [choice - n_choices for choice, line in found if choice > n_choices and line in ended]
        delays += after[:1]
    return {
        "people": n_people,
        "choices": n_people * n_choices,
        "alarms": len(alarms),
        "alarmed": sum(bool(found) for found, _ in holding),
        "per_1000_choices": round(1_000 * len(alarms) / (n_people * n_choices), 2),
        "changed": changed,
        "seen": len(delays),
        "choices_after": n_choices,
        "median_choices": median(delays) if delays else None,
    }


class World:
    """People with hidden policies, and the facts of the items."""

    def __init__(self, n_people: int, seed: int) -> None:
        self._seed = seed
        self._items = catalogue.load()
        self._facts: Mapping[str, ItemFacts] = {
            item.item_id: read_item(item, domain, parser_for(domain, {}), PRIVACY).facts
            for domain, items in self._items.items()
            for item in items
        }
        self._facts_of = lambda item: self._facts[item.item_id].facts
        self._people = people.simulate(n_people, seed, self._items, self._facts_of)
        self._evolve, self._start = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE), SkillStart(privacy=PRIVACY)
        self._rules = CountsReasoner()

    def other(self, number: int) -> people.Person:
        """A person of the same domain with other wishes."""
        person = self._people[number]
        return next(
            each
            for each in reversed(self._people)
            if each.domain == person.domain and not _wants(each) & _wants(person)
        )

    def ended(self, number: int) -> frozenset[str]:
        """The attributes that a person wants until their taste ends."""
        return _wants(self._people[number])

    def play(
        self, number: int, n_choices: int, ends_after: int | None = None
    ) -> tuple[list[tuple[int, str]], frozenset[str]]:
        """A person's alarms (choice, line), and the testable lines."""
        person = self._people[number]
        rng = random.Random(f"{self._seed}:{number}")
        profile = self._past(person, rng)
        skill, alarms, sure = None, list[tuple[int, str]](), frozenset[str]()
        for turn in range(1, n_choices + 1):
            if turn - 1 == ends_after:
                person = self.other(number)
                sure = frozenset(line.attribute_id for line in skill.attributes if line.tier) if skill else sure
            shown = tuple(rng.sample(self._items[person.domain], SLATE))
            taken = person.choose(shown, self._facts_of, rng).item_id
            contrast = Contrast(
                event_id=f"c{turn}",
                occurred_at=NOON + timedelta(days=HISTORY + turn),
                user_id=f"user-{number}",
                domain=person.domain,
                ranking_id=f"r{turn}",
                chosen=self._facts[taken],
                chosen_rank=1,
                unchosen=tuple(self._facts[item.item_id] for item in shown if item.item_id != taken),
                skill_version=0,
            )
            skill = skill or self._start.skill(contrast.user_id, contrast.domain, contrast, profile)
            done = self._evolve.finish(EvolveState(skill), contrast, self._rules.propose(contrast, skill))
            changes = () if done.diff is None else done.diff.changes
            alarms += [(turn, each.attribute_id) for each in changes if each.kind is SkillChangeKind.SHIFTED]
            skill = done.skill
        return alarms, sure

    def _past(self, person: people.Person, rng: random.Random) -> Profile | None:
        profile = None
        for place, item in enumerate(people.history(person, self._items, self._facts_of, rng, HISTORY)):
            at = NOON + timedelta(days=place)
            visit = Interaction(
                event_id=f"v{place}", occurred_at=at, user_id=person.user_id, domain=person.domain, item=item
            )
            source = Position(topic="interactions", partition=0, offset=place, timestamp_ms=int(1_000 * at.timestamp()))
            done = PriorStep().step(PriorState(profile), visit, self._facts[item.item_id], source, at)
            profile = done.profile or profile
        return profile


def _wants(person: people.Person) -> frozenset[str]:
    return frozenset(fact_id(want.fact) for want in person.wants)


if __name__ == "__main__":
    sys.exit(main())

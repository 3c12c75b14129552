"""Measures state and CPU per event of one user with very many interactions and choices; neither may grow.

    python -m benchmarks.one_user [--most 1000000] [--json]

It drives the operators as the agents do, without Kafka: table values are encoded at every step and kept decoded, as in
a worker. Every item is new, and so are some of its facts, which is the worst case for counters. CPU is this process's
own, per event since the previous line.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from operators import contrast as join
from operators.contrast import ContrastOutcome, RingLimits, slot_of
from operators.evolve.proposals import CountsReasoner
from operators.graph.items import GraphLimits
from operators.statinit import BUILT_IN, facts_of
from operators.steps import EvolveState, EvolveStep, SkillStart
from operators.steps import prior as past
from schemas import Candidate, Memory, Model, OpenRankings, Position, Profile, compound_key, encode
from schemas.codec import ModelT
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Contrast, Interaction, Ranking, Selection
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
USER, DOMAIN = "ann", "films"
TURNS = (1_000, 10_000, 100_000, 1_000_000)
# One event in this many is a ranking, half of them with a selection; the others are interactions.
CHOICE_EVERY = 20


@dataclass(frozen=True)
class Point:
    """The user's state after a number of events.

    Attributes:
        events: interactions and choices so far.
        state_bytes: the size of everything kept of the user, per table.
        cpu_us: CPU per event since the previous point, in microseconds.
    """

    events: int
    state_bytes: dict[str, int]
    cpu_us: float

    @property
    def total_bytes(self) -> int:
        """The size over all tables."""
        return sum(self.state_bytes.values())


class OneUser:
    """Plays the agents for one user, whose state is decoded once, as in a worker."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        self._tables: dict[str, dict[bytes, bytes]] = {}
        self._decoded: dict[tuple[str, bytes], Model] = {}
        self._parse = BUILT_IN["movietv"]
        self._prior, self._evolve = past.PriorStep(graph=GraphLimits()), EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)

    def event(self, number: int) -> None:
        """Plays an interaction or, now and then, a choice."""
        at = BEGINNING + timedelta(minutes=number)
        where = Position(topic="t", partition=0, offset=number, timestamp_ms=number)
        if number % CHOICE_EVERY:
            self._interaction(number, at, where)
        else:
            self._choice(number, at, where)

    def value(self, model: type[ModelT]) -> ModelT | None:
        """What a table holds of the user in the domain."""
        return self._read(model)

    def values(self, model: type[ModelT]) -> list[ModelT]:
        """The user's newest values of this model: a table's, or the last contrast or diff."""
        return [value for value in self._decoded.values() if isinstance(value, model)]

    @property
    def state_bytes(self) -> dict[str, int]:
        """The size of the tables' entries, including keys."""
        return {name: sum(len(k) + len(v) for k, v in table.items()) for name, table in self._tables.items()}

    def _interaction(self, number: int, at: datetime, where: Position) -> None:
        item = self._item(number)
        facts = facts_of(item, self._parse)
        event = Interaction.model_validate(
            {"event_id": f"i{number}", "occurred_at": at, "user_id": USER, "domain": DOMAIN, "item": item}
        )
        effects = self._prior.step(past.PriorState(self._read(Profile), self._read(Memory)), event, facts, where)
        if effects.remembered is not None:
            self._write(effects.remembered.memory)
        if effects.profile is not None:
            self._write(effects.profile)

    def _choice(self, number: int, at: datetime, where: Position) -> None:
        about = {"occurred_at": at, "user_id": USER, "ranking_id": f"r{number}"}
        shown = [self._item(number * 10 + place) for place in range(10)]
        ranking = Ranking.model_validate({"event_id": f"r{number}", "domain": DOMAIN, "candidates": shown, **about})
        taken = self._rng.choice(shown).item_id
        selection = Selection.model_validate({"event_id": f"s{number}", "item_id": taken, **about})
        key = compound_key(USER, slot_of(ranking.ranking_id))
        limits, there = RingLimits(), where.model_copy(update={"topic": "s"})
        rings = join.ContrastState(self._read(OpenRankings, key))
        step = join.on_ranking(rings, ranking, lambda candidate: facts_of(candidate, self._parse), where, limits)
        if not isinstance(step, ContrastOutcome) and number % (2 * CHOICE_EVERY):
            step = join.on_selection(join.ContrastState(step.state), selection, there, limits)
        if isinstance(step, ContrastOutcome):
            return
        self._write(step.state, key)
        if step.contrast is None:
            return
        self._decoded[Contrast.__name__, b""] = step.contrast
        state = EvolveState(
            self._read(PolicySkill) or SkillStart(privacy=PRIVACY).skill(USER, DOMAIN, step.contrast, None)
        )
        known = self._evolve.prepare(state, step.contrast, where).contrast
        if known is not None:
            skill = self._evolve.finish(state, known, CountsReasoner().propose(known, state.skill), where).skill
            self._write(skill)
            if skill.last_diff is not None:
                self._decoded[SkillDiff.__name__, b""] = skill.last_diff

    def _item(self, number: int) -> Candidate:
        metadata = {
            "genres": f"Drama|{self._rng.choice(('War', 'Noir', 'Saga'))}",
            "director": f"Director {chr(65 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676 % 26)}",
            "keywords": [f"word {number % 99_991}", f"theme {number % 7}"],
            "year": 1950 + number % 70,
        }
        return Candidate(item_id=f"item-{number}", title=f"Film {number}", metadata=metadata)

    def _read(self, model: type[ModelT], key: bytes = b"") -> ModelT | None:
        value = self._decoded.get((model.__name__, key))
        return value if isinstance(value, model) else None

    def _write(self, value: Model, key: bytes = b"") -> None:
        self._tables.setdefault(type(value).__name__, {})[key] = encode(value)
        self._decoded[type(value).__name__, key] = value


def measure(turns: tuple[int, ...]) -> Iterator[Point]:
    """Yields a point at each of these numbers of events."""
    user, done = OneUser(), 0
    for turn in turns:
        begun = time.process_time()
        for number in range(done, turn):
            user.event(number)
        yield Point(turn, user.state_bytes, (time.process_time() - begun) / (turn - done) * 1e6)
        done = turn


def main() -> None:
    """Measures and prints each line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=TURNS[-1], help="stop after this many events")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    args = parser.parse_args()
    turns = tuple(turn for turn in TURNS if turn <= args.most) or (args.most,)
    if not args.json:
        print(f"{'events':>10} {'bytes':>9} {'us/event':>9}  by table", flush=True)
    for point in measure(turns):
        if args.json:
            print(json.dumps(vars(point) | {"total_bytes": point.total_bytes}), flush=True)
        else:
            tables = ", ".join(f"{name} {size}" for name, size in sorted(point.state_bytes.items()))
            print(f"{point.events:>10,} {point.total_bytes:>9,} {point.cpu_us:>9.0f}  {tables}", flush=True)


if __name__ == "__main__":
    main()

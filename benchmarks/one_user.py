"""Measures one user's state and CPU per event, which must not grow.

    python -m benchmarks.one_user [--most 1000000]

It drives the operators as the agents do, without Kafka: table values are encoded at every step and kept decoded, as in
a worker. Every item is new, and so are some of its facts, which is the worst case for counters. It prints one JSON
object per line; CPU is this process's own, per event since the previous line.
"""

import argparse
import json
import random
import time
from datetime import UTC, datetime, timedelta

from operators.contrast import RingLimits, join_ranking, join_selection, slot_of
from operators.evolve.proposals import CountsReasoner
from operators.graph.items import GraphLimits
from operators.statinit import BUILT_IN, facts_of
from operators.steps import prior as past
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.prior import SkillStart
from schemas import Candidate, Memory, Model, ModelT, OpenRankings, PolicySkill, Position, Profile, compound_key, encode
from schemas.events import Interaction, Ranking, Selection
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
USER, DOMAIN = "ann", "films"
TURNS = (1_000, 10_000, 100_000, 1_000_000)
# One event in this many is a ranking, half of them with a selection; the others are interactions.
CHOICE_EVERY = 20


class OneUser:
    """Plays the agents for one user, with decoded states."""

    def __init__(self, seed: int = 1) -> None:
        self._rng = random.Random(seed)
        self._tables: dict[str, dict[bytes, bytes]] = {}
        self._decoded: dict[tuple[str, bytes], Model] = {}
        self._parse = BUILT_IN["movietv"]
        self._prior, self._evolve = past.PriorStep(graph=GraphLimits()), EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)

    def event(self, number: int) -> None:
        """Play an interaction or, one time in `CHOICE_EVERY`, a choice."""
        at = BEGINNING + timedelta(minutes=number)
        where = Position(topic="t", partition=0, offset=number, timestamp_ms=number)
        if number % CHOICE_EVERY:
            self._interaction(number, at, where)
        else:
            self._choice(number, at, where)

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
        effects = self._prior.step(past.PriorState(self.value(Profile), self.value(Memory)), event, facts, where)
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
        rings = self.value(OpenRankings, key)
        step = join_ranking(rings, ranking, lambda candidate: facts_of(candidate, self._parse), where, limits)
        if step.is_new and number % (2 * CHOICE_EVERY):
            step = join_selection(step.state, selection, there, limits)
        if not step.is_new:
            return
        self._write(step.state, key)
        if step.contrast is None:
            return
        state = EvolveState(
            self.value(PolicySkill) or SkillStart(privacy=PRIVACY).skill(USER, DOMAIN, step.contrast, None)
        )
        known = self._evolve.prepare(state, step.contrast, where).contrast
        if known is not None:
            self._write(self._evolve.finish(state, known, CountsReasoner().propose(known, state.skill), where).skill)

    def _item(self, number: int) -> Candidate:
        metadata = {
            "genres": f"Drama|{self._rng.choice(('War', 'Noir', 'Saga'))}",
            "director": f"Director {chr(65 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676 % 26)}",
            "keywords": [f"word {number % 99_991}", f"theme {number % 7}"],
            "year": 1950 + number % 70,
        }
        return Candidate(item_id=f"item-{number}", title=f"Film {number}", metadata=metadata)

    def value(self, model: type[ModelT], key: bytes = b"") -> ModelT | None:
        """The newest value of a table."""
        value = self._decoded.get((model.__name__, key))
        return value if isinstance(value, model) else None

    def _write(self, value: Model, key: bytes = b"") -> None:
        self._tables.setdefault(type(value).__name__, {})[key] = encode(value)
        self._decoded[type(value).__name__, key] = value


def main() -> None:
    """Measure, and print each line as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=TURNS[-1], help="stop after this many events")
    args = parser.parse_args()
    user, done = OneUser(), 0
    for turn in [turn for turn in TURNS if turn <= args.most] or [args.most]:
        began = time.process_time()
        for number in range(done, turn):
            user.event(number)
        cpu_us = (time.process_time() - began) / (turn - done) * 1e6
        sizes = user.state_bytes
        print(json.dumps({"events": turn, "cpu_us": cpu_us, "total_bytes": sum(sizes.values()), **sizes}), flush=True)
        done = turn


if __name__ == "__main__":
    main()

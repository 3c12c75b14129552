"""Measures the CPU of one choice, part by part.

    python -m benchmarks.choice [--users 200] [--rounds 15]
    python -m benchmarks.choice --data DIR [--users 33]

Without Kafka, tables and the event loop: the events are those of `benchmarks.throughput`, the parts are called in the
worker's order with the worker's settings, states are kept decoded as a worker keeps them. `reference` is a fixed piece
of work, timed between the choices: on a busy machine, compare `choices / reference` and not microseconds.

`--data` measures bytes instead: of the diffs, by field, and of the skills, in the stream of choices of a data set.
"""

import argparse
import asyncio
import gc
import hashlib
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar, cast

from evaluation.plans import ListKind, plans
from evaluation.skill_arms import SAGER, STREAM_RULES, SkillArm
from evaluation.stream import in_order
from operators.admission import reject_reason
from operators.contrast import ContrastEffects, join_ranking, join_selection, slot_of
from operators.evolve.proposals import CountsReasoner
from operators.steps.evolve import EvolveState, EvolveStep, SkillVersion
from schemas import OpenRankings, PolicySkill, Position, SkillDiff, compound_key, decode, encode
from schemas.events import Contrast, Ranking, Selection
from streams.local.demo import catalogue
from streams.settings import Settings
from streams.steps import evolve_of
from streams.worker import metrics
from streams.worker.agents.contrast import count as count_contrast
from streams.worker.deps import Deps
from streams.worker.skills import count as count_version

WARM_ROUNDS = 2
CONVERSIONS = ("validate_json", "validate_python", "to_json", "to_python")
CLOCK_READS = 1_000
REFERENCE = bytes(range(256)) * 64
_T = TypeVar("_T")


class Meter:
    """CPU nanoseconds by part, of each choice."""

    def __init__(self) -> None:
        self.choices: list[Counter[str]] = [Counter()]
        began = time.thread_time_ns()
        for _ in range(CLOCK_READS):
            time.thread_time_ns()
        self._clock = (time.thread_time_ns() - began) // CLOCK_READS

    def run(self, part: str, do: Callable[..., _T], *args: Any) -> _T:
        """What `do` returns; its CPU counts for the part."""
        began = time.thread_time_ns()
        result = do(*args)
        self.choices[-1][part] += time.thread_time_ns() - began - self._clock
        return result

    def typical_us(self, part: str) -> float:
        """The median of a part in microseconds, robust to other load."""
        return statistics.median(choice[part] for choice in self.choices) / 1000


class Worker:
    """The pure part of a worker, over states in memory."""

    def __init__(self, settings: Settings, meter: Meter) -> None:
        self._deps = Deps(settings)
        self._meter = meter
        self._step: EvolveStep = replace(evolve_of(settings), chain_key=settings.chain_key_bytes)
        self._rules = CountsReasoner()
        self._rings: dict[tuple[str, int], OpenRankings] = {}
        self._skills: dict[str, PolicySkill] = {}
        self._offset = 0
        self.sizes: Counter[str] = Counter()

    def choice(self, ranking: bytes, selection: bytes) -> None:
        """Process a ranking and its selection, from bytes to bytes."""
        run = self._meter.run
        shown = run("decode ranking", decode, Ranking, ranking)
        run("admit", self._admit, shown)
        opened = self._ring(run("contrast: ranking", self._on_ranking, shown), shown.user_id, shown.ranking_id)
        if opened.contrast is None:
            taken = run("decode selection", decode, Selection, selection)
            run("admit", self._admit, taken)
            opened = self._ring(run("contrast: selection", self._on_selection, taken), taken.user_id, taken.ranking_id)
        made = cast("Contrast", opened.contrast)
        raw = run("encode contrast", encode, made)
        self.sizes["contrast"] += len(raw)
        run("metrics: contrast", count_contrast, made)
        contrast = run("decode contrast", decode, Contrast, raw)
        run("admit", self._admit, contrast)
        self._evolve(contrast)

    def _evolve(self, contrast: Contrast) -> None:
        run, source = self._meter.run, self._position("contrasts")
        skill = self._skills.get(contrast.user_id)
        if skill is None:
            skill = self._deps.start.skill(contrast.user_id, contrast.domain, contrast, None)
        state = EvolveState(skill)
        begun = run("evolve: begin", self._step.prepare, state, contrast, source, datetime.now(UTC))
        known = cast("Contrast", begun.contrast)
        proposal = run("evolve: rules", self._rules.propose, known, skill)
        effects = run("evolve: finish", self._step.finish, state, known, proposal, source)
        version = cast("SkillVersion", effects.version)
        self._skills[contrast.user_id] = version.skill
        for name, record in (("skill", version.skill), ("diff", version.diff), ("slim", version.slim)):
            if record is not None:
                self.sizes[name] += len(run(f"encode {name}", encode, record))
        run("metrics: version", count_version, cast("SkillDiff", version.diff), self._step.gate)
        if version.slim is not None:
            run("metrics: version", metrics.SLIM_TOKENS.observe, version.slim.tokens)

    def _on_ranking(self, ranking: Ranking) -> ContrastEffects:
        deps = self._deps
        opt_out = deps.privacy.opt_out(ranking.instruction)
        instruction = deps.redact_instruction(ranking.instruction, ranking.domain)
        injected = deps.privacy.injected(ranking.injected, ranking.domain)
        kept = ranking.model_copy(update={"instruction": instruction, "injected": injected})
        rings = self._rings.get((ranking.user_id, slot_of(ranking.ranking_id)))
        parse, source = partial(deps.facts_of, ranking.domain), self._position("rankings")
        return join_ranking(rings, kept, parse, source, deps.ring_limits, opt_out)

    def _on_selection(self, selection: Selection) -> ContrastEffects:
        rings = self._rings.get((selection.user_id, slot_of(selection.ranking_id)))
        return join_selection(rings, selection, self._position("selections"), self._deps.ring_limits)

    def _ring(self, step: ContrastEffects, user_id: str, ranking_id: str) -> ContrastEffects:
        self.sizes["open-rankings"] += len(self._meter.run("encode open-rankings", encode, step.state))
        self._rings[user_id, slot_of(ranking_id)] = step.state
        return step

    def _admit(self, record: Ranking | Selection | Contrast) -> None:
        now = datetime.now(UTC)
        compound_key(record.user_id, "")
        reject_reason(record, now, now, None, b"")

    def _position(self, topic: str) -> Position:
        self._offset += 1
        at = int(time.time() * 1000)
        return Position(topic=f"bench.{topic}", partition=0, offset=self._offset, timestamp_ms=at)


def events(users: int, rounds: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield rankings of ten built-in films, each with a selection."""
    films = catalogue.load()["films"]
    rng = random.Random(1)
    for number in range(users * rounds):
        shown, user_id = tuple(rng.sample(films, 10)), f"user-{number % users}"
        now = datetime.now(UTC)
        ids = [hashlib.blake2b(f"{kind}{number}".encode(), digest_size=16).hexdigest() for kind in "rs"]
        ranking = Ranking(
            event_id=ids[0], occurred_at=now, ranking_id=ids[0], user_id=user_id, domain="films", candidates=shown
        )
        item = shown[rng.randrange(10)].item_id
        selection = Selection(event_id=ids[1], occurred_at=now, user_id=user_id, ranking_id=ids[0], item_id=item)
        yield encode(ranking), encode(selection)


def reference() -> None:
    """A fixed piece of work, half interpreter and half C."""
    found: dict[str, int] = {}
    for number in range(60):
        found[f"{number}"] = len(json.dumps(found, sort_keys=True)) if number % 20 == 0 else number
    hashlib.sha256(REFERENCE).hexdigest()


def calls(users: int, rounds: int, folder: Path) -> dict[str, float]:
    """Count a choice's calls, and pydantic's conversions among them.

    The same on every machine, and near to proportional to the CPU.
    """
    counted: Counter[str] = Counter()
    worker = Worker(Settings(data_dir=folder), Meter())

    def count(_: FrameType, event: str, called: Any) -> None:
        if event == "call":
            counted["python"] += 1
        elif event == "c_call":
            counted["c"] += 1
            if called.__name__ in CONVERSIONS:
                counted[called.__name__] += 1

    for number, (ranking, selection) in enumerate(events(users, rounds + WARM_ROUNDS)):
        sys.setprofile(count if number >= users * WARM_ROUNDS else None)
        worker.choice(ranking, selection)
        sys.setprofile(None)
    return {name: round(times / users / rounds, 1) for name, times in counted.items()}


def measure(users: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Microseconds per choice, by part."""
    meter = Meter()
    worker = Worker(Settings(data_dir=folder), meter)
    for number, (ranking, selection) in enumerate(events(users, rounds + WARM_ROUNDS)):
        if number == users * WARM_ROUNDS:
            gc.collect()
            gc.freeze()
            meter.choices.clear()
            worker.sizes.clear()
        meter.choices.append(Counter())
        worker.choice(ranking, selection)
        meter.run("reference", reference)
    names = dict.fromkeys(name for choice in meter.choices for name in choice)
    parts = {name: round(meter.typical_us(name), 1) for name in names}
    of_reference, choices = parts.pop("reference"), len(meter.choices)
    total = sum(parts.values())
    return {
        "choices": choices,
        "parts_us": parts,
        "total_us": round(total, 1),
        "reference_us": of_reference,
        "total_in_references": round(total / of_reference, 2),
        "bytes": {name: round(size / choices) for name, size in worker.sizes.items()},
    }


async def stream_sizes(data: Path, users: int, settings: Settings) -> dict[str, Any]:
    """Bytes per choice after three visits, and changes of lines, from lists drawn by popularity."""
    plan = plans(data, [ListKind.POPULAR], [3], users)[0]
    step = replace(evolve_of(settings), chain_key=settings.chain_key_bytes)
    arm = SkillArm(replace(STREAM_RULES[SAGER], evolve=step), plan)
    sizes, fields, changes = Counter[str](), Counter[str](), Counter[str]()
    turns = in_order(plan, 0)
    for number, turn in enumerate(turns):
        await arm.learn(turn, await arm.answer(turn), turn.shown.taken)
        skill = arm.skills[turn.user_id]
        source = Position(topic="bench.contrasts", partition=0, offset=number, timestamp_ms=1_700_000_000_000)
        diff = cast("SkillDiff", skill.last_diff).model_copy(update={"source": source})
        raw = encode(diff)
        sizes += Counter(diff=len(raw), skill=len(encode(skill)), hypotheses=len(skill.hypotheses))
        sizes["lines"] += len(skill.attributes)
        fields += {name: len(json.dumps(part, separators=(",", ":"))) for name, part in json.loads(raw).items()}
        changes += Counter(change.kind.value for change in diff.changes)
    per_choice = {"per_choice": sizes, "bytes_by_field": fields, "changes": changes}
    return {
        "data": plan.data,
        "choices": len(turns),
        **{name: {key: round(n / len(turns), 2) for key, n in of.most_common()} for name, of in per_choice.items()},
    }


def main() -> None:
    """Measure, and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="measure the bytes of a data set's choices")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=15, help="choices per user, beside two that warm up")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sager-choice-") as folder:
        if args.data is not None:
            found = asyncio.run(stream_sizes(args.data, args.users, Settings(data_dir=Path(folder))))
        else:
            found = measure(args.users, args.rounds, Path(folder))
            found["calls"] = calls(20, 5, Path(folder))
    print(json.dumps({"benchmark": "choice", **found}))


if __name__ == "__main__":
    main()

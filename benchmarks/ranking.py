"""Measures how long the ranking of one long list takes.

    python -m benchmarks.ranking [--candidates 100] [--numbers 8] [--lines 200] [--json]

The person has made a choice for each line, so that each line and number counts. The step is the worker's own, in this
process, without community. Exit status 1: the median is above five milliseconds.
"""

import argparse
import json
import random
import statistics
import sys
import time

from operators.attributes import from_fact
from operators.graph.facets import Retrieved
from operators.learning.tradeoffs import pair
from operators.steps.rank import RankStep
from operators.weights import RankWeights
from schemas import ONE, Attribute, AttributeSource, Fact, ItemFacts, Tier
from schemas.diffs import NumberSums
from streams.policies import DEFAULT_GATE, DEFAULT_PRIVACY

MOST_MS = 5.0
ROUNDS, FACTS = 50, 12


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, default in (("candidates", 100), ("numbers", 8), ("lines", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    took = statistics.median(durations(args.candidates, args.numbers, args.lines))
    found = {"candidates": args.candidates, "numbers": args.numbers, "lines": args.lines, "median_ms": round(took, 2)}
    print(json.dumps(found) if args.json else f"{took:.2f} ms (median of {ROUNDS})")
    return int(took > MOST_MS)


def durations(candidates: int, numbers: int, lines: int) -> list[float]:
    """CPU milliseconds of each ranking."""
    rng = random.Random(1)
    facts = [Fact(dimension=f"kind_{number % 10}", value=f"value {number}") for number in range(lines)]
    names = [f"number_{letter}" for letter in "abcdefghijklmnopqrstuvwx"[:numbers]]
    sums = NumberSums(
        pulls={name: rng.randrange(-20 * ONE, 20 * ONE) for name in names},
        curves={pair(one, other): (20 * ONE if one == other else ONE) for one in names for other in names},
    )
    weights = RankWeights(numbers={name: rng.gauss(0, 1) for name in names})
    held = [_line(fact, rng) for fact in facts]
    step = RankStep(gate=DEFAULT_GATE, privacy=DEFAULT_PRIVACY)
    found = []
    for number in range(ROUNDS):
        items = [
            ItemFacts(
                item_id=f"item-{place}",
                facts=tuple(rng.sample(facts, min(FACTS, lines))),
                measures={name: rng.gauss(100, 20) for name in names},
            )
            for place in range(candidates)
        ]
        began = time.thread_time_ns()
        features = step.features_of(items, held, Retrieved(), weights=weights, numbers=sums)
        step.order(items, features, "", str(number), weights)
        found.append((time.thread_time_ns() - began) / 1e6)
    return found


def _line(fact: Fact, rng: random.Random) -> Attribute:
    counts = rng.randrange(ONE, 8 * ONE), rng.randrange(ONE, 8 * ONE)
    return from_fact(fact, Tier.LOW, AttributeSource.DISCOVERED, counts=counts)


if __name__ == "__main__":
    sys.exit(main())

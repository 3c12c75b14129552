"""Searches the ranker's weights, on training visits only: no tested user's last visit is ever read.

    python -m evaluation.tune DIR [DIR ...] [--users 300] [--seed 0]

Each sampled user's last *training* visit is held out and ranked against nine drawn items, uniform and popular. For
every set of weights it prints Hit@1 per data set and kind of negatives with the skill, and the skill's gain over the
same weights without it. It ends with the set that is best on average among those where the skill loses least.
"""

import argparse
import asyncio
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from evaluation.arms.options import ArmOptions
from evaluation.arms.sager import Parts, Sager
from evaluation.case import Case, Split
from evaluation.draw import NEGATIVES, Negatives, Pool, chance, sample, shuffled
from evaluation.split import read
from operators.rank.weights import RankWeights

LEAST_VISITS = 4
GRID = tuple(
    RankWeights(companions, popularity, facets, skill)
    for companions, popularity, facets, skill in itertools.product(
        (0.7, 1.0, 1.4), (0.15, 0.3, 0.5), (0.0, 0.1, 0.2, 0.4), (0.6, 0.8, 1.0)
    )
)
HARM = 0.01
"""Sets in which the skill costs more Hit@1 than this on any data set come last."""


def validation(path: Path, users: int, seed: int) -> tuple[dict[Negatives, Split], dict[str, str]]:
    """A split of training visits per kind of negatives, with what each user took."""
    split, _ = read(path, seed=seed)
    able = [case.user_id for case in split.cases if len(split.training[case.user_id]) >= LEAST_VISITS]
    answers = {user_id: split.training[user_id][-1].item_id for user_id in sample(able, users, seed)}
    training = {user_id: visits[:-1] if user_id in answers else visits for user_id, visits in split.training.items()}
    met = dict.fromkeys(split.items, 0)
    for visits in training.values():
        for visit in visits:
            met[visit.item_id] += 1

    def cases(kind: Negatives) -> Iterator[Case]:
        pool = Pool(met, kind)
        for user_id, answer in answers.items():
            known = {visit.item_id for visit in split.training[user_id]}
            drawn = pool.draw(chance(seed, f"validation {kind}", user_id), NEGATIVES, known)
            if drawn is not None:
                yield Case(user_id, shuffled((answer, *drawn), seed, user_id), "", f"{seed}/{user_id}")

    base = replace(split, training=training)
    return {kind: replace(base, cases=tuple(cases(kind))) for kind in Negatives}, answers


async def hits(arm: Sager, split: Split, answers: dict[str, str], weights: RankWeights) -> float:
    """Hit@1 of a trained arm with these weights."""
    arm.weights = weights
    found = [(await arm.rank(case)).order[0] == answers[case.user_id] for case in split.cases]
    return sum(found) / len(found)


async def search(paths: list[Path], users: int, seed: int) -> None:
    """Prints the table and the best set."""
    lists: list[tuple[str, Sager, Split, dict[str, str]]] = []
    for path in paths:
        splits, answers = validation(path, users, seed)
        arm = Sager(Parts("statinit", evolve=False), ArmOptions(seed=seed))
        await arm.train(splits[Negatives.UNIFORM], lambda *_: None)
        print(f"{path.name}: trained", file=sys.stderr, flush=True)
        lists += [(f"{path.name}/{kind}", arm, split, answers) for kind, split in splits.items()]
    print("companions popularity facets skill | " + " | ".join(name for name, *_ in lists) + " | mean, least gain")
    best: tuple[bool, float, RankWeights] | None = None
    for weights in GRID:
        given = [await hits(arm, split, answers, weights) for _, arm, split, answers in lists]
        without = [await hits(arm, split, answers, replace(weights, skill=0.0)) for _, arm, split, answers in lists]
        gains = [hit - bare for hit, bare in zip(given, without, strict=True)]
        mean = sum(given) / len(given)
        told = " | ".join(f"{hit:.3f} ({gain:+.3f})" for hit, gain in zip(given, gains, strict=True))
        print(
            f"{weights.companions:.2f} {weights.popularity:.2f} {weights.facets:.2f} {weights.skill:.2f} | {told} | "
            f"{mean:.4f}, {min(gains):+.3f}",
            flush=True,
        )
        candidate = (min(gains) >= -HARM, mean, weights)
        best = candidate if best is None or candidate[:2] > best[:2] else best
    print(f"best: {best[2] if best else None}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.tune", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    asyncio.run(search(args.paths, args.users, args.seed))


if __name__ == "__main__":
    main()

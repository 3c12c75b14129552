"""Whether habits are found, where they are and where they are not.

    python -m benchmarks.habits --planted 20 [--json]     simulated users with a known habit: after how many choices
    python -m benchmarks.habits --blind 1000 [--json]     users who choose blindly: how many ever have a habit
    python -m benchmarks.habits --data DIR [--users 200] [--json]     a data set's users: how many have which

All by the worker's own step, without Kafka. `--data` replays the visits of users with 20 visits and more, at most 60 of
each, as choices among ten, once beside nine items drawn uniformly and once beside popular ones. With `--json` there is
an object per line: per habit, and for `--data` per kind of lists and habit.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.habits.planted import MOST, ever_found, found_after
from benchmarks.habits.real import Visits, found_in
from evaluation.draw import Negatives
from operators.habits import POLE_OF, POLES, Pole


def planted(users: int) -> Iterator[dict[str, object]]:
    """For each habit, after how many choices it was found in so many users who have it."""
    for pole in POLES:
        found = sorted(_found(pole, seed) for seed in range(users))
        yield {
            "habit": pole.value,
            "users": users,
            "median": median(found),
            "nine_of_ten": found[-(-9 * users // 10) - 1],
            "not_found": sum(number > MOST for number in found),
        }


def _found(pole: Pole, seed: int) -> int:
    return found_after(pole, seed) or MOST + 1


def blind(users: int, choices: int, processes: int) -> Iterator[dict[str, object]]:
    """How many of so many users who choose blindly ever have a habit, and which."""
    with ProcessPoolExecutor(processes) as pool:
        found = list(pool.map(partial(ever_found, choices=choices), range(users), chunksize=10))
    some = sum(map(bool, found))
    yield {"habit": "any", "users": users, "choices": choices, "ever": some, "share": round(some / users, 4)}
    for name, pole in POLE_OF.items():
        if times := sum(name in each for each in found):
            yield {"habit": pole.value, "users": users, "choices": choices, "ever": times}


def real(data: Path, users: int, seed: int) -> Iterator[dict[str, object]]:
    """How many users of a data set have which habits after their last choice, and had them at any time."""
    for kind in Negatives:
        visits = Visits(data, kind, seed)
        found = found_in(visits, users)
        about = {"data": data.resolve().name, "candidates": kind.value, "users": found.users, "choices": found.choices}
        yield {**about, "habit": "any", "have": found.some}
        for name, times in found.ever.most_common():
            yield {**about, "habit": POLE_OF[name].value, "have": found.last[name], "ever": times}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.habits", description=__doc__.partition("\n")[0])
    parser.add_argument("--planted", type=int, metavar="USERS", help="simulated users with each habit")
    parser.add_argument("--blind", type=int, metavar="USERS", help="simulated users who choose blindly")
    parser.add_argument("--choices", type=int, default=200, help="of each blind user")
    parser.add_argument("--processes", type=int, default=1, help="for --blind")
    parser.add_argument("--data", type=Path, metavar="DIR", help="a data set in any layout that `sager import` reads")
    parser.add_argument("--users", type=int, default=200, help="of the data set")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and the draws")
    parser.add_argument("--json", action="store_true", help="an object per line")
    given = parser.parse_args()
    if given.planted is None and given.blind is None and given.data is None:
        parser.error("one of --planted, --blind and --data is needed")
    if given.planted is not None:
        _tell(planted(given.planted), given.json)
    if given.blind is not None:
        _tell(blind(given.blind, given.choices, given.processes), given.json)
    if given.data is not None:
        _tell(real(given.data, given.users, given.seed), given.json)


def _tell(rows: Iterator[dict[str, object]], as_json: bool) -> None:
    for row in rows:
        said = json.dumps(row) if as_json else "  ".join(f"{name} {value}" for name, value in row.items())
        sys.stdout.write(said + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Tells what a deployment needs: cores, network, disk and memory, and how long choices wait, from measured constants.

    python -m benchmarks.capacity --json
    python -m benchmarks.capacity --users 250000 --choices-per-day 2e6
    python -m benchmarks.capacity --users 1000000 --values > size.yaml    # for `helm install --values size.yaml`
    python -m benchmarks.capacity --measure --write

Without measuring it takes a second. `--measure` measures the constants anew on this machine, in some minutes, and
replaces `benchmarks/capacity/constants.json` and `talks.json`; `--measure-talks` measures those of conversations alone,
in seconds. `--write` makes the tables of docs/capacity.md anew.
"""

import argparse
import json
from dataclasses import asdict

import yaml

from benchmarks.capacity import chart, constants, measure, tables, talks
from benchmarks.capacity.model import Size, needs
from benchmarks.processes import end_in_order


def main() -> None:
    """Computes, and measures before if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, help="only this size: how many users")
    parser.add_argument(
        "--choices-per-day", type=float, help="only this size: choices of all users (default: one each)"
    )
    parser.add_argument("--items", type=int, default=Size.items, help="of the catalogue (default: %(default)s)")
    parser.add_argument("--replication", type=int, default=Size.replication, help="copies (default: %(default)s)")
    parser.add_argument("--measure", action="store_true", help="measure the constants anew first")
    parser.add_argument("--measure-talks", action="store_true", help="measure those of conversations anew first")
    parser.add_argument("--write", action="store_true", help="make the tables of docs/capacity.md anew")
    parser.add_argument("--values", action="store_true", help="with --users: values of the Helm chart, as YAML")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    args = parser.parse_args()
    end_in_order()
    if args.users is not None and args.users < 1:
        parser.error("--users is at least 1")
    if args.measure:
        constants.save(measure.measured())
    if args.measure or args.measure_talks:
        talks.save(talks.measured())
    known = constants.load()
    if args.write:
        tables.DOC.write_text(tables.written(tables.DOC.read_text(encoding="utf-8"), known), encoding="utf-8")
    if args.users is not None:
        size = Size(args.users, args.choices_per_day or float(args.users), args.items, args.replication)
        if args.values:
            print(yaml.safe_dump(chart.values(size, known), sort_keys=False), end="")
            return
        print(json.dumps({**asdict(size), **asdict(needs(size, known))}))
    elif args.json:
        print(tables.as_json(known))
    else:
        print("\n\n".join(tables.tables(known).values()))


if __name__ == "__main__":
    main()

"""Run the attack corpus through the worker's steps, and print what comes through.

    python -m tests.redteam [FOLDER] [--json] [--by class|language|channel] [--failed]

Without a folder: the corpus of CI, with the generated part. `--json` prints a line per sample.
"""

import argparse
import json
from pathlib import Path

from tests.redteam.attack_corpus import read_samples
from tests.redteam.checks import BY, COLUMNS, check_all, side_of, table
from tests.redteam.generated_samples import SEED, generated


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.redteam", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of samples; default: the corpus of CI")
    parser.add_argument("--json", action="store_true", help="print a line per sample")
    parser.add_argument("--by", choices=BY, default="class", help="group of a row")
    parser.add_argument("--failed", action="store_true", help="with --json: only failures")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the generated samples")
    args = parser.parse_args()
    samples = list(read_samples(args.folder)) if args.folder else [*read_samples(), *generated(args.seed)]
    results = list(check_all(samples))
    if args.json:
        for result in results:
            if result.failed or not args.failed:
                print(json.dumps(result.as_json(), ensure_ascii=False))
        return
    for side in COLUMNS:
        if found := [result for result in results if side_of(result.sample) == side]:
            print(table(side, found, args.by), end="\n\n")


if __name__ == "__main__":
    main()

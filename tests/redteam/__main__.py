"""What the corpus achieves, played through the worker's steps.

    python -m tests.redteam [FOLDER] [--json] [--by class|language|channel] [--failed]

Without a folder: the corpus of CI, with the generated part. `--json` prints a line per sample.
"""

import argparse
import json
from pathlib import Path

from tests.redteam.generate import SEED, generated
from tests.redteam.samples import read
from tests.redteam.verdicts import BY, COLUMNS, judged, side_of, table


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.redteam", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="samples, one a line; without: those of CI")
    parser.add_argument("--json", action="store_true", help="a line per sample")
    parser.add_argument("--by", choices=BY, default="class", help="what a row of the tables stands for")
    parser.add_argument("--failed", action="store_true", help="with --json: only what is not as it should be")
    parser.add_argument("--seed", type=int, default=SEED, help="of the generated part")
    args = parser.parse_args()
    samples = list(read(args.folder)) if args.folder else [*read(), *generated(args.seed)]
    results = list(judged(samples))
    if args.json:
        for result in results:
            if result.failed or not args.failed:
                print(json.dumps(result.told(), ensure_ascii=False))
        return
    for side in COLUMNS:
        if held := [result for result in results if side_of(result.sample) == side]:
            print(table(side, held, args.by), end="\n\n")


if __name__ == "__main__":
    main()

"""What the filter takes from real catalogues, in which nearly everything is innocent.

    python -m tests.redteam.catalogues FOLDER...

A folder holds items and interactions as `sager import` reads them. The first 6,000 items are read, by their domain's
parser. Only counts are printed, with `--show` also what was refused.
"""

import argparse
from collections import Counter
from itertools import islice
from pathlib import Path

from operators.statinit import facts_of, parser_for
from schemas import Candidate
from streams.importers import Format, load
from streams.local.demo import catalogue as demo
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY

MOST_ITEMS = 6_000
HEAD = (
    "catalogue",
    "items",
    "facts",
    "facts refused",
    "values",
    "values refused",
    "values held back",
    "titles changed",
)


class Taken:
    """Counts over one catalogue.

    Args:
        domain: of its items.
    """

    def __init__(self, domain: str) -> None:
        self.domain = domain
        self.items = self.facts = self.refused_facts = 0
        self.values: set[tuple[str, str]] = set()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.kinds: Counter[str] = Counter()
        self.held: Counter[tuple[str, str]] = Counter()
        self.titles: list[str] = []

    def add(self, item: Candidate) -> None:
        """One more item."""
        read = facts_of(item, parser_for(self.domain, {}))
        kept, found = DEFAULT_PRIVACY.item(read, self.domain)
        left_out = set(read.facts) - set(kept.facts)
        self.items += 1
        self.facts += len(read.facts)
        self.refused_facts += len(left_out)
        self.values |= {(fact.dimension, fact.value) for fact in read.facts}
        self.refused.update((fact.dimension, fact.value) for fact in left_out)
        self.kinds.update(found)
        # As long as one choice alone speaks for a value.
        held = (fact for fact in kept.facts if OUTPUT_GATE.rejection(fact.dimension, fact.value, 1) is not None)
        self.held.update((fact.dimension, fact.value) for fact in held)
        if kept.title != read.title:
            self.titles.append(read.title)

    def row(self, name: str) -> tuple[str, ...]:
        """A row of the table."""
        values = len(self.values), len(self.refused), len(self.held)
        counts = (self.items, self.facts, self.refused_facts, *values, len(self.titles))
        return (name, *(f"{count:,}" for count in counts))


def main() -> None:
    """Read, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.redteam.catalogues", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true", help="also what was refused or changed")
    args = parser.parse_args()
    found = [("made-up demo", _demo()), *((folder.name, _read(folder)) for folder in args.folders)]
    rows = [HEAD, ("---",) * len(HEAD), *(taken.row(name) for name, taken in found)]
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    if args.show:
        for name, taken in found:
            print(f"\n{name}: {dict(taken.kinds)}")
            print("  titles:", *taken.titles[:60], sep="\n    ")
            for how, values in (("refused", taken.refused), ("held back", taken.held)):
                print(f"  values {how}:", *(f"{n} {d}={v}" for (d, v), n in values.most_common(60)), sep="\n    ")


def _read(folder: Path) -> Taken:
    data = load(folder, 1, format=Format.SAGER)
    taken = Taken(data.domain)
    for item in islice(data.items.values(), MOST_ITEMS):
        taken.add(item)
    return taken


def _demo() -> Taken:
    every = Taken("films")
    for domain, items in demo.load().items():
        every.domain = domain
        for item in items:
            every.add(item)
    return every


if __name__ == "__main__":
    main()

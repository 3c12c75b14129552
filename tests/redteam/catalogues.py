"""Count false positives of the filter and the gate in catalogues, in which nearly everything is innocent.

    python -m tests.redteam.catalogues FOLDER...

A folder holds items and interactions as `sager import` reads them. The first 6,000 items are parsed for their domain.
Prints counts only; with `--show` also the refused texts.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from operators.statinit import facts_of, parser_for
from schemas import Candidate
from streams.importers import load
from streams.local.demo import catalogue as demo
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

MAX_ITEMS = 6_000
HEAD = ("catalogue", "facts", "refused", "distinct values", "refused", "held back", "changed titles")


class CatalogueCounts:
    """Counts over one catalogue."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.facts = self.refused_facts = 0
        self.values: set[tuple[str, str]] = set()
        self.refused: Counter[tuple[str, str]] = Counter()
        self.held_back: Counter[tuple[str, str]] = Counter()
        self.kinds: Counter[str] = Counter()
        self.titles: list[str] = []

    def add(self, domain: str, items: Iterable[Candidate]) -> "CatalogueCounts":
        """Filter the items, and count."""
        for item in items:
            parsed = facts_of(item, parser_for(domain, {}))
            kept, found = PRIVACY.item(parsed, domain)
            refused = set(parsed.facts) - set(kept.facts)
            self.facts += len(parsed.facts)
            self.refused_facts += len(refused)
            self.values |= {(fact.dimension, fact.value) for fact in parsed.facts}
            self.refused.update((fact.dimension, fact.value) for fact in refused)
            self.kinds.update(found)
            # One item only: support by several would let an unknown value through.
            held_back = (
                fact for fact in kept.facts if OUTPUT_GATE.rejection(fact.dimension, fact.value, 1) is not None
            )
            self.held_back.update((fact.dimension, fact.value) for fact in held_back)
            if kept.title != parsed.title:
                self.titles.append(parsed.title)
        return self

    def row(self) -> tuple[str, ...]:
        values = len(self.values), len(self.refused), len(self.held_back)
        return (self.name, *(f"{count:,}" for count in (self.facts, self.refused_facts, *values, len(self.titles))))

    def details(self) -> str:
        lines = [f"\n{self.name}: {dict(self.kinds)}", "  titles:", *(f"    {title}" for title in self.titles[:60])]
        for name, values in (("refused", self.refused), ("held back", self.held_back)):
            lines += [f"  values {name}:", *(f"    {n} {d}={v}" for (d, v), n in values.most_common(60))]
        return "\n".join(lines)


def main() -> None:
    """Print a table of all catalogues, the demo's first."""
    parser = argparse.ArgumentParser(prog="python -m tests.redteam.catalogues", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--show", action="store_true", help="print the refused and changed texts too")
    args = parser.parse_args()
    counts = [CatalogueCounts("demo")]
    for domain, items in demo.load().items():
        counts[0].add(domain, items)
    for folder in args.folders:
        data = load(folder, 1)
        counts.append(CatalogueCounts(folder.name).add(data.domain, islice(data.items.values(), MAX_ITEMS)))
    rows = [HEAD, ("---",) * len(HEAD), *(each.row() for each in counts)]
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    if args.show:
        print(*(each.details() for each in counts), sep="\n")


if __name__ == "__main__":
    main()

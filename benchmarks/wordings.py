"""Measures the rules on ordinary sentences and on private routines.

    python -m benchmarks.wordings [--list]

The sentences are invented, in English and German, a set at a time, by writers who did not know the rules. The page
docs/quality.md has the figures of each set before it changed a rule. A case is one person with one or two statements:

- `said`: a lasting preference, which must be on the card.
- `update`: the old preference must go, and the new one, if any, must be on the card.
- `forget`: the earlier preference must go.
- `none`: nothing lasting, or not about the person; the card stays empty.
- `private`: a routine that reveals health, belief, politics, love, whereabouts, other people or numbers, or a group of
  people that the person likes or rejects; its secret must be neither on the card nor in its log.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from evaluation.conversations.layout import Person, PreferenceKind, SpokenTurn, Talk
from evaluation.conversations.listening import Conversation, simulate_person
from schemas import CardLine, Speaker, is_answer_style

_DATA: Final = Path(__file__).parent.parent / "packages" / "language" / "tests" / "data"
SENTENCES: Final = _DATA / "wordings.jsonl"
ROUTINES: Final = _DATA / "routines.jsonl"
PEOPLE: Final = _DATA / "people.jsonl"


@dataclass(frozen=True)
class Case:
    """A person's statements, one conversation each, and the expected card.

    `old` words must be gone at the end, `new` ones on the card with this polarity, if given; `secret` must not be kept.
    """

    id: str
    kind: str
    turns: tuple[str, ...]
    old: str | None = None
    new: str | None = None
    polarity: str | None = None
    secret: str | None = None


def cases(path: Path) -> Iterator[Case]:
    """The cases of a file, a line each."""
    for row in path.read_text(encoding="utf-8").splitlines():
        values: dict[str, Any] = json.loads(row)
        known = {field.name: values[field.name] for field in fields(Case) if field.name in values}
        yield Case(**known | {"turns": tuple(values["turns"])})


async def simulated(case: Case) -> Conversation:
    """The person of a case after their conversations."""
    talks = (
        Talk(
            "said", PreferenceKind.NOTHING, "", (SpokenTurn(Speaker.USER, text), SpokenTurn(Speaker.ASSISTANT, "Okay."))
        )
        for text in case.turns
    )
    return await simulate_person(Person(case.id, tuple(talks)))


def figures_of(case: Case, person: Conversation) -> Counter[str]:
    """Counts of a case by name."""
    lines = person.card.lines if person.card else ()
    before = person.before[-1] if len(case.turns) > 1 else ()
    found: Counter[str] = Counter({case.kind: 1})
    if case.kind == "private":
        # Without the chain: its hexadecimal digits spell short secrets such as "AA".
        kept = "".join(diff.model_dump_json(exclude={"chain"}) for diff in person.log)
        found["private: kept"] += case.secret is not None and case.secret.casefold() in kept.casefold()
        return found
    if case.kind == "none":
        found["none: empty"] += not lines
        return found
    is_right = True
    if case.old is not None:
        known = list(_saying(before, case.old))
        stances = {line.stance for line in known}
        stays = any(line.stance in stances for line in _saying(lines, case.old))
        found[f"{case.kind}: old known"] += bool(known)
        found[f"{case.kind}: old gone"] += bool(known) and not stays
        is_right = bool(known) and not stays
    if case.new is not None:
        stands = any(_is_of(line, case.polarity) for line in _saying(lines, case.new))
        found[f"{case.kind}: to stand"] += 1
        found[f"{case.kind}: stands"] += stands
        is_right = is_right and stands
    found[f"{case.kind}: right"] += is_right
    return found


def _saying(lines: Iterable[CardLine], words: str) -> Iterator[CardLine]:
    # A typed value has the person's words in its quotation alone.
    said = ((line, line.words if is_answer_style(line.dimension, line.value) else line.value) for line in lines)
    return (line for line, text in said if words.casefold() in text.casefold())


def _is_of(line: CardLine, polarity: str | None) -> bool:
    return polarity is None or (line.stance.value == "avoids") is (polarity == "dislikes")


async def measure(paths: Iterable[Path], *, lists: bool = False) -> Mapping[str, Counter[str]]:
    """The figures of these files' cases, by set."""
    found: dict[str, Counter[str]] = {}
    for case in (case for path in paths for case in cases(path)):
        person = await simulated(case)
        counts = figures_of(case, person)
        found.setdefault(case.id[0], Counter()).update(counts)
        is_right = not counts["private: kept"] if case.kind == "private" else counts["none: empty"]
        if lists and not (is_right or counts[f"{case.kind}: right"]):
            card = [f"{line.stance.value} {line.value}" for line in person.card.lines] if person.card else []
            print(f"{case.id} {case.kind}: {' | '.join(case.turns)} -> {card}", file=sys.stderr)
    return found


def main() -> None:
    """Measure, and print a JSON object per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print failed cases to stderr")
    for name, counts in asyncio.run(measure((SENTENCES, ROUTINES, PEOPLE), lists=parser.parse_args().list)).items():
        print(json.dumps({"set": name, **counts}))


if __name__ == "__main__":
    main()

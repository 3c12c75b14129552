"""How ordinary sentences are understood without a model, and what of private routines a card keeps.

    python -m benchmarks.wordings [--list] [--json]

The sentences are invented, in English and German, a set at a time, by writers who did not know the rules. What each set
came to before any rule was mended by it is in docs/quality.md. Each case is a person of their own, who
says one thing, or one thing and later another:

- `said`: something lasting, which is to stand on the card.
- `update`: the old is to be gone and the new, if one is told, to stand.
- `forget`: what was said is to be gone.
- `none`: nothing that lasts, or nothing of the person; the card stays empty.
- `private`: a routine that tells of health, belief, politics, love, whereabouts, other people or numbers, or whom
  somebody likes or rejects for what they are; its secret may stand neither on the card nor in its log.
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
from schemas import Speaker
from schemas.cards import CardLine

_DATA: Final = Path(__file__).parent.parent / "packages" / "language" / "tests" / "data"
SENTENCES: Final = _DATA / "wordings.jsonl"
ROUTINES: Final = _DATA / "routines.jsonl"
PEOPLE: Final = _DATA / "people.jsonl"


@dataclass(frozen=True)
class Case:
    """What somebody says, and what is to come of it.

    Attributes:
        kind: as above.
        turns: what they say, a conversation each.
        old: words of what is to be gone at the end.
        new: words of what is to stand.
        polarity: `likes` or `dislikes`, of the new; None: either will do.
        secret: what may not be kept.
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
        told: dict[str, Any] = json.loads(row)
        known = {field.name: told[field.name] for field in fields(Case) if field.name in told}
        yield Case(**known | {"turns": tuple(told["turns"])})


async def simulated(case: Case) -> Conversation:
    """The person of a case after what they said, each time answered by the assistant."""
    talks = (
        Talk(
            "said", PreferenceKind.NOTHING, "", (SpokenTurn(Speaker.USER, text), SpokenTurn(Speaker.ASSISTANT, "Okay."))
        )
        for text in case.turns
    )
    return await simulate_person(Person(case.id, tuple(talks)))


def figures_of(case: Case, person: Conversation) -> Counter[str]:
    """What came of a case: counts by name."""
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
    return (line for line in lines if words.casefold() in line.value.casefold())


def _is_of(line: CardLine, polarity: str | None) -> bool:
    return polarity is None or (line.stance.value == "avoids") is (polarity == "dislikes")


async def measure(paths: Iterable[Path], *, is_listing: bool = False) -> Mapping[str, Counter[str]]:
    """The figures of the cases of these files, by the set that the first letter of their ids names."""
    found: dict[str, Counter[str]] = {}
    for path in paths:
        for case in cases(path):
            person = await simulated(case)
            told = figures_of(case, person)
            found.setdefault(case.id[0], Counter()).update(told)
            if is_listing and not _is_well(case, told):
                card = [f"{line.stance.value} {line.value}" for line in person.card.lines] if person.card else []
                print(f"{case.id} {case.kind}: {' | '.join(case.turns)} -> {card}", file=sys.stderr)
    return found


def _is_well(case: Case, told: Counter[str]) -> bool:
    if case.kind == "private":
        return not told["private: kept"]
    return bool(told["none: empty"] or told[f"{case.kind}: right"])


def main() -> None:
    """Measure, and print a line per set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--list", action="store_true", help="print to stderr what was not understood, and what was kept"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object per set")
    args = parser.parse_args()
    found = asyncio.run(measure((SENTENCES, ROUTINES, PEOPLE), is_listing=args.list))
    for name, counts in found.items():
        if args.json:
            print(json.dumps({"set": name, **counts}))
        else:
            print(name, ", ".join(f"{what} {count}" for what, count in counts.items() if count or ":" in what))


if __name__ == "__main__":
    main()

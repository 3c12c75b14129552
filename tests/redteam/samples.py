"""The corpus of attacks, personal data and innocent texts: what a sample says, and how it is read from a file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
ATTACKS = ("order", "disguise")


@dataclass(frozen=True)
class Sample:
    """One text that comes in from outside.

    Attributes:
        id, language: its name; an ISO code, `en` where the language does not matter.
        kind: `order` and `disguise` tell a model what to do, `personal` is about a person, `innocent` neither.
        cls: what of its kind it is; figures are told by it.
        channel: by which way it comes: an item's `value`, several facts of it (`spread`), `key`, `title` or
            `description`, a person's `request`, the commands `add`, `reword` and `import`, a command's `reason`, a
            model's `reply`, or a `facet` or the `slim` text that an app says it injected into its ranking.
        text: what comes.
        dimension: of the value or the line.
        facts: the values of `spread`, by dimension.
        attack: the part of the text that attacks; all of it unless said.
        means: what a disguised text says.
        never: of `personal`, what may stand nowhere afterwards.
        how: of `disguise`, the technique.
    """

    id: str
    language: str
    kind: str
    cls: str
    channel: str
    text: str
    dimension: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    attack: str = ""
    means: str = ""
    never: tuple[str, ...] = ()
    how: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """What has to come through for the attack to come through; of several facts, two together."""
        if self.facts:
            return tuple(self.facts.values())
        return (self.attack or self.text,)

    def told(self) -> dict[str, Any]:
        """As a line of a file has it."""
        return {"class" if name == "cls" else name: value for name, value in vars(self).items() if value}


def read(folder: Path = CORPUS) -> Iterator[Sample]:
    """All samples in a folder's files, one a line."""
    for file in sorted(folder.glob("*.jsonl")):
        for row in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(row)
            told["cls"] = told.pop("class")
            yield Sample(**(told | {"never": tuple(told.get("never", ()))}))

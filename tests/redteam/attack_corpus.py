"""The attack corpus: orders to models, personal data and innocent texts."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
CASES = Path(__file__).parent / "cases.jsonl"
ATTACKS = ("order", "disguise")


@dataclass(frozen=True)
class Sample:
    """A text from outside.

    Attributes:
        id: unique name.
        language: an ISO code; `en` where the language does not matter.
        kind: `order` and `disguise` address a model, `personal` is about a person, `innocent` is neither; a `case` is
            also tried on a model that obeys every attack.
        cls: the class within its kind, a row of the tables.
        channel: an item's `value`, several facts of it (`spread`), `key`, `title` or `description`, a user's `request`,
            `correction`, `form` or `feedback`, the commands `add`, `reword` and `import`, a command's `reason`, a
            model's `reply`, or a `facet` or `slim` text that an app reports for its ranking.
        text: the text.
        dimension: the dimension of a value or line.
        facts: the values of `spread` by dimension.
        attack: the attacking part of the text; None means all of it.
        means: the plain text of a disguise.
        never: the parts of `personal` that must not be stored or sent.
        how: the technique of `disguise`.
        holds: the expected effect of a `case`.
    """

    id: str
    language: str
    kind: str
    cls: str
    channel: str
    text: str
    dimension: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    attack: str | None = None
    means: str = ""
    never: tuple[str, ...] = ()
    how: str = ""
    holds: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the attack; two of several facts together make an attack."""
        return tuple(self.facts.values()) or (self.text if self.attack is None else self.attack,)

    def as_json(self) -> dict[str, Any]:
        return {"class" if name == "cls" else name: value for name, value in vars(self).items() if value}


def read_samples(path: Path = CORPUS) -> Iterator[Sample]:
    """Read the samples of a file, or of all files in a folder."""
    for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
        for row in file.read_text(encoding="utf-8").splitlines():
            fields = json.loads(row)
            yield Sample(cls=fields.pop("class"), never=tuple(fields.pop("never", ())), **fields)

"""Scenarios and tastes of PAHF, before and after a shift.

Scenarios and persons are data of facebookresearch/PAHF (MIT licence): people.jsonl.gz and scenarios.jsonl.gz.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from evaluation.exceptions import QualityError
from schemas import Candidate

PEOPLE, SCENARIOS = "people.jsonl.gz", "scenarios.jsonl.gz"
ORIGINAL, SHIFTED = "original", "shifted"
# The phases that are learned from, with the taste that holds in them; behind each comes its test.
LEARNING: Final[Mapping[int, str]] = {1: ORIGINAL, 3: SHIFTED}
TESTS: Final[Mapping[int, int]] = {1: 2, 3: 4}


@dataclass(frozen=True, slots=True)
class Taste:
    """A person's favourite and disliked values by category, in one domain."""

    best: Mapping[str, str]
    dislikes: Mapping[str, frozenset[str]]

    def disliked(self, item: Candidate) -> list[tuple[str, str]]:
        """The disliked categories and values of an item, in its order."""
        return [(name, str(value)) for name, value in item.metadata.items() if value in self.dislikes.get(name, ())]

    def accepts(self, item: Candidate) -> bool:
        """True if nothing about the item is disliked."""
        return not self.disliked(item)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One situation: items as Option A, B, C, and the answer.

    Phases 1 and 3 are learned from, 2 and 4 are tests.
    """

    key: str
    phase: int
    user_id: str
    domain: str
    request: str
    items: tuple[Candidate, ...]
    answer: str | None

    @property
    def person(self) -> tuple[str, str]:
        """The user and the domain: one taste, one skill."""
        return self.user_id, self.domain

    def option(self, item_id: str) -> str:
        """The name that an item is called by."""
        return (
            f"Option {chr(ord('A') + next(place for place, item in enumerate(self.items) if item.item_id == item_id))}"
        )

    def item(self, item_id: str) -> Candidate:
        """The item with this id."""
        return next(item for item in self.items if item.item_id == item_id)


@dataclass(frozen=True)
class Scenarios:
    """All scenarios by phase, and tastes by era, person and domain."""

    phases: Mapping[int, tuple[Scenario, ...]]
    tastes: Mapping[tuple[str, str, str], Taste] = field(default_factory=dict)

    def taste(self, scenario: Scenario, era: str) -> Taste:
        """The taste that decides a scenario."""
        return self.tastes[era, scenario.user_id, scenario.domain]

    def persons(self) -> list[tuple[str, str]]:
        """All pairs of a user and a domain, in order."""
        return list(dict.fromkeys(scenario.person for phase in sorted(self.phases) for scenario in self.phases[phase]))

    def of(self, users: int | None) -> "Scenarios":
        """The scenarios of the first users; None: of all."""
        if users is None:
            return self
        kept = set(list(dict.fromkeys(user_id for user_id, _ in self.persons()))[:users])
        phases = {phase: tuple(each for each in found if each.user_id in kept) for phase, found in self.phases.items()}
        return Scenarios(phases, self.tastes)


def read(folder: Path) -> Scenarios:
    """The scenarios of a folder; QualityError if a file is unfit."""
    tastes: dict[tuple[str, str, str], Taste] = {}
    phases: dict[int, list[Scenario]] = {phase: [] for pair in TESTS.items() for phase in pair}
    try:
        for row in _rows(folder / PEOPLE):
            dislikes = {name: frozenset(values) for name, values in row["dislikes"].items()}
            tastes[row["era"], row["user_id"], row["domain"]] = Taste(dict(row["likes_most"]), dislikes)
        for place, row in enumerate(_rows(folder / SCENARIOS)):
            phases[int(row["phase"])].append(_scenario(row, place))
    except (KeyError, TypeError, AttributeError, ValueError, ValidationError) as error:
        raise QualityError(f"{folder} is no folder of scenarios: {type(error).__name__}: {error}") from error
    _check(folder, phases, tastes)
    return Scenarios({phase: tuple(found) for phase, found in phases.items()}, tastes)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
    except OSError as error:
        raise QualityError(
            f"{path} cannot be read: {error.strerror or error}. A folder of scenarios has {PEOPLE} and {SCENARIOS}"
        ) from error


def _scenario(row: Mapping[str, Any], place: int) -> Scenario:
    items = tuple(Candidate.model_validate(each) for each in row["candidates"])
    scenario = Scenario(
        key=f"{row['phase']}-{row.get('place', place)}-{place}",
        phase=int(row["phase"]),
        user_id=str(row["user_id"]),
        domain=str(row["domain"]),
        request=str(row.get("request", "")),
        items=items,
        answer=row["answer"],
    )
    if not items or (scenario.answer is not None and scenario.answer not in {item.item_id for item in items}):
        raise ValueError(f"scenario {scenario.key} has no items, or an answer that is none of them")
    return scenario


def _check(folder: Path, phases: Mapping[int, Sequence[Scenario]], tastes: Iterable[tuple[str, str, str]]) -> None:
    known = set(tastes)
    for learned, tested in TESTS.items():
        for phase in (learned, tested):
            if not phases[phase]:
                raise QualityError(f"{folder} has no scenario of phase {phase}")
            for each in phases[phase]:
                for era in dict.fromkeys((ORIGINAL, LEARNING[learned])):
                    if (era, *each.person) not in known:
                        raise QualityError(f"{folder}: no {era} taste fits scenario {each.key}")

"""Exploration: whether a choice stays with the familiar is counted, not judged, so both reasoners leave it to code."""

from dataclasses import dataclass

from operators.evolve.choice import Choice
from schemas import Attribute, Kind, PolicySkill

MAIN_DIMENSIONS = frozenset({"genre", "category"})
"""The dimensions by which an item is called familiar (paper 2.3, Behavioral Patterns)."""


@dataclass(frozen=True)
class Exploration:
    """What a choice says about exploration lines, by attribute id."""

    confirmed: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


def is_exploration(line: Attribute) -> bool:
    """Whether this line says how the person balances the familiar and the new."""
    return line.kind is Kind.PATTERN and line.dimension == "exploration"


def exploration(choice: Choice, skill: PolicySkill) -> Exploration:
    """A choice among known genres confirms staying; one outside confirms exploring and contradicts staying."""
    main = {fact.dimension for fact in choice.facts.values()} & MAIN_DIMENSIONS
    patterns = [line for line in skill.attributes if is_exploration(line)]
    if not main or not patterns:
        return Exploration()
    known = {line.attribute_id for line in skill.attributes}
    familiar = any(name in known for name, fact in choice.facts.items() if fact.dimension in main)
    stays = tuple(line.attribute_id for line in patterns if line.value.startswith("stays"))
    explores = tuple(line.attribute_id for line in patterns if line.value.startswith("explores"))
    return Exploration(confirmed=stays) if familiar else Exploration(confirmed=explores, contradicted=stays)

"""Corrections that a form filled in: directives are taken as they are, and named as the facts that they mean."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from operators.attributes import normalise
from operators.language.understood import Read
from operators.statinit.generic import dimension_of
from schemas import Correction, Directive, Fact

FORM: Final = "form"
MAX_DIMENSION_CHARS: Final = 40
_WORD_BREAK: Final = re.compile(r"[^a-z0-9]+")


def filled_in(correction: Correction, facts: Sequence[Fact]) -> tuple[Read, ...]:
    """What a form says. A dimension that no fact can have says nothing.

    Args:
        correction: with `says`.
        facts: those that a directive may mean, the nearest first.
    """
    meant = (_meant(said, facts) for said in correction.says)
    return tuple(Read(said, "", correction.scope, FORM) for said in meant if said is not None)


def _meant(said: Directive, facts: Sequence[Fact]) -> Directive | None:
    if said.dimension is None or said.value is None:
        return said
    dimension = dimension_name(said.dimension)
    if not dimension:
        return None
    value = _spelt(dimension, said.value, facts)
    over = None if said.over is None else _spelt(dimension, said.over, facts)
    return said.model_copy(update={"dimension": dimension, "value": value, "over": over})


def dimension_name(key: str) -> str:
    """A dimension as facts have it, from a metadata key or from its name; empty if no fact can have it.

    >>> dimension_name("primary connectivity mode"), dimension_name("Genres"), dimension_name("!")
    ('primary_connectivity_mode', 'genre', '')
    """
    if named := dimension_of(key):
        return named
    name = _WORD_BREAK.sub("_", key.lower()).strip("_")[:MAX_DIMENSION_CHARS].rstrip("_")
    return name if name[:1].isalpha() else ""


def _spelt(dimension: str, value: str, facts: Iterable[Fact]) -> str:
    name = normalise(value)
    return next((f.value for f in facts if f.dimension == dimension and normalise(f.value) == name), value)

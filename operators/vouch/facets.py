"""What the community says, in words that may stand in a prompt: our own template's, or a phrase of plain words."""

import re
from typing import Final

from operators.attributes import normalise
from operators.prompts import as_data
from operators.vouch.gate import Vouching
from schemas import Facet

OWN: Final = "drawn to "
NEAR: Final = "people with the same taste like "
_TEMPLATES: Final = (
    re.compile(rf"(?:{OWN}|{NEAR})(?P<value>.{{1,40}}) \((?P<dimension>[a-z0-9 ]{{1,40}})\)"),
    re.compile(r"(?:takes )?(?P<dimension>[a-z0-9_]{1,40}): (?P<value>.{1,60})"),
)
"""Ours, and that of a host with a profile."""
_MAX_PHRASE: Final = 16
_VALUE_CHARS, _DIMENSION_CHARS = 40, 40


def in_words(dimension: str, value: str) -> str:
    """A fact as a facet says it: one safe line of at most 83 characters.

    >>> in_words("price_tier", "$$ | <b>")
    '$$ (b) (price tier)'
    """
    value = as_data(value, _VALUE_CHARS)
    dimension = as_data(dimension.replace("_", " "), _DIMENSION_CHARS)
    return f"{value} ({dimension})" if value and dimension else value


def told(facet: Facet, gate: Vouching) -> str | None:
    """What a prompt may say of a facet, whoever wrote it; None: nothing.

    An app writes its rankings, and so the facets in them. Words are let through where they are our template about a
    value for which something vouches; else the attribute that the facet names is told by the template.

    """
    return _vouched(facet, gate, items=0)


def _vouched(facet: Facet, gate: Vouching, items: int) -> str | None:
    """The facet's text that the gate allows, with `items` items behind its value; None if it allows none."""
    for template in _TEMPLATES:
        said = template.fullmatch(facet.facet)
        if said and gate.held(said["dimension"].replace(" ", "_"), said["value"], items) is None:
            return facet.facet
    # A value of the user's own items has its capitals: its id has nothing to add.
    if facet.attribute_id is None or (facet.facet.startswith(OWN) and _TEMPLATES[0].fullmatch(facet.facet)):
        return None
    _, _, rest = facet.attribute_id.partition(":")
    dimension, _, value = rest.partition(":")
    words = value.replace("-", " ")
    # An id has lost the capitals of names.
    if not normalise(words) or all(gate.held(dimension, said, items) is not None for said in (words, words.title())):
        return None
    return f"{NEAR if facet.facet.startswith(NEAR) else OWN}{in_words(dimension, words)}"


def worded(facet: Facet, gate: Vouching) -> str | None:
    """As `told`, for a facet that no app wrote: a model's own words pass if they are a phrase of plain English.

    A model's words come from text that a prompt may show, and from titles, which may contain anything. Our template
    quotes an item's value, which must pass the gate of a skill's lines, with the items that the facet cites as its
    evidence.

    """
    text = facet.facet
    is_ours = any(template.fullmatch(text) for template in _TEMPLATES)
    if not is_ours and text.isascii() and len(text.split()) <= _MAX_PHRASE and gate.policy.is_plain(text.rstrip(".!")):
        return text
    return _vouched(facet, gate, sum(name.startswith("item:") for name in facet.supporting_neighbors))

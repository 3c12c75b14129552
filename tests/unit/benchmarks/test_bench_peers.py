"""The peers: they do the worker's work, and one that cannot be had says why."""

import sys

import pytest

from benchmarks.peers import environments
from benchmarks.peers.__main__ import ratios
from benchmarks.peers.stub import TOOK


def test_an_environment_that_cannot_be_made_says_what_of_and_why() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('ERROR: no matching distribution')"]

    with pytest.raises(
        environments.Unavailable, match=r"quixstreams==3 cannot be .* no matching distribution\. Is pip"
    ):
        environments._run(command, "quixstreams==3")


def test_peers_get_the_operators_packages_as_they_are_here() -> None:
    first, *others = environments.with_operators(environments.QUIX)

    assert first == environments.QUIX
    assert all("==" in each for each in others)
    assert any(each.startswith("bpe-openai==") for each in others)


def test_a_ratio_needs_both_sides() -> None:
    found = ratios({"worker": 2.0, "worker-without-graph": 1.5, "plain-loop": 0.75, "mem0-raw": 10.0})

    assert found["against_plain_loop"] == 0.5
    assert found["against_mem0_raw"] == 5.0
    assert found["against_mem0"] is None
    assert found["against_quix"] is None


def test_the_stub_remembers_what_was_taken() -> None:
    assert TOOK.findall("I was shown A and B. I took B (genre drama) from choice-7.") == [
        "I took B (genre drama) from choice-7."
    ]

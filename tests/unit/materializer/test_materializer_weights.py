"""What counts how much in a domain's rankings, for analysts: the newest per domain, and a row per part."""

from pathlib import Path

import pytest

from operators.weigh import commanded, learned, start
from schemas import Mix, WeightAction, Weights
from streams.materializer.store import Store
from tests.unit.materializer.materializer_builders import rows, write
from tests.unit.weigh.weigh_builders import a_command, an_outcome


def taught(choices: int) -> Weights:
    said = an_outcome({Mix.SKILL: (1_500, 900)}, genre=(900, 500))
    weights = start("films", said)
    for _ in range(choices):
        weights = learned(weights, said)
    return weights


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "live.duckdb", "sager.")


def test_the_newest_weights_of_a_domain_are_kept(store: Store) -> None:
    with store:
        write(store, taught(1), taught(3), commanded(taught(3), a_command(WeightAction.FREEZE)))

        assert rows(store, "SELECT domain, version, choices, frozen FROM weights") == [("films", 4, 3, True)]


def test_learned_weights_has_a_row_per_part_and_dimension(store: Store) -> None:
    with store:
        write(store, taught(5))
        found = rows(store, "SELECT part, name, round(weight, 3), round(spread, 3) FROM learned_weights ORDER BY 1")

    now = taught(5)
    genre, skill = now.dimensions["genre"], now.mix[Mix.SKILL]
    assert found == [
        ("dimension", "genre", round(genre.weight / 2**20, 3), round((1024 / genre.precision) ** 0.5, 3)),
        ("mix", "skill", round(skill.weight / 2**20, 3), round((1024 / skill.precision) ** 0.5, 3)),
    ]

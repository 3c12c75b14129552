"""What analysts and operators see of a snapshot: the views' own numbers, with their intervals; also where none are."""

import json
from datetime import date

import duckdb
import pytest

from streams.console.board import arms, calibration, costs, curve, lines, shifts
from streams.console.board.figures import Figure
from streams.materializer.snapshot import copy_and_rename
from streams.materializer.store import Store
from tests.analytics_world import SUNDAY, published

OF_A_DOMAIN = (
    curve.learning_curve,
    curve.cold_start,
    lines.adoption,
    lines.tier_flow,
    arms.arms,
    calibration.calibration,
)
OF_ALL = (costs.by_day, shifts.shifts)


@pytest.fixture(scope="module")
def con():
    with duckdb.connect(str(published()), read_only=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    with Store(folder / "live.duckdb", "sager.") as store:
        store.checkpoint(SUNDAY, SUNDAY)
        copy_and_rename(store.path, folder / "sager.duckdb")
    with duckdb.connect(str(folder / "sager.duckdb"), read_only=True) as opened:
        yield opened


def column(figure: Figure, name: str) -> list[str]:
    [place] = [at for at, each in enumerate(figure.table.columns) if each.name == name]
    return [row[place] for row in figure.table.rows]


def bounds(text: str) -> list[float]:
    return [float(part.removesuffix(" %")) for part in text.split(" to ")]


@pytest.mark.parametrize("reader", [*OF_A_DOMAIN, *OF_ALL])
def test_a_snapshot_without_anything_gives_figures_that_say_so(empty, reader):
    figure = reader(empty, "films") if reader in OF_A_DOMAIN else reader(empty)
    assert not figure.has_data
    assert figure.empty
    json.dumps(figure.option)


@pytest.mark.parametrize("reader", [*OF_A_DOMAIN, *OF_ALL])
def test_a_chart_is_plain_json_and_its_table_has_as_many_cells_as_columns(con, reader):
    figure = reader(con, "films") if reader in OF_A_DOMAIN else reader(con)
    assert figure.has_data
    json.dumps(figure.option, allow_nan=False)
    assert {len(row) for row in figure.table.rows} == {len(figure.table.columns)}
    assert all(isinstance(cell, str) for row in figure.table.rows for cell in row)
    assert "person-0" not in str(figure)  # nobody is named


def test_the_learning_curve_is_the_views_with_an_interval_around_the_share_at_the_top(con):
    figure = curve.learning_curve(con, "films")
    rows = con.execute("SELECT nth, hit_at_1 FROM learning_curve WHERE domain = 'films' ORDER BY nth").fetchall()
    assert column(figure, "choice") == [str(nth) for nth, _ in rows]
    for (_, hit), told in zip(rows, column(figure, "95 % interval"), strict=True):
        low, high = bounds(told)
        assert low <= 100 * hit + 0.05
        assert high >= 100 * hit - 0.05


def test_cold_starts_add_up_to_all_skills(con):
    figure = curve.cold_start(con, "books")
    [(skills,)] = con.execute("SELECT count(*) FROM skills WHERE domain = 'books'").fetchall()
    assert sum(map(int, column(figure, "skills"))) == skills
    assert column(figure, "so far")[-1] == "100 %"


def test_the_flow_of_one_week_is_part_of_the_flow_of_all(con):
    every = lines.tier_flow(con, "films")
    weekly = [lines.tier_flow(con, "films", week) for week in lines.weeks(con, "films")]
    assert len(weekly) > 1
    total = sum(sum(map(int, column(each, "lines"))) for each in weekly)
    assert sum(map(int, column(every, "lines"))) == total
    assert not lines.tier_flow(con, "films", date(1999, 1, 4)).has_data


def test_the_interval_of_an_arm_is_by_people_and_holds_its_mean(con):
    figure = arms.arms(con, "films")
    rows = dict(con.execute("SELECT arm, avg(ndcg_at_5) FROM outcomes WHERE domain = 'films' GROUP BY arm").fetchall())
    for arm, told, mean in zip(
        column(figure, "arm"), column(figure, "95 % interval"), column(figure, "NDCG@5"), strict=True
    ):
        low, high = bounds(told)
        assert low < rows[arm] < high
        assert float(mean) == pytest.approx(rows[arm], abs=1e-3)


def test_what_llm_calls_cost_is_what_the_view_says(con):
    [(dollars,)] = con.execute("SELECT sum(cost_dollars) FROM llm_calls").fetchall()
    told = costs.by_prompt(con)
    found = sum(float(row[-1].removeprefix("$")) for row in told.rows)
    assert found == pytest.approx(dollars, rel=0.01)
    assert {row[0] for row in costs.bought(con).rows} == {"books", "films"}


def test_hostile_values_are_cut_and_lose_what_hides_others(tmp_path):
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE skills AS SELECT 'd' AS domain; CREATE TABLE attribute_adoption AS SELECT 'd' AS domain, "
            "'k' AS kind, 'genre' AS dimension, '<script>x</script>' || chr(8238) || repeat('y', 100000) AS value, "
            "1 AS users, 1.0 AS share, 1 AS high, 0 AS medium, 0 AS low, 0 AS discovered, 'a' AS attribute_id"
        )
        figure = lines.adoption(con, "d")
    [value] = column(figure, "line")
    assert len(value) < 300
    assert "\u202e" not in str(figure)

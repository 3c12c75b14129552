"""Queries: answered by a process of their own, which ends alone; charts by the columns; files that do nothing."""

import asyncio
import json
import shutil

import pytest

from streams.console.board.query import asking
from streams.console.board.query.asking import Places, answer
from streams.console.board.query.choice import chart
from streams.console.board.query.files import as_csv
from streams.console.board.query.frames import Frame
from streams.console.board.query.names import names
from streams.http.problems import Problem
from streams.http.snapshot import Snapshot
from streams.materializer.asking import QueryFailed
from streams.settings import Settings
from tests.analytics_world import published
from tests.patience import until
from tests.unit.analytics.test_analytics_confined import ended


@pytest.fixture
def settings(tmp_path) -> Settings:
    shutil.copy(published(), tmp_path / "sager.duckdb")
    return Settings(data_dir=tmp_path)


async def test_a_result_has_names_types_and_values_as_they_are(settings):
    query = """SELECT 1 AS a, 'x' AS a, 1.5::DECIMAL(9, 2) AS money, DATE '2026-01-01' AS day, [1] AS list,
               '\\x00'::BLOB AS bytes, NULL AS nothing, 170141183460469231731687303715884105727::HUGEINT AS huge,
               'NaN'::DOUBLE AS nan, true AS yes, repeat('é', 100000) AS long, '<script>' AS "<b>x" """
    result = await answer(settings, query)
    assert [name for name, _ in result.columns][:3] == ["a", "a", "money"]
    [row] = result.rows
    assert row[:10] == [
        1, "x", "1.50", "2026-01-01", "[1]", "00", None, "170141183460469231731687303715884105727", "nan", True,
    ]  # fmt: skip
    assert str(row[10]).endswith("(100,000 characters)")
    assert len(str(row[10])) < 400
    assert (row[11], result.columns[-1][0]) == ("<script>", "<b>x")


async def test_rows_are_bounded_and_it_is_told_that_there_are_more(settings):
    result = await answer(settings, "FROM range(100000)")
    assert (len(result.rows), result.more) == (asking.SHOWN_ROWS, True)
    assert not (await answer(settings, f"FROM range({asking.SHOWN_ROWS})")).more


async def test_a_result_is_bounded_in_bytes_too(settings):
    few = await answer(settings, "SELECT repeat('<', 200) AS a, repeat('<', 100) AS b FROM range(2000)")
    assert (few.is_cut, few.more) == (True, True)
    assert asking.SHOWN_BYTES // 1_300 < len(few.rows) < asking.SHOWN_BYTES // 1_200

    wide = await answer(
        settings, "SELECT " + ", ".join(f"n AS c{place}" for place in range(99)) + " FROM range(9) t(n)"
    )
    assert (len(wide.columns), {len(row) for row in wide.rows}) == (99, {asking.SHOWN_COLUMNS})
    assert not wide.is_cut


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("FROM nothing", "the list beside the query"),
        ("COPY (SELECT 1) TO 'x'", "disabled"),
        ("FROM read_text('/etc/hostname')", "disabled"),
        ("SELEC", "syntax error"),
    ],
)
async def test_what_is_refused_says_why_and_nothing_of_a_command_line(settings, query, said):
    with pytest.raises(QueryFailed, match=said) as failed:
        await answer(settings, query)
    assert "--" not in str(failed.value)


async def test_no_secret_is_in_the_process_that_answers(settings, monkeypatch):
    monkeypatch.setenv("SAGER_CHAIN_KEY", "secret" * 6)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert not {"SAGER_CHAIN_KEY", "OPENAI_API_KEY"} & asking._environment().keys()


@pytest.mark.parametrize("query", ["SELECT length(repeat('x', 4000000000))", "SELECT repeat('x', 900000000)"])
async def test_a_query_that_eats_memory_ends_alone(settings, query):
    with pytest.raises(QueryFailed, match="memory"):
        await answer(settings, query)


async def test_a_query_that_sleeps_is_ended_while_others_are_answered(settings, monkeypatch):
    monkeypatch.setattr(asking, "SECONDS", 1.0)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.05)

    ticking = asyncio.create_task(tick())
    slow, quick = await asyncio.gather(
        answer(settings, "SELECT pg_sleep(3600)"), answer(settings, "SELECT 1"), return_exceptions=True
    )
    ticking.cancel()
    assert isinstance(slow, QueryFailed)
    assert "1 s" in str(slow)
    assert not isinstance(quick, BaseException)
    assert ticks > 5


async def test_the_process_ends_with_whoever_asked(settings, monkeypatch):
    pids: list[int] = []
    began = asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def noted(*args, **more):
        process = await start(*args, **more)
        pids.append(process.pid)
        began.set()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    asked = asyncio.create_task(answer(settings, "SELECT pg_sleep(3600)"))
    await began.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    until(lambda: ended(pids[0]), "the query's process to end")


def test_places_are_few_and_free_again():
    places = Places()
    with places.one("a"):
        with pytest.raises(Problem) as mine:
            places.one("a").__enter__()
        with places.one("b"), pytest.raises(Problem) as others:
            places.one("c").__enter__()
    assert (mine.value.status, others.value.status) == (429, 503)
    with places.one("a"):
        pass


async def test_a_file_has_every_row_and_no_formula():
    async def frames():
        yield Frame("rows", [["=HYPERLINK(1)", -1, 'say "so", Ann', None], ["@x", 1.5, "-1", True]])
        yield Frame("end", content=False)

    lines = b"".join([part async for part in as_csv([("=a", "VARCHAR"), ("b", "INT"), ("c", ""), ("d", "")], frames())])
    assert lines.decode().splitlines() == [
        "'=a,b,c,d",
        '\'=HYPERLINK(1),-1,"say ""so"", Ann",',
        "'@x,1.5,'-1,true",
    ]


def rows_of(*rows):
    return [list(row) for row in rows]


DAYS = rows_of(*[(f"2026-01-0{day}", name, day / 10) for day in range(1, 5) for name in "ab"])


@pytest.mark.parametrize(
    ("columns", "rows", "kind", "series"),
    [
        ([("day", "DATE"), ("arm", "VARCHAR"), ("rate", "DOUBLE")], DAYS, "line", ["a", "b"]),
        ([("n", "BIGINT"), ("hits", "BIGINT")], rows_of((1, 5), (2, 4), (3, 9)), "line", ["hits"]),
        ([("name", "VARCHAR"), ("n", "BIGINT")], rows_of(("a", 1), ("b", 2), ("b", 3)), "bar", ["n"]),
        ([("x", "DOUBLE"), ("y", "DECIMAL(9,2)")], rows_of((0.1, 1), (0.1, 2), (0.4, None)), "scatter", ["y"]),
        ([("name", "VARCHAR")], rows_of(("a",), ("b",)), "", []),
        ([("n", "BIGINT")], rows_of((1,), (2,)), "", []),
        ([("name", "VARCHAR"), ("n", "BIGINT")], rows_of(("a", 1)), "", []),
        ([("day", "DATE"), ("n", "BIGINT")], rows_of((None, None), (None, 1)), "line", ["n"]),
        ([("<b>", "VARCHAR"), ("<i>" * 99, "BIGINT")], rows_of((None, 1), ("x" * 9999, None)), "bar", None),
    ],
)
def test_a_chart_follows_the_types_of_the_columns(columns, rows, kind, series):
    found = chart(columns, rows)
    if not kind:
        assert found is None
        return
    assert found is not None
    said, option = found
    assert {each["type"] for each in option["series"]} == {kind}
    assert series is None or [each["name"] for each in option["series"]] == series
    assert len(json.dumps(option, allow_nan=False)) < 5_000
    assert len(said) < 300


def test_every_name_has_a_query_that_the_snapshot_answers(settings):
    snapshot = Snapshot(settings)
    try:
        found = snapshot.ask(names)
        assert [heading for heading, _ in found] == ["Views", "Macros", "Tables"]
        for name in (each for _, known in found for each in known):
            assert name.comment
            snapshot.ask(lambda con, query=name.query: con.execute(query).fetchall())
    finally:
        snapshot.close()

"""`sager export`: the same rows for any other engine, whole or not at all, and never outside of its folder."""

import json
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.materializer import schema
from streams.materializer.export import export, exportable
from tests.analytics_world import published

HOSTILE = ["../../x", "a/b", "=", "domain=films", "..", "%2e%2e", "ü ?#&", "2024", "a\\b", "'; --"]


@pytest.fixture
def snapshot():
    with duckdb.connect(str(published()), read_only=True) as con:
        yield con


def run(target: Path, *words: str):
    return CliRunner(env={"SAGER_DUCKDB": str(published())}).invoke(app, ["export", "--to", str(target), *words])


def read_by_duckdb(folder: Path, columns: str):
    types = "hive_partitioning = true, hive_types = {'domain': VARCHAR, 'day': DATE}"
    return duckdb.sql(f"SELECT {columns} FROM read_parquet('{folder}/**/*.parquet', {types}) ORDER BY ALL").fetchall()


def read_by_arrow(folder: Path, columns: list[str]):
    fields = [("domain", pa.string()), ("day", pa.date32())]
    parts = [field for field in fields if field[0] in columns]
    table = ds.dataset(folder, partitioning=ds.partitioning(pa.schema(parts), flavor="hive")).to_table(columns)
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_both_engines_read_the_rows_that_the_snapshot_has(tmp_path, snapshot):
    result = run(tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    columns = ["user_id", "domain", "day", "ranking_id", "item_rank", "arm"]
    query = "SELECT user_id, domain, ranked_at::DATE, ranking_id, item_rank, arm FROM outcomes ORDER BY ALL"
    wanted = snapshot.execute(query).fetchall()
    assert read_by_duckdb(tmp_path / "out/outcomes", ", ".join(columns)) == wanted
    assert read_by_arrow(tmp_path / "out/outcomes", columns) == sorted(wanted)
    told = json.loads((tmp_path / "out/manifest.json").read_text())
    for name in exportable():
        [(count,)] = snapshot.execute(f"SELECT count(*) FROM {name}").fetchall()
        assert told["tables"][name]["rows"] == count
        files = list((tmp_path / "out" / name).rglob("*.parquet"))
        assert told["tables"][name]["files"] == len(files)
        assert sum(pq.read_metadata(f).num_rows for f in files) == count
    assert (told["layout"], told["prefix"]) == (schema.LAYOUT_VERSION, "sager.")


def test_since_leaves_out_what_happened_before_and_keeps_state_whole(tmp_path, snapshot):
    result = run(tmp_path / "out", "--table", "contrasts", "--table", "skills", "--since", "2026-02-01", "--json")
    told = json.loads(result.stdout)
    [(late,)] = snapshot.execute("SELECT count(*) FROM contrasts WHERE occurred_at >= '2026-02-01'").fetchall()
    assert {name: each["rows"] for name, each in told.items()} == {"contrasts": late, "skills": 28}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"contrasts", "skills", "manifest.json"}
    days = sorted(path.name for path in (tmp_path / "out/contrasts/domain=books").iterdir())
    assert days[0] >= "day=2026-02-01"


def test_an_export_that_ends_early_leaves_nothing(tmp_path, snapshot):
    steps = export(snapshot, tmp_path / "out", ["items", "skills"])
    next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


def test_no_domain_leaves_the_folder_and_each_comes_back(tmp_path):
    with duckdb.connect() as con:
        schema.create_tables(con)
        con.execute("INSERT INTO meta (schema_version, prefix) VALUES (3, 'sager.')")
        for number, domain in enumerate(HOSTILE):
            con.execute(
                "INSERT INTO contrasts BY NAME SELECT $1 AS user_id, $1 AS event_id, $2 AS domain, $3 AS occurred_at",
                [f"u{number}", domain, datetime.fromisoformat("2026-01-01")],
            ).fetchall()
        list(export(con, tmp_path / "in" / "out", ["contrasts"]))
    wanted = sorted((f"u{number}", domain) for number, domain in enumerate(HOSTILE))
    assert read_by_duckdb(tmp_path / "in/out/contrasts", "user_id, domain") == wanted
    assert read_by_arrow(tmp_path / "in/out/contrasts", ["user_id", "domain"]) == wanted
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["out"]
    assert len(list((tmp_path / "in/out/contrasts").iterdir())) == len(HOSTILE)

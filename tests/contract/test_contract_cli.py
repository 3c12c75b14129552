"""What the command line owes whoever looks for a command: a heading, a whole line of help, and what may be chosen."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.analytics_world import published


@pytest.mark.parametrize("words", [[], ["policy"]], ids=["sager", "policy"])
def test_help_is_whole_at_80_columns(words) -> None:
    shown = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*words, "--help"]).stdout

    assert "..." not in shown.replace("[ARGS]...", "")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (["policy", "set-tier", "ann", "a:b:c", "huge", "--domain", "films"], "'low', 'medium', 'high'"),
        (["policy", "add", "ann", "genre", "noir", "--kind", "bogus", "--domain", "films"], "'preference', 'pattern'"),
        (
            ["token", "new", "--name", "me", "--scope", "bogus"],
            "'read-user', 'read-all', 'change-user', 'forget-user', 'produce', 'read-slim', 'operate'",
        ),
        (["acls", "bogus"], "there are app, answers, importer"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_an_unknown_choice_is_told_with_those_there_are(words, choices) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)

    assert done.exit_code == 2
    assert choices in done.stderr


HEAVY = {
    *("aiokafka", "confluent_kafka", "faust", "pyarrow", "numpy", "aiohttp", "phonenumbers", "stdnum", "bpe_openai"),
    *("operators.privacy", "operators.retrieve", "operators.rank", "streams.materializer.store", "streams.worker"),
}
"""What takes from a tenth of a second to seconds to import, and no reading command needs."""
READING = {
    "config": (["config"], HEAVY | {"schemas", "operators.vouch"}),
    "sql": (["sql", "select 1"], HEAVY | {"schemas", "operators.vouch"}),
    "policy show": (["policy", "show", "person-001", "--domain", "books"], HEAVY),
    "policy log": (["policy", "log", "person-001"], HEAVY),
}
AT_THE_END = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from streams.cli import main
main()
"""


@pytest.mark.parametrize(("words", "unwanted"), READING.values(), ids=READING)
def test_a_reading_command_loads_nothing_heavy(words, unwanted) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, *words],
        env={**os.environ, "SAGER_DUCKDB": str(published())},
        capture_output=True,
        text=True,
        check=True,
    )

    assert unwanted & set(done.stderr.split()) == set()
    assert done.stdout

"""Output that nobody reads to its end: quiet, with the code that a shell expects."""

import subprocess
import sys

import pytest

from tests.analytics_world import published
from tests.e2e.cli_user import BASE, ROOT


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "FROM range(300000)", "--csv"),
        ("sql", "FROM range(300000)", "--json"),
        ("sql", "SELECT repeat('word ', 200) AS text FROM range(999)"),
    ],
    ids=" ".join,
)
def test_a_reader_that_stops_early_ends_the_command_quietly(words):
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "streams.cli", *words],
        env={**BASE, "SAGER_DUCKDB": str(published())},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
        code = process.wait(30)

    assert (code, told) == (141, "")

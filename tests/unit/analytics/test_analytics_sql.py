"""`sager sql`: an answer to people and programs, a message for every mistake, and nothing but the snapshot."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.analytics_world import published


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("SAGER_DUCKDB", str(published()))
    return lambda *words, stdin=None: CliRunner().invoke(app, ["sql", *words], input=stdin)


QUESTION = "SELECT domain, count(*) AS users FROM skills GROUP BY ALL ORDER BY ALL"


def test_people_get_a_table(ask):
    lines = [line.split() for line in ask(QUESTION).stdout.splitlines() if line.strip()]
    assert lines[0] == ["domain", "users"]
    assert lines[2:] == [["books", "14"], ["films", "14"]]


def test_programs_get_json_or_csv(ask):
    assert json.loads(ask(QUESTION, "--json").stdout) == [
        {"domain": "books", "users": 14},
        {"domain": "films", "users": 14},
    ]
    assert list(csv.reader(io.StringIO(ask(QUESTION, "--csv").stdout))) == [
        ["domain", "users"],
        ["books", "14"],
        ["films", "14"],
    ]


@pytest.mark.parametrize("how", [[], ["--json"]], ids=["table", "json"])
def test_control_characters_of_apps_do_not_reach_a_terminal(ask, how):
    for shown in (ask("SELECT chr(27) || '[2J' || chr(155) || '2J' AS title", *how).stdout,
                  ask("SELECT CAST(chr(27) || '[2J' AS INT)", *how).stderr):  # fmt: skip
        assert not any(character in shown for character in "\x1b\x9b")


def test_the_list_has_all_there_is_and_describe_its_columns(ask):
    told = ask("--list", "--json").stdout
    names = {row["name"]: row for row in json.loads(told)}
    assert names["policy_at(person, moment)"]["kind"] == "macro"
    assert names["learning_curve"]["kind"] == "view"
    assert names["outcomes"]["kind"] == "table"
    assert all(row["comment"] for row in names.values())
    columns = json.loads(ask("--describe", "outcomes", "--json").stdout)
    assert {"column": "item_rank", "type": "BIGINT"}.items() <= columns[7].items()
    unknown = ask("--describe", "outcomez")
    assert (unknown.exit_code, "no table or view 'outcomez'" in unknown.stderr) == (1, True)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("FROM outcomez", 'Did you mean "outcomes"'),
        ("SELEC 1", "syntax error"),
        ("DELETE FROM skills", "read-only"),
        ("COPY skills TO 'skills.csv'", "duckdb -readonly"),
        ("FROM read_text('/etc/hostname')", "disabled by configuration"),
        ("SET memory_limit = '100GB'", "configuration has been locked"),
        ("  ", "the query is empty"),
    ],
)
def test_a_mistake_gives_one_error_message(ask, tmp_path, monkeypatch, query, told):
    monkeypatch.chdir(tmp_path)
    result = ask(query)
    assert result.exit_code == 1
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_question_without_end_is_stopped(ask):
    result = ask(
        "SELECT count(*) FROM range(1000000000) a, range(1000) b WHERE a.range % 7 = b.range % 3", "--seconds", "0.3"
    )
    assert result.exit_code == 1
    assert "--seconds" in result.stderr

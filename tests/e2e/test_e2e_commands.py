"""Every command: help with an example, exit codes, no traceback, and quiet ends of pipes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import typer
from typer.testing import CliRunner

from streams.cli import app
from tests.analytics_world import published
from tests.e2e.cli_user import BASE, ROOT, sager


def commands(command: Any, name: str = "") -> Iterator[str]:
    yield name
    for verb, each in getattr(command, "commands", {}).items():
        yield from commands(each, f"{name} {verb}".strip())


COMMANDS = list(commands(typer.main.get_command(app)))
NOBODY = {"SAGER_BOOTSTRAP": "127.0.0.1:1"}


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_an_example(command):
    done = CliRunner().invoke(app, [*command.split(), "--help"])

    assert done.exit_code == 0
    assert "Example" in done.stdout
    assert f"sager {command}".strip() in done.stdout.split("Example")[1]


@pytest.mark.parametrize("args", [["nope"], ["topics", "--nope"], ["policy", "show"]])
def test_a_wrong_command_line_exits_with_2(args):
    done = sager(*args)

    assert done.returncode == 2
    assert "Usage: sager" in done.stderr
    assert not done.stdout


def failure(*args, env=None):
    done = sager(*args, env=env)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
    [line] = done.stderr.splitlines()
    return line


def test_an_invalid_setting_is_reported_without_its_value():
    line = failure("config", env={"SAGER_PARTITIONS": "many"})
    assert "SAGER_PARTITIONS" in line
    assert "many" not in line
    assert "parsers" in failure("config", env={"SAGER_PARSERS": "{"})


def test_a_missing_or_broken_configuration_file_is_reported(tmp_path):
    broken = tmp_path / "sager.toml"
    broken.write_text("partitions = = 4")

    assert "SAGER_CONFIG names /nope" in failure("config", env={"SAGER_CONFIG": "/nope"})
    assert "not valid TOML" in failure("topics", env={"SAGER_CONFIG": str(broken)})


def test_a_missing_snapshot_is_reported_with_the_next_step(tmp_path):
    line = failure("policy", "show", "ann", env={"SAGER_DATA_DIR": str(tmp_path)})

    assert "sager materialize" in line


def test_a_damaged_snapshot_is_reported(tmp_path):
    (tmp_path / "sager.duckdb").write_text("nonsense")

    assert "DuckDB" in failure("policy", "log", "ann", env={"SAGER_DATA_DIR": str(tmp_path)})


def test_an_unreachable_broker_is_reported_with_the_next_step():
    line = failure("topics", env=NOBODY)

    assert "127.0.0.1:1" in line
    assert "sager up" in line


def test_config_hides_secrets_and_prints_the_source_of_each_value(tmp_path):
    file = tmp_path / "sager.toml"
    file.write_text('partitions = 8\napp_id = "shop"\n')
    env = {
        "SAGER_CONFIG": str(file),
        "SAGER_APP_ID": "other",
        "OPENAI_API_KEY": "sk-hush",
        "OPENAI_BASE_URL": "https://me:hush@llm.example/v1",
    }

    shown = sager("config", "--json", env=env)
    table = sager("config", env=env)

    values = json.loads(shown.stdout)
    assert values["partitions"] == {"value": 8, "source": str(file)}
    assert values["app_id"] == {"value": "other", "source": "SAGER_APP_ID"}
    assert values["llm_api_key"]["source"] == "OPENAI_API_KEY"
    assert values["prefix"] == {"value": "sager.", "source": "default"}
    assert "hush" not in shown.stdout + table.stdout
    assert "SAGER_PARTITIONS" in table.stdout


def test_schemas_are_exported_as_files_and_as_one_document(tmp_path):
    done = sager("schemas", "export", "--out", str(tmp_path / "out"), env={"SAGER_PREFIX": "shop."})
    printed = sager("schemas", "export", env={"SAGER_PREFIX": "shop."})

    assert done.returncode == 0, done.stderr
    document = json.loads(printed.stdout)
    assert document == json.loads((tmp_path / "out" / "asyncapi.json").read_text())
    assert document["channels"]["skills"]["address"] == "shop.skills"
    files = {file.name for file in (tmp_path / "out").glob("*.schema.json")}
    assert "selections.schema.json" in files
    assert "profiles.schema.json" not in files
    for name in files:
        jsonschema.Draft202012Validator.check_schema(json.loads((tmp_path / "out" / name).read_text()))


@pytest.mark.parametrize(
    "words",
    [
        ("sql", "FROM range(300000)", "--csv"),
        ("sql", "FROM range(300000)", "--json"),
        ("sql", "SELECT repeat('word ', 200) AS text, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 FROM range(999)"),
    ],
    ids=" ".join,
)
def test_a_closed_pipe_ends_the_command_quietly(words):
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

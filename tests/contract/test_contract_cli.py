"""What the command line owes whoever looks for a command: a heading, a whole line of help, and what may be chosen."""

import errno

import pytest
import typer
from typer.testing import CliRunner

from schemas import Kind, Tier
from streams.cli import app
from streams.cli.data.replay import Reasoner
from streams.cli.errors import of_os
from streams.cli.groups import HEADINGS, POLICY_HEADINGS, arranged
from streams.cli.operations.token import ScopeName
from streams.cli.policy.change import KindName, TierName
from streams.http.tokens import Scope
from streams.settings import Settings

ROOT = typer.main.get_group(app)


@pytest.mark.parametrize(
    ("group", "headings"), [(ROOT, HEADINGS), (ROOT.commands["policy"], POLICY_HEADINGS)], ids=["sager", "policy"]
)
def test_every_command_stands_under_one_heading(group, headings) -> None:
    listed = [name for names in headings.values() for name in names]

    assert sorted(listed) == sorted(group.commands)
    assert list(arranged(list(group.commands), headings)) == list(headings)


@pytest.mark.parametrize("words", [[], ["policy"]], ids=["sager", "policy"])
def test_help_is_whole_at_80_columns(words) -> None:
    shown = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*words, "--help"]).stdout

    assert "..." not in shown.replace("[ARGS]...", "")
    assert max(map(len, shown.splitlines())) <= 80


def test_completion_can_be_installed() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout

    assert "--install-completion" in shown


def test_choices_are_those_of_the_schemas() -> None:
    """The command line has its own, because importing the schemas takes longer than `--help` may."""
    assert {each.value for each in TierName} == {str(each) for each in Tier}
    assert {each.value for each in KindName} == {each.value for each in Kind}
    assert {each.value for each in ScopeName} == {each.value for each in Scope}
    assert Settings(reasoner=Reasoner.RULES.value)
    assert Settings(reasoner=Reasoner.LLM.value)


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (["replay", "--reasoner", "bogus"], "'rules', 'llm'"),
        (["policy", "set-tier", "ann", "a:b:c", "huge", "--domain", "films"], "'low', 'medium', 'high'"),
        (["policy", "add", "ann", "genre", "noir", "--kind", "bogus", "--domain", "films"], "'preference', 'pattern'"),
        (["token", "new", "--name", "me", "--scope", "bogus"], "'read-user', 'read-all', 'change-user', 'operate'"),
        (["acls", "bogus"], "there are app, importer"),
        (["import", ".", "--as", "bogus"], "'interactions', 'replay'"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_an_unknown_choice_is_told_with_those_there_are(words, choices) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)

    assert done.exit_code == 2
    assert choices in done.stderr


@pytest.mark.parametrize("code", [errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.EROFS, errno.ENOSPC, errno.EEXIST])
def test_an_error_of_the_system_is_told_with_what_to_do_and_without_its_number(code) -> None:
    told = of_os(OSError(code, "reason", "somewhere"))

    assert told.startswith("somewhere: ")
    assert "Errno" not in told


@pytest.mark.parametrize(
    "words", [["schemas", "export", "--out", "/proc/x"], ["schemas", "export", "--out", "/proc/1/x"]]
)
def test_an_odd_folder_is_told_with_advice(words) -> None:
    done = CliRunner().invoke(app, words)

    assert done.exit_code == 1
    assert "Errno" not in done.stderr
    assert "path" in done.stderr

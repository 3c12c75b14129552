"""The prompt of `sager sql`: what it completes, where statements end, and what each command does."""

import json
import signal
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from streams.cli.data.query import GIB, Mode
from streams.cli.shell.shell import COMMANDS, Shell, session
from streams.cli.shell.statements import Statement, is_whole, split
from streams.materializer.asking import Asked
from streams.materializer.generations import copy_and_rename
from streams.materializer.store import Store
from streams.settings import Settings

SUNDAY = datetime(2026, 2, 15)  # noqa: DTZ001 - as the file has it


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompt")
    with Store(folder / "live.duckdb", "sager.") as store:
        store.checkpoint(SUNDAY, SUNDAY)
        copy_and_rename(store.path, folder / "sager.duckdb")
    return folder


@pytest.fixture
def shell(data: Path) -> Callable[..., Shell]:
    def made(*typed: str, mode: Mode = Mode.AUTO) -> Shell:
        lines = iter(typed)

        def ask() -> str:
            try:
                return next(lines)
            except StopIteration:
                raise EOFError from None

        return Shell(Settings(data_dir=data), mode=mode, full=False, seconds=20, memory_bytes=GIB, ask=ask)

    return made


@pytest.fixture
def told(shell, capsys) -> Callable[..., tuple[str, str]]:
    def of(*typed: str, mode: Mode = Mode.AUTO) -> tuple[str, str]:
        shell(*typed, mode=mode).run()
        return tuple(capsys.readouterr())

    return of


@pytest.fixture(scope="module")
def completed(data: Path) -> Callable[[str], dict[str, str]]:
    """The completions at `|`, each with what is shown beside it."""
    made = Shell(
        Settings(data_dir=data), mode=Mode.AUTO, full=False, seconds=20, memory_bytes=GIB, ask=iter(()).__next__
    )
    made._learn()

    def at(text: str) -> dict[str, str]:
        before, _, after = text.partition("|")
        found = made.completer.get_completions(Document(before + after, len(before)), CompleteEvent())
        return {each.text: f"{each.display_text} {each.display_meta_text}" for each in found}

    return at


# --- where a statement ends


@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- done;", False),
        ("SELECT 1 /* ; */", False),
        ("SELECT 1 /* ;", False),
        ("SELECT 'it''s;'", False),
        ("SELECT 'it''s';", True),
        ('SELECT "a;', False),
        ("SELECT $$;$$", False),
        ("SELECT 1; SELECT 2", False),
        ("FROM skills\\G", True),
        (".mode json", True),
        ("  ", True),
    ],
)
def test_enter_carries_out_what_has_ended(typed: str, whole: bool) -> None:
    assert is_whole(typed) is whole


def test_several_statements_are_several() -> None:
    assert split("SELECT ';';\nFROM skills\\G -- so\nSELECT 2;") == [
        Statement("SELECT ';'"),
        Statement("FROM skills", vertical=True),
        Statement("-- so\nSELECT 2"),
    ]
    assert split("SELECT 1; -- nothing more") == [Statement("SELECT 1")]


def test_enter_goes_on_until_the_semicolon(data: Path) -> None:
    made = Shell(
        Settings(data_dir=data), mode=Mode.AUTO, full=False, seconds=20, memory_bytes=GIB, ask=iter(()).__next__
    )
    with create_pipe_input() as keys:
        keys.send_text("SELECT 1,\r2;\r")
        assert session(made.completer, input=keys, output=DummyOutput()).prompt() == "SELECT 1,\n2;"


# --- completion


def test_after_from_come_macros_views_and_tables_with_what_they_tell(completed) -> None:
    found = completed("SELECT * FROM |")

    assert found["policy_at("].startswith("policy_at(who, moment) macro: ")
    assert found["learning_curve"].startswith("learning_curve view: ")
    assert found["skill_attributes"].startswith("skill_attributes table: ")
    assert "SELECT" not in found
    assert list(completed("FROM LEARNING_C|")) == ["learning_curve"], "whatever the case"


def test_columns_are_those_of_the_tables_that_the_query_names(completed) -> None:
    assert "tier" in completed("SELECT ti| FROM skill_attributes")
    assert "tier" not in completed("SELECT ti| FROM selections")
    assert list(completed("SELECT a.ti| FROM selections s JOIN skill_attributes AS a USING (user_id)")) == ["tier"]
    assert completed("SELECT hit| FROM outcomes")["hit_at_1"].startswith("hit_at_1 BOOLEAN: ")


def test_keywords_and_functions_come_last(completed) -> None:
    found = list(completed("SELECT re| FROM skill_diffs"))

    assert "reasoner" in found
    assert found[-1] == "REPLACE"
    assert "round(" in completed("SELECT ro|")


@pytest.mark.parametrize("typed", ["SELECT 'FROM |", "SELECT 1 -- FROM |", "SELECT 1 /* FROM |", "|"])
def test_nothing_is_completed_inside_of_texts(completed, typed: str) -> None:
    assert completed(typed) == {}


def test_dot_commands_are_completed_with_what_they_take(completed) -> None:
    assert set(completed(".|")) == set(COMMANDS)
    assert list(completed(".mode |")) == ["auto", "table", "vertical", "json", "csv"]
    assert "outcomes" in completed(".schema out|")


# --- commands


def test_a_query_is_answered_with_its_rows_and_time(told) -> None:
    out, err = told("SELECT 6 * 7 AS answer;")

    assert "42" in out
    assert "1 row in 0." in err


def test_an_error_is_told_and_the_prompt_goes_on(told) -> None:
    out, err = told("FROM nothing;", "DELETE FROM skills;", ".nonsense", ".mode x", ".schema nothing", "SELECT 42;")

    for told_of in ("nothing does not exist", "read-only", "no command .nonsense", ".mode auto|", "'nothing'"):
        assert told_of in err, told_of
    assert "42" in out


def test_modes(told) -> None:
    query = "SELECT 1 AS a, 'x' AS b;"
    out, _ = told(
        ".mode json", query, ".mode csv", query, ".vertical on", query, ".vertical off", query, query[:-1] + "\\G"
    )

    assert json.loads(out[: out.index("]") + 1]) == [{"a": 1, "b": "x"}]
    assert "a,b\n1,x\n" in out
    assert out.count("─── row 1") == 2
    assert told(query, mode=Mode.CSV)[0] == "a,b\n1,x\n"


def test_what_there_is_can_be_listed(told) -> None:
    assert "learning_curve" in told(".tables")[0]
    macros = told(".macros")[0]
    assert "policy_at(who, moment)" in macros
    assert "learning_curve " not in macros
    assert "BOOLEAN" in told(".schema outcomes")[0]
    assert "macro policy_at(who, moment): " in told(".schema policy_at")[0]
    assert ".vertical" in told(".help", ".quit", "SELECT 42;")[0], "and .quit leaves"


def test_ctrl_c_ends_the_query_and_its_process_alone(shell, capsys, monkeypatch) -> None:
    def interrupted(_: Asked) -> list[str]:
        raise KeyboardInterrupt

    ended = []
    made = shell("SELECT pg_sleep(300);", ".help")
    made._learn()
    monkeypatch.setattr(made, "_learn", lambda: None)
    monkeypatch.setattr(Asked, "columns", interrupted)
    monkeypatch.setattr(Asked, "__exit__", lambda self, *_: ended.append(self._end()))
    made.run()

    out, err = capsys.readouterr()
    assert "stopped after" in err
    assert ".quit" in out
    assert ended == [-signal.SIGKILL]


def test_a_newer_snapshot_is_told_once(shell, data: Path, capsys) -> None:
    made = shell()

    def republished() -> Iterator[str]:
        yield "SELECT 1;"
        with Store(data / "live.duckdb", "sager.") as store:
            copy_and_rename(store.path, data / "sager.duckdb")
        yield "SELECT 1;"
        yield "SELECT 1;"
        yield ".quit"

    made._ask = republished().__next__
    made.run()

    assert capsys.readouterr().err.count("a newer snapshot") == 1

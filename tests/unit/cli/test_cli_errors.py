"""Ctrl-C ends a command with 130 and no traceback, also before it runs and after it has."""

import signal
from collections.abc import Iterator

import pytest
import typer
from pydantic import BaseModel, field_serializer

from streams import cli
from streams.cli.output import INTERRUPTED, report_errors
from streams.http.tokens import new_token


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(prog_name: str) -> None:
    raise KeyboardInterrupt


def test_an_interrupt_outside_of_a_command_sets_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "app", interrupted)

    with pytest.raises(SystemExit) as ended:
        cli.main()

    assert ended.value.code == INTERRUPTED


def test_an_interrupt_hidden_by_pydantic_sets_the_exit_code():
    class Row(BaseModel):
        number: int

        @field_serializer("number")
        def _interrupted(self, _: int) -> int:
            raise KeyboardInterrupt

    with pytest.raises(typer.Exit) as ended, report_errors():
        Row(number=1).model_dump_json()
    assert ended.value.exit_code == INTERRUPTED


def test_a_broken_rule_is_reported_in_its_own_words(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit), report_errors():
        new_token("app", ["produce"], None, None)

    assert capsys.readouterr().err == "sager: invalid Token: produce need a user, or '*' for all\n"


LOST = SystemError("<method 'poll' of 'cimpl.Producer' objects> returned NULL without setting an exception")
WRAPPED = SystemError("<method 'flush' of 'cimpl.Producer' objects> returned a result with an exception set")
WRAPPED.__cause__ = KeyboardInterrupt()


@pytest.mark.parametrize("error", [LOST, WRAPPED])
def test_an_interrupt_in_a_kafka_callback_sets_the_exit_code(error: SystemError) -> None:
    # The moment of the interrupt decides which of them is raised.
    with pytest.raises(typer.Exit) as ended, report_errors():
        raise error
    assert ended.value.exit_code == INTERRUPTED

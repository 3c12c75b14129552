"""What `sager up` tells of its port, and how long it waits for its worker."""

import contextlib
import socket
from pathlib import Path

import pytest

from streams.analytics.store import live_file
from streams.cli import local as up
from streams.exceptions import StreamsError
from streams.local.broker import free_port
from streams.local.journal import JournalUnusable
from streams.local.pipeline import LocalPipeline
from streams.local.restore import restore
from streams.settings import Settings


def test_a_taken_usual_port_is_told_loudly_with_the_line_to_paste(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        # Where somebody else has it already, it is taken too.
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", up.USUAL_PORT))
            other.listen()
        local = LocalPipeline(Settings(data_dir=tmp_path), port=up._port(None))

    up._show(local, was_chosen=False)

    told = capsys.readouterr().out
    warning = told[told.index("Another process uses port 9092") : told.index("In another terminal")]
    assert f"\n  export SAGER_BOOTSTRAP={local.bootstrap}\n" in warning


def test_a_port_that_was_asked_for_and_is_taken_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(StreamsError, match="choose another with --port"):
            up._port(other.getsockname()[1])


def test_a_folder_with_rows_and_without_a_journal_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    live_file(settings).touch()

    with pytest.raises(JournalUnusable, match="no journal"):
        restore(settings, f"127.0.0.1:{free_port()}")

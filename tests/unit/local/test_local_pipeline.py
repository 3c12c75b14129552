"""The local pipeline: log files of children, ports, and advice without a broker."""

import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from streams.analytics.store import live_file
from streams.cli import local as cli_local
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.kafka.clients import reach
from streams.local import children
from streams.local.broker import free_port
from streams.local.children import open_log
from streams.local.journal import JournalUnusable
from streams.local.pipeline import LocalPipeline
from streams.local.proxy import restore
from streams.settings import Settings


def test_a_log_is_private_and_rotated_when_a_child_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "MAX_LOG_BYTES", 3)
    log = tmp_path / "logs" / "broker.log"
    for text in ("first\n", "second\n"):
        with open_log(log) as out:
            os.write(out, text.encode())

    older = log.with_name("broker.log.1")
    assert (older.read_text(), log.read_text()) == ("first\n", "second\n")
    assert [path.stat().st_mode & 0o777 for path in (log, older)] == [0o600, 0o600]


def test_json_logs_have_one_object_per_line() -> None:
    program = """
import logging
from streams.logs import configure
configure("INFO", "json")
logging.getLogger("sager.x").info("a %s\\nb", "line")
try: 1 / 0
except ZeroDivisionError: logging.getLogger("sager.y").exception("it failed")
logging.getLogger("sager.z").debug("not this")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    first, second = map(json.loads, done.stderr.splitlines())

    assert (first["level"], first["logger"], first["message"]) == ("INFO", "sager.x", "a line\nb")
    assert datetime.fromisoformat(first["time"]).utcoffset() is not None
    assert logging.getLevelName(second["level"]) == logging.ERROR
    assert "ZeroDivisionError" in second["exception"]


NO_BROKER = "127.0.0.1:1"


def test_an_unreachable_embedded_broker_is_reported_with_its_log(tmp_path):
    settings = Settings(bootstrap=NO_BROKER, embedded=True, data_dir=tmp_path)

    with pytest.raises(KafkaUnreachable) as failed:
        reach(settings, 0.2)

    assert str(tmp_path / "logs" / "broker.log") in str(failed.value)
    assert "brings its own" not in str(failed.value)


def test_an_unreachable_kafka_is_reported_with_the_settings_and_sager_up():
    with pytest.raises(KafkaUnreachable, match=r"SAGER_BOOTSTRAP.*`sager up` brings its own"):
        reach(Settings(bootstrap=NO_BROKER), 0.2)


def test_a_used_default_port_prints_the_line_to_paste(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as other:
        # Where somebody else has it already, it is taken too.
        with contextlib.suppress(OSError):
            other.bind(("127.0.0.1", cli_local.USUAL_PORT))
            other.listen()
        local = LocalPipeline(Settings(data_dir=tmp_path), port=cli_local._port(None))

    cli_local._show(local, was_chosen=False)

    told = capsys.readouterr().out
    assert f"\n  export SAGER_BOOTSTRAP={local.bootstrap} " in told[told.index("Another process uses port 9092") :]


def test_a_requested_port_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(StreamsError, match="choose another with --port"):
            cli_local._port(other.getsockname()[1])


def test_a_data_folder_without_a_journal_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    live_file(settings).touch()

    with pytest.raises(JournalUnusable, match="no journal"):
        restore(settings, f"127.0.0.1:{free_port()}")

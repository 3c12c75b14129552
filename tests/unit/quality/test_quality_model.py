"""The comparison with a model, against a real endpoint over HTTP: who is asked what, what is learned, the figures."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from evaluation.model import ARMS, NO_SKILL, PRIOR, run
from evaluation.plans import Lists, full_plan
from evaluation.replies import Replies
from streams.cli import app
from streams.settings import Settings
from tests.openai_server import OpenAiServer, threaded
from tests.unit.quality.quality_builders import data_set, tastes

CHOICES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"), tastes(12))


@pytest.fixture(scope="module")
def plan(folder):
    return full_plan(folder, 2, CHOICES, Lists.POPULAR, 3, 12)


@pytest.fixture
async def server():
    async with OpenAiServer() as running:
        yield running


async def played(plan, server, replies=None, **options):
    settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1)
    return await run(plan, settings, replies or Replies(), **options)


async def test_every_arm_ranks_every_choice_by_the_model_and_by_the_skill_alone(plan, server):
    found = await played(plan, server)

    ranked = Counter((each["arm"], each["by"]) for each in found["ranked"])
    assert ranked == {(arm, "model"): 2 * CHOICES for arm in ARMS} | {
        (arm, "skill"): 2 * CHOICES for arm in ARMS if arm != NO_SKILL
    }
    assert {each["place"] for each in found["ranked"]} <= set(range(1, 11))
    assert found["learned"] == {arm: 2 * CHOICES for arm in ARMS if arm not in (NO_SKILL, PRIOR)}
    assert 0 < len(server.bodies) < found["calls"], "what two arms ask alike is asked once"


def test_the_command_plays_and_tells(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with threaded(OpenAiServer()) as server:
        monkeypatch.setenv("SAGER_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("SAGER_LLM_MODEL", "fake")
        words = ["eval", "model", "--data", str(folder), "--users", "2", "--sweeps", "0", "--choices", str(CHOICES)]
        words += ["--arm", "statinit,counts", "--places", "places.json"]
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.stderr
        asked = len(server.bodies)
        shown = CliRunner().invoke(app, words)
        assert CliRunner().invoke(app, [*words, "--arm", "nobody"]).exit_code == 2
        assert len(server.bodies) == asked, "replies are kept"

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["arm"], line["by"]) for line in lines] == [
        ("counts", "model"),
        ("statinit", "model"),
        ("counts", "skill"),
        ("statinit", "skill"),
    ]
    assert lines[2]["minus"].keys() == {"statinit"}
    assert {line["choices"] for line in lines} == {2 * CHOICES}
    assert len(json.loads((tmp_path / "places.json").read_text())["ranked"]) == 4 * 2 * CHOICES
    assert "counts" in shown.stdout

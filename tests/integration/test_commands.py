"""What a person changes about their skill, carried out by a worker while choices come in."""

import os
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from schemas import Action, SkillCommand, SkillDiff, SkillLineInput, Tier
from streams.analytics import read
from streams.local.broker import free_port
from streams.rights.commands import CommandClient
from tests.harness import Harness
from tests.probes import metric
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USER, DOMAIN = "ann", "films"


def choose(harness: Harness, number: int) -> None:
    shown = slate(number)
    ranking = harness.events.ranking(USER, DOMAIN, shown)
    harness.events.selection(ranking, shown[3]["item_id"])
    harness.events.flush()


def tell(harness: Harness, action: Action, **about: Any) -> SkillDiff:
    fields = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": USER, "domain": DOMAIN}
    with CommandClient(harness.settings, USER) as client:
        diff = client.change_skill(SkillCommand(**fields, action=action, actor="advocate", **about), 60)
    assert diff is not None, harness.logs()
    return diff


def sager(harness: Harness, *words: str) -> tuple[int, str, str]:
    own = {
        "SAGER_BOOTSTRAP": harness.settings.bootstrap,
        "SAGER_PREFIX": harness.settings.prefix,
        "SAGER_DATA_DIR": str(harness.settings.data_dir),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-P", "-m", "streams.cli", "policy", *words, "--domain", DOMAIN]
    done = run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_person_states_freezes_and_rolls_back(harness: Harness) -> None:
    port = free_port()
    harness.worker(metrics_port=port)
    harness.materializer()
    choose(harness, 1)
    first = harness.count(SkillDiff, 1).diffs[0]

    said = tell(harness, Action.ADD, line=SkillLineInput(dimension="genre", value="film noir", tier=Tier.HIGH))
    assert [change.attribute_id for change in said.changes] == ["preference:genre:film-noir"]
    assert said.reasoned_by.reasoner == "command by advocate"

    assert tell(harness, Action.FREEZE).frozen
    choose(harness, 2)
    harness.until(lambda _: metric(port, "sager_events_total", outcome="frozen") == 1, "the choice to be passed over")
    assert tell(harness, Action.UNFREEZE).version == 4, "nothing was learned while it was frozen"
    choose(harness, 3)
    harness.count(SkillDiff, 5)

    harness.duckdb("SELECT version FROM skills", lambda rows: rows == [(5,)])
    code, out, err = sager(harness, "roll-back", USER, "1", "--actor", "advocate", "--yes")
    assert code == 0, err
    assert out.endswith("version 6\n")
    harness.duckdb("SELECT version FROM skills", lambda rows: rows == [(6,)])
    with read.connect(harness.settings) as con:
        [skill] = read.skill(con, USER)
    lines = {change.attribute_id for change in first.changes} | {line.attribute_id for line in first.seed or ()}
    assert {line.attribute_id for line in skill.attributes} == lines
    harness.quiet()
    harness.assert_all_stores_agree()

    assert sager(harness, "roll-back", USER, "9", "--yes")[0] == 1
    code, _, err = sager(harness, "pin", USER, "preference:genre:nothing")
    assert (code, "unknown-attribute" in err) == (1, True)

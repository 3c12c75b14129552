"""Commands of a person: applied by a worker, and confirmed before they change or erase anything."""

import json
import os
import pty
import sys
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest
from typer.testing import CliRunner

from schemas import Action, ForgetRequest, SkillCommand, SkillDiff, SkillLineInput, Tier
from streams.analytics import read
from streams.cli import app
from streams.local.broker import free_port
from streams.rights.previews import find_data
from streams.settings import Settings
from tests.harness import Harness
from tests.waiting import metric

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USER, DOMAIN = "ann", "films"


def test_a_person_adds_a_line_freezes_and_rolls_back(harness: Harness) -> None:
    port = free_port()
    harness.worker(metrics_port=port)
    harness.materializer()
    harness.choose(USER, 1)
    first = harness.count(SkillDiff, 1).diffs[0]

    said = harness.change_skill(
        USER, Action.ADD, line=SkillLineInput(dimension="genre", value="film noir", tier=Tier.HIGH)
    )
    assert [change.attribute_id for change in said.changes] == ["preference:genre:film-noir"]
    assert said.reasoned_by.reasoner == "command by advocate"

    assert harness.change_skill(USER, Action.FREEZE).frozen
    harness.choose(USER, 2)
    harness.until(lambda _: metric(port, "sager_events_total", outcome="frozen") == 1, "the choice to be passed over")
    assert harness.change_skill(USER, Action.UNFREEZE).version == 4, "nothing was learned while it was frozen"
    harness.choose(USER, 3)
    harness.count(SkillDiff, 5)

    harness.duckdb("SELECT version FROM skills", lambda rows: rows == [(5,)])
    done = policy(harness, "roll-back", USER, "1", "--actor", "advocate", "--yes", *IN)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith("version 6\n")
    harness.duckdb("SELECT version FROM skills", lambda rows: rows == [(6,)])
    with read.connect(harness.settings) as con:
        [skill] = read.skill(con, USER)
    lines = {change.attribute_id for change in first.changes} | {line.attribute_id for line in first.seed or ()}
    assert {line.attribute_id for line in skill.attributes} == lines
    harness.quiet()
    harness.assert_all_stores_agree()

    assert policy(harness, "roll-back", USER, "9", "--yes", *IN).exit_code == 1
    done = policy(harness, "pin", USER, "preference:genre:nothing", *IN)
    assert (done.exit_code, "unknown-attribute" in done.stderr) == (1, True)


ANNABEL = "annabel"
IN = ("--domain", DOMAIN)


def env(settings: Settings) -> dict[str, str]:
    names = {"SAGER_BOOTSTRAP": settings.bootstrap, "SAGER_PREFIX": settings.prefix}
    return {**names, "SAGER_DATA_DIR": str(settings.data_dir), "SAGER_APP_ID": settings.app_id}


def policy(harness: Harness, *words: str) -> Any:
    return CliRunner(env=env(harness.settings)).invoke(app, ["policy", *words])


def at_a_terminal(harness: Harness, answer: str, *words: str) -> tuple[int, str, str]:
    """The command with somebody at a terminal who gives this answer."""
    ours, theirs = pty.openpty()
    own = {**os.environ, **env(harness.settings), "PYTHONPATH": str(Path(__file__).parents[2])}
    with Popen(
        [sys.executable, "-P", "-m", "streams.cli", "policy", *words],
        env=own, stdin=theirs, stdout=PIPE, stderr=PIPE, text=True,
    ) as process:  # fmt: skip
        os.write(ours, f"{answer}\n".encode())
        out, err = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    return process.returncode, out, err


def sent(harness: Harness, model: type[SkillCommand] | type[ForgetRequest]) -> int:
    return len(harness.quiet(1).records.get(model.TOPIC, []))


@pytest.mark.thorough
def test_a_typo_changes_or_erases_no_other_user(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    for _ in range(8):  # the same film, so that its facts prove themselves
        harness.choose(ANNABEL, 0)
    line = harness.count(SkillDiff, 8).diffs[-1].changes[0].attribute_id
    harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: rows == [(8,)])

    # A slip is told with the nearest names, and nothing is sent.
    slips = {
        ("forget", "anabel", "--everything"): (2, "The nearest: annabel"),
        ("forget", ANNABEL, "--domain", "flims"): (2, "there is films"),
        ("forget", ANNABEL, *IN, "--line", line[:-1]): (2, f"The nearest: {line}"),
        ("add", "anabel", "genre", "noir", *IN): (2, "The nearest: annabel"),
        ("freeze", ANNABEL, "--domain", "flims"): (2, "would start a new skill"),
        ("roll-back", ANNABEL, "1", *IN): (2, "Confirm with --yes"),
        ("forget", ANNABEL, "--everything"): (2, "Confirm with --yes"),
        ("forget", ANNABEL): (2, "--everything"),
    }
    for words, (code, told) in slips.items():
        done = policy(harness, *words)
        assert (done.exit_code, done.stdout) == (code, ""), (words, done.stderr)
        assert told in " ".join(done.stderr.replace("│", " ").split()), (words, done.stderr)
    assert (sent(harness, SkillCommand), sent(harness, ForgetRequest)) == (0, 0)

    # A line that is not there is the worker's to refuse; the nearest that are there come with it.
    refused = policy(harness, "pin", ANNABEL, line[:-1], *IN)
    assert (refused.exit_code, f"unknown-attribute. The nearest: {line}" in refused.stderr) == (1, True), refused.stderr

    # A dry run counts what is held where.
    harness.duckdb("SELECT count(*) FROM skill_diffs", lambda rows: rows == [(9,)])
    held = json.loads(policy(harness, "forget", ANNABEL, "--everything", "--dry-run", "--json").stdout)["held"]
    assert held["table skill_diffs"] == 9
    assert (held["topic selections"], held["topic skills"]) == (8, 1)
    shown = policy(harness, "forget", ANNABEL, "--everything", "--dry-run").stdout
    assert "ignored" in shown
    assert "30 days" in shown
    assert (sent(harness, SkillCommand), sent(harness, ForgetRequest)) == (1, 0)

    # Somebody who is newer than the snapshot is known from the topics.
    fresh = harness.settings.model_copy(update={"data_dir": harness.settings.data_dir / "elsewhere"})
    assert find_data(fresh, ANNABEL, DOMAIN, line).skill(DOMAIN) is not None
    assert not find_data(fresh, "nobody").is_known

    # At a terminal it is asked; in scripts --yes says it.
    code, out, err = at_a_terminal(harness, "n", "forget", ANNABEL, *IN, "--line", line)
    assert (code, out, "cancelled" in err) == (1, "", True)
    code, out, err = at_a_terminal(harness, "y", "forget", ANNABEL, *IN, "--line", line)
    assert (code, out.startswith("erased up to")) == (0, True), err
    done = policy(harness, "forget", ANNABEL, "--everything", "--yes")
    assert (done.exit_code, done.stderr) == (0, "")
    again = policy(harness, "add", "newcomer", "genre", "noir", *IN, "--yes")
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "version 1"), again.stderr

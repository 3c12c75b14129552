"""An app's walk through all that it may tell, with the client and a real worker; then the person is forgotten."""

import os
import sys
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from sager_client import Connection, EventProducer, SlimSkills, question_of
from schemas import Abstention, Contrast, ForgetRequest, Ranking, SkillDiff, SlimSkill
from streams.rights.commander import Commander
from tests.harness import Harness
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USER, DOMAIN = "ann", "films"
HORROR = "avoids:preference:genre:horror"
GENRES = {"alien": "Horror", "heat": "Crime", "arrival": "Sci-Fi", "amelie": "Romance"}
FILMS = [{"item_id": name, "title": name.title(), "metadata": {"genres": [genre]}} for name, genre in GENRES.items()]


def sager(harness: Harness, *words: str) -> tuple[int, str, str]:
    own = {
        "SAGER_BOOTSTRAP": harness.settings.bootstrap,
        "SAGER_PREFIX": harness.settings.prefix,
        "SAGER_PARTITIONS": str(harness.settings.partitions),
        "SAGER_DATA_DIR": str(harness.settings.data_dir),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "COLUMNS": "160",
    }
    command = [sys.executable, "-P", "-m", "streams.cli", *words]
    done = run(command, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def ranked(events: EventProducer, done: Callable[[Any], bool], **more: Any) -> Any:
    """Ask for rankings until one is as it should be: what was said a moment ago is known a moment later."""
    give_up = time.monotonic() + PATIENCE_SECONDS
    while True:
        ranking = events.rank(USER, DOMAIN, FILMS, seconds=PATIENCE_SECONDS, **more)
        if done(ranking) or time.monotonic() > give_up:
            return ranking


def order(ranking: Any) -> list[str]:
    return [item.item_id for item in ranking.candidates]


def heard(harness: Harness, what: str, number: int = 1) -> list[SkillDiff]:
    """The versions that answer so many events of this kind."""

    def of(diffs: list[SkillDiff]) -> list[SkillDiff]:
        return [diff for diff in diffs if diff.heard is not None and diff.heard.what == what]

    return of(harness.until(lambda out: len(of(out.diffs)) >= number, f"{number} of {what}").diffs)


def forget(harness: Harness) -> None:
    request = ForgetRequest(event_id=uuid.uuid4().hex, occurred_at=datetime.now(UTC), user_id=USER, actor="ann")
    with Commander(harness.settings, USER) as commander:
        assert commander.forget(request, PATIENCE_SECONDS) is not None, harness.logs()


@pytest.mark.thorough
def test_an_app_tells_all_there_is_and_the_person_is_forgotten(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    events = harness.events

    # Nobody knows anything: a ranking claims nothing.
    first = ranked(events, lambda ranking: True)
    assert first.injected.fit is None

    # What a person does not want comes last in the next ranking, which says that it goes by their words.
    events.correct(USER, DOMAIN, "no horror, please", ranking=first)
    honoured = ranked(events, lambda ranking: ranking.injected.fit is not None)
    assert order(honoured)[-1] == "alien"
    assert honoured.injected.fit.against == {"alien": HORROR}
    assert HORROR in honoured.injected.fit.honoured
    chances = dict(zip(order(honoured), honoured.injected.fit.chances, strict=True))
    assert chances["alien"] < min(chance for name, chance in chances.items() if name != "alien")

    # Several picks are one contrast; none of these is no word against any item.
    events.selection(honoured, "arrival", others=["heat"])
    (contrast,) = harness.count(Contrast, 1).values(Contrast)
    assert {contrast.chosen.item_id, *(item.item_id for item in contrast.also)} == {"arrival", "heat"}
    refused = ranked(events, lambda ranking: True)
    events.none_of_these(refused)
    (abstention,) = harness.count(Abstention, 1).values(Abstention)
    assert {item.item_id for item in abstention.shown} == set(GENRES)
    (answered,) = heard(harness, "abstention")
    assert answered.changes == ()
    assert not answered.tally or not answered.tally.lines

    # A signal counts, a strong one against an item states that item alone.
    events.feedback(USER, DOMAIN, FILMS[1], "rated", 5)
    events.feedback(USER, DOMAIN, FILMS[3], "returned")
    (returned,) = heard(harness, "returned")
    assert [change.statement.item_id for change in returned.stated if change.statement] == ["amelie"]

    # A session has its say within itself, and nowhere else.
    tonight = ranked(events, lambda ranking: True, session_id="s1")
    assert tonight.session_id == "s1"
    events.selection(tonight, "amelie")
    events.correct(USER, DOMAIN, "no crime", ranking=tonight, scope="session")
    within = ranked(events, lambda ranking: "heat" in ranking.injected.fit.against, session_id="s1")
    assert "heat" in within.injected.fit.against
    assert "heat" not in ranked(events, lambda ranking: True).injected.fit.against
    reached = Connection(bootstrap=harness.settings.bootstrap, prefix=harness.settings.prefix)
    with SlimSkills(connection=reached) as skills:
        slim = skills.skill(USER, DOMAIN)
        assert slim is not None
        assert slim.session_id == "s1"
        assert "horror" in slim.avoids

    # What a person may be asked is asked only where the app wants it; the answer is a correction.
    assert question_of(within) is None
    asking = ranked(events, lambda ranking: True, clarify=True)
    if (question := question_of(asking)) is not None:
        events.answer(asking, question.options[0].value)
        heard(harness, "correction", 3)

    # A person at the command line is told what was understood, and what was not.
    code, out, err = sager(harness, "policy", "say", USER, "I don't want romance", "--domain", DOMAIN)
    assert (code, err) == (0, "")
    assert "+ avoids romance (genre) [avoids:preference:genre:romance]" in out
    code, out, err = sager(harness, "policy", "say", USER, "mumble grumble", "--domain", DOMAIN)
    assert code == 1
    assert err.startswith("not understood (unknown-name)"), err
    shown = "avoids romance (genre)"
    harness.duckdb("SELECT document FROM skills", lambda rows: bool(rows) and "romance" in rows[0][0])
    code, out, err = sager(harness, "policy", "show", USER)
    assert (code, shown in out, "“I don't want romance”" in out) == (0, True, True), out + err
    code, out, err = sager(harness, "policy", "log", USER, "--last", "0")
    assert (code, "said “mumble grumble”" in out, "nothing was taken" in out) == (0, True, True), out + err
    code, out, err = sager(harness, "policy", "explain", USER, HORROR, "--domain", DOMAIN)
    assert (code, "You said: “no horror" in out) == (0, True), out + err
    code, out, err = sager(harness, "policy", "remove", USER, HORROR, "--domain", DOMAIN)
    assert (code, f"[{HORROR}], removed" in out or f"- {HORROR}, removed" in out) == (0, True), out + err
    assert "alien" not in ranked(events, lambda r: "alien" not in r.injected.fit.against).injected.fit.against

    # The fold of the log is the skill, in every store.
    harness.quiet()
    harness.assert_all_stores_agree()
    assert not harness.outputs.dead_letters

    forget(harness)
    gone = ranked(events, lambda ranking: ranking.injected.fit is None)
    assert gone.injected.fit is None
    harness.quiet()
    left = [message for message in harness.outputs.newest(SlimSkill).values() if message is not None]
    assert left == []
    tables = "SELECT (SELECT count(*) FROM statements) + (SELECT count(*) FROM corrections)"
    assert harness.duckdb(tables, lambda rows: rows == [(0,)]) == [(0,)]
    assert harness.outputs.values(Ranking)

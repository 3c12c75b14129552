"""What people said, their sessions and what is believed of them: forged on the topics or in DuckDB, it is found."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import SecretStr

from operators.findings import Kind
from operators.language.understood import About, Read, Understood
from operators.merge import start
from operators.steps.evolved import Effects, State
from schemas import (
    Abstention,
    Candidate,
    Correction,
    Directive,
    Feedback,
    Fit,
    Injected,
    PolicySkill,
    Scope,
    Selection,
    SkillDiff,
    SlimSkill,
    Stance,
)
from streams.rights.verify import make_anchor, partition, verify
from streams.settings import Settings
from tests.builders import a_command, a_ranking, a_time, an_attribute, item_facts
from tests.faults.load import Talk
from tests.harness import Harness
from tests.integration.test_verify import DOMAIN, KEY, STEP, World, of

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SHOWN = (item_facts("a", "genre: noir", "mood: dark"), item_facts("b", "genre: saga"), item_facts("c", "genre: war"))
ITEMS = tuple(Candidate(item_id=item.item_id, title=item.item_id) for item in SHOWN)
AVOIDS = Directive(stance=Stance.AVOIDS, dimension="genre", value="saga", changed=True)


class Talking(World):
    """Sealed logs of people who say more than what they take."""

    def talk(self, user: str) -> None:
        """A purchase, words and a list of which nothing was taken; each is an event and a version of the skill."""
        common: dict[str, Any] = {"user_id": user, "domain": DOMAIN, "session_id": f"of-{user}"}
        bought = Feedback(event_id="f1", occurred_at=a_time(1), item=ITEMS[0], signal="purchased", **common)
        said = Correction(
            event_id="w1", occurred_at=a_time(2), text="no more sagas", says=(AVOIDS,), items=ITEMS, **common
        )
        none = Abstention(event_id="n1", occurred_at=a_time(3), ranking_id=f"{user}-r", shown=SHOWN, **common)
        read = Read(AVOIDS, "no more sagas", Scope.ALWAYS, "en.no-more")
        understood = Understood(says=(read,), suits=(), language="en", about=About.THE_PERSON)
        skill = start(user, DOMAIN, (an_attribute(tier="high"),), a_command(user_id=user))
        made = self.versions[user] = []

        def then(effects: Effects) -> PolicySkill:
            assert effects.version is not None
            made.append(effects.version)
            return effects.skill

        skill = then(STEP.hear(State(skill), bought, SHOWN[0]))
        skill = then(STEP.correct(State(skill), said, SHOWN, understood))
        skill = then(STEP.abstain(State(skill), none))
        fit = Fit(chances=(0.5, 0.02, 0.5), nothing=0.25, suits=True, honoured=(skill.stated[0].statement_id,))
        shown = a_ranking(f"{user}-r", ("a", "b", "c"), user_id=user, domain=DOMAIN, injected=Injected(fit=fit))
        nothing = Selection(
            event_id="s1", occurred_at=a_time(3), user_id=user, ranking_id=shown.ranking_id, none_taken=True
        )
        self.send(user, bought, said, shown, nothing, none)
        for version in made:
            self.send(user, version.diff, version.slim)
        self.send(user, skill)

    def newest(self, user: str) -> tuple[PolicySkill, SlimSkill]:
        slim = next(version.slim for version in reversed(self.versions[user]) if version.slim is not None)
        return self.versions[user][-1].skill, slim


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Talking:
    monkeypatch.setattr(partition, "LATE_SECONDS", 0.0)  # no worker is about to send anything
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return Talking(settings.model_copy(update=given))


EDITS = {
    "a statement's words": "UPDATE statements SET words = 'what nobody said' WHERE user_id = 'u0'",
    "a statement more": "INSERT INTO statements SELECT * REPLACE (9 AS place, 'prefers' AS stance) FROM statements "
    "WHERE user_id = 'u1'",
    "a statement less": "DELETE FROM statements WHERE user_id = 'u2'",
    "a statement of nobody": "INSERT INTO statements SELECT * REPLACE ('u3' AS user_id, 'books' AS domain) "
    "FROM statements LIMIT 1",
    "that a statement is doubtful": "UPDATE statements SET doubtful = NOT doubtful WHERE user_id = 'u4'",
    "until when a statement stands": "UPDATE statements SET until = '2020-01-01' WHERE user_id = 'u5'",
    "how a statement came": "UPDATE statement_changes SET kind = 'withdrawn' WHERE user_id = 'u6'",
    "that a statement came": "DELETE FROM statement_changes WHERE user_id = 'u7'",
    "a session's end": "UPDATE skill_sessions SET until = '2099-01-01' WHERE user_id = 'u8'",
    "what was taken in a session": "UPDATE session_lines SET taken = 9 WHERE user_id = 'u9'",
    "a version's words": "UPDATE skill_diffs SET words = 'what nobody said' WHERE user_id = 'u10' AND version = 2",
    "that words were understood": "UPDATE skill_diffs SET understood = false WHERE user_id = 'u11' AND version = 2",
    "that a taste has changed": "UPDATE skill_diffs SET taste_changed = false WHERE user_id = 'u12' AND version = 2",
    "a signal": "UPDATE feedback SET signal = 'returned' WHERE user_id = 'u13'",
    "a deleted signal": "DELETE FROM feedback WHERE user_id = 'u14'",
    "what a form says": "UPDATE correction_directives SET stance = 'prefers' WHERE user_id = 'u15'",
    "what the words are about": "UPDATE corrections SET scope = 'now' WHERE user_id = 'u16'",
    "a person's words": "UPDATE corrections SET text = 'more sagas' WHERE user_id = 'u17'",
    "a deleted abstention": "DELETE FROM abstentions WHERE user_id = 'u18'",
    "an abstention's arm": "UPDATE abstentions SET arm = 'best' WHERE user_id = 'u19'",
    "how well a ranking suits": "UPDATE rankings SET nothing = 0, suits = false WHERE user_id = 'u20'",
    "what a ranking honoured": "UPDATE rankings SET honoured = ['prefers:preference:genre:saga'] WHERE user_id = 'u21'",
    "that nothing was taken": "UPDATE selections SET none_taken = false, item_id = 'b' WHERE user_id = 'u22'",
    "what a slim skill avoids": "UPDATE slim_skills SET avoids = [] WHERE user_id = 'u23'",
    "a slim skill's session": "UPDATE slim_skills SET session_until = '2099-01-01' WHERE user_id = 'u24'",
    "when a taste changed": "UPDATE skills SET shifted = 0 WHERE user_id = 'u25'",
}


def test_nothing_of_what_people_said_can_be_edited_in_duckdb_unseen(world: Talking) -> None:
    for number in range(len(EDITS)):
        world.talk(f"u{number}")
    world.materialize()
    done = verify(world.settings)
    assert (done.findings, done.skills, done.versions) == ([], len(EDITS), 3 * len(EDITS))
    copy = world.settings.data_dir / "forged.duckdb"
    shutil.copy(world.settings.duckdb_file, copy)
    copy.chmod(0o600)
    with duckdb.connect(str(copy)) as con:
        for what, statement in EDITS.items():
            [(rows,)] = con.execute(statement).fetchall()
            assert rows, what

    done = verify(world.settings.model_copy(update={"duckdb": copy}))

    users = {each.user_id for each in done.findings}
    assert [what for number, what in enumerate(EDITS) if f"u{number}" not in users] == []
    assert {each.kind for each in done.findings} <= {
        Kind.ROW_EDITED, Kind.ROW_FORGED, Kind.ROW_MISSING, Kind.ROW_FILTERED, Kind.DERIVED_DIFFERS
    }  # fmt: skip


def test_what_people_said_cannot_be_forged_on_topics(world: Talking, tmp_path: Path) -> None:
    everyone = ("sound", "word", "belief", "session", "changed", "slim", "gone")
    for name in everyone:
        world.talk(name)
    world.materialize()
    assert not make_anchor(world.settings, tmp_path / "anchor").found
    skill, _ = world.newest("word")
    told = skill.stated[0].model_copy(update={"value": "noir", "words": "what nobody said"})
    world.send("word", skill.model_copy(update={"stated": (told,)}))
    world.send("belief", world.newest("belief")[0].model_copy(update={"beliefs": (0, -1)}))
    world.send("session", world.newest("session")[0].model_copy(update={"sessions": ()}))
    diff = world.versions["changed"][1].diff
    assert diff is not None
    world.send("changed", diff.model_copy(update={"stated": (), "shifted": False}))
    world.send("slim", world.newest("slim")[1].model_copy(update={"avoids": ("noir",), "session_text": "avoids: noir"}))
    world.forget("gone")
    world.remove("gone")
    world.flush()

    done = verify(world.settings, anchor=tmp_path / "anchor")

    found = {name: of(done.findings, name) for name in everyone}
    assert found["sound"] == found["gone"] == set()
    assert Kind.SKILL_DIFFERS in found["word"] & found["belief"] & found["session"]
    assert found["changed"] >= {Kind.LOG_FORGED, Kind.SKILL_DIFFERS}
    assert Kind.SLIM_FORGED in found["slim"]


@pytest.mark.thorough
def test_nothing_is_found_in_what_a_worker_and_the_materializer_made_of_it(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    with Talk(harness.settings, per_second=20) as talk:
        harness.until(lambda out: len(out.values(SkillDiff)) > 60, "some sixty versions")
    harness.until(lambda out: len(out.values(SkillDiff)) >= sum(map(len, talk.told.values())), "the rest")
    harness.quiet()
    harness.assert_all_stores_agree()

    done = verify(harness.settings)

    assert done.findings == []
    assert done.versions == sum(map(len, talk.told.values()))
    assert done.copies

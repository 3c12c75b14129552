"""Statements, sessions and beliefs that are forged on the topics are found."""

from typing import Any

import pytest
from pydantic import SecretStr

from operators.chain import Kind
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
    SlimSkill,
    Stance,
)
from streams.rights import sealed_topics
from streams.rights.verify import verify
from streams.settings import Settings
from tests.builders import a_command, a_ranking, a_time, an_attribute, item_facts
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
    monkeypatch.setattr(sealed_topics, "LATE_SECONDS", 0.0)  # no worker is about to send anything
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return Talking(settings.model_copy(update=given))


def test_what_people_said_cannot_be_forged_on_topics(world: Talking) -> None:
    everyone = ("sound", "word", "belief", "session", "changed", "slim", "gone")
    for name in everyone:
        world.talk(name)
    world.flush()
    assert not verify(world.settings).found
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

    done = verify(world.settings)

    found = {name: of(done.findings, name) for name in everyone}
    assert found["sound"] == found["gone"] == set()
    assert Kind.SKILL_DIFFERS in found["word"] & found["belief"] & found["session"]
    assert found["changed"] >= {Kind.LOG_FORGED, Kind.SKILL_DIFFERS}
    assert Kind.SLIM_FORGED in found["slim"]

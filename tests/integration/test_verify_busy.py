"""A verification of a busy, healthy deployment has no findings, whatever people did to their skills.

On both brokers: the embedded one of `sager up`, and Apache Kafka.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from benchmarks.surroundings import reached_as
from operators.merge import fold
from sager_client import EventProducer
from schemas.cards import Card, CardAction, CardCommand, CardDiff
from schemas.commands import Action, SkillCommand, Stated
from schemas.diffs import SkillDiff
from schemas.forgetting import ForgetRequest, line_of
from schemas.skills import SlimSkill, Tier
from streams.demo.run import Demo
from streams.demo.scenario import Simulated
from streams.kafka.topics import admin
from streams.rights.commander import Commander
from streams.rights.verify import verify
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag
from tests.harness import Harness

pytestmark = [pytest.mark.broker, pytest.mark.on("kafka")]

USERS, ROUNDS = 45, 16
"""As many as the demo has: nine of its people have two style phrases at the end."""
SECONDS = 120.0


@dataclass(frozen=True)
class Deployment:
    """The demo's interface to the processes that it watches, for those of a harness."""

    harness: Harness

    @property
    def settings(self) -> Settings:
        return self.harness.settings

    def left(self) -> int:
        return sum(lag(self.settings, admin(self.settings)).values())

    def check(self) -> None:
        dead = [each for each in self.harness.processes if each.poll() is not None]
        assert not dead, self.harness.logs()


@pytest.fixture
def harness(settings: Settings) -> Iterator[Harness]:
    with Harness(settings.model_copy(update={"chain_key": SecretStr("busy" * 8)})) as running:
        yield running


def carry_out(harness: Harness, user: str, domain: str, action: Action, **about: Any) -> SkillDiff:
    fields = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "domain": domain}
    with Commander(harness.settings, user) as commander:
        diff = commander.carry_out(SkillCommand(**fields, action=action, actor="advocate", **about), SECONDS)
    assert diff is not None, harness.logs()
    return diff


def forget(harness: Harness, user: str, domain: str | None = None, line: str | None = None) -> None:
    digest = line_of(user, domain, line) if domain is not None and line is not None else None
    asked = ForgetRequest(
        event_id=uuid.uuid4().hex, occurred_at=datetime.now(UTC), user_id=user, domain=domain, line=digest, actor="ann"
    )
    with Commander(harness.settings, user) as commander:
        assert commander.forget(asked, SECONDS) is not None, harness.logs()


def change_card(harness: Harness, user: str, action: CardAction, **about: Any) -> CardDiff:
    fields = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user}
    with Commander(harness.settings, user) as commander:
        diff = commander.change_card(CardCommand(**fields, action=action, actor="advocate", **about), SECONDS)
    assert diff is not None, harness.logs()
    return diff


def talk(harness: Harness, users: list[str]) -> None:
    """Four people chat: each gets a card."""
    with EventProducer(connection=reached_as(harness.settings)) as events:
        for user in users:
            events.utterance(user, f"chat-{user}", 0, "I'm vegetarian, and I love slow documentaries.")
            events.utterance(user, f"chat-{user}", 1, "I don't like horror films. Bye!", ends=True)
    harness.until(lambda out: {card.user_id for card in out.values(Card)} >= set(users), "a card for each of them")


def say(harness: Harness, names: list[tuple[str, str]]) -> None:
    """Stars, purchases and words, which each make a version."""
    before = len(harness.outputs.values(SkillDiff))
    with EventProducer(connection=reached_as(harness.settings)) as events:
        for number, (user, domain) in enumerate(names):
            item = {"item_id": f"said-{number}", "title": "Said", "metadata": {"genres": ["Western"]}}
            session = f"evening-{number}"
            events.feedback(user, domain, item, "purchased", session_id=session)
            said = {"stance": "avoids", "dimension": "genre", "value": "western"}
            events.correct(user, domain, items=[item], says=[said], session_id=session)
    harness.until(lambda out: len(out.values(SkillDiff)) >= before + 2 * len(names), "a version for each of them")


def command(harness: Harness, names: list[tuple[str, str]]) -> None:
    """Every command on a skill, each on a skill of its own."""
    skills = fold(sorted(harness.outputs.diffs, key=lambda diff: diff.version))

    def line(name: tuple[str, str]) -> str:
        return skills[name].attributes[0].attribute_id

    pinned, reworded, rolled_back, frozen, redacted, forgotten, lost_domain = names
    carry_out(harness, *pinned, Action.PIN, attribute_id=line(pinned))
    carry_out(harness, *pinned, Action.SET_TIER, attribute_id=line(pinned), tier=Tier.HIGH)
    carry_out(harness, *pinned, Action.ADD, line=Stated(dimension="genre", value="film noir", tier=Tier.HIGH))
    carry_out(harness, *reworded, Action.REWORD, attribute_id=line(reworded), value="slow cinema")
    seed = next(
        diff for diff in harness.outputs.diffs if diff.version == 1 and (diff.user_id, diff.domain) == rolled_back
    )
    carry_out(harness, *rolled_back, Action.ROLL_BACK, to_version=0, lines=seed.seed or ())
    carry_out(harness, *frozen, Action.FREEZE)
    forget(harness, *redacted, line(redacted))
    forget(harness, forgotten[0])
    forget(harness, *lost_domain)


@pytest.mark.thorough
def test_a_verification_of_a_busy_deployment_has_no_findings(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    local: Any = Deployment(harness)
    result = Demo(Simulated(USERS, ROUNDS, 7), local, lambda *_: None).run()
    assert result.fold_agrees
    harness.quiet()
    of_the_demo = verify(harness.settings)
    styles = {slim.user_id for slim in harness.outputs.values(SlimSkill) if ", " in slim.style}
    assert styles, "the demo has people with two style phrases"
    assert of_the_demo.findings == []

    names = sorted(result.skills)[:11]
    talk(harness, [user for user, _ in names[:4]])
    change_card(harness, names[0][0], CardAction.PIN, line_id=line_of_card(harness, names[0][0]))
    change_card(harness, names[1][0], CardAction.REMOVE, line_id=line_of_card(harness, names[1][0]))
    say(harness, names[:4])
    harness.quiet()
    command(harness, names[4:])
    harness.quiet()

    done = verify(harness.settings)

    assert done.findings == []
    assert done.cards > of_the_demo.cards


def line_of_card(harness: Harness, user: str) -> str:
    card = [each for each in harness.outputs.values(Card) if each.user_id == user][-1]
    return str(card.lines[0].line_id)

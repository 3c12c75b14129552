"""A verification of a busy, healthy deployment has no findings, whatever people did to their skills."""

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from operators.learning.fold import fold
from schemas import (
    Action,
    Card,
    CardAction,
    CardCommand,
    SkillDiff,
    SkillLineInput,
    Tier,
    line_digest,
)
from streams.rights.commands import CommandClient
from streams.rights.verify import verify
from streams.settings import Settings
from tests.harness import Harness, command_fields

pytestmark = [pytest.mark.broker, pytest.mark.on("embedded")]

USERS = ["pinned", "reworded", "rolled-back", "frozen", "redacted", "forgotten", "lost-domain"]
TALKING = ("ann", "bob", "cem", "dan")
DOMAIN, SECONDS = "films", 120.0


@pytest.fixture
def harness(settings: Settings) -> Iterator[Harness]:
    with Harness(settings.model_copy(update={"chain_key": SecretStr("busy" * 8)})) as running:
        yield running


def change_card(harness: Harness, user: str, action: CardAction) -> None:
    card = [each for each in harness.outputs.values(Card) if each.user_id == user][-1]
    command = CardCommand(**command_fields(user), action=action, line_id=card.lines[0].line_id)
    with CommandClient(harness.settings, user) as client:
        assert client.change_card(command, SECONDS) is not None, harness.logs()


def choose_and_talk(harness: Harness) -> None:
    events = harness.events
    for number in range(2):
        for user in (*USERS, *TALKING):
            harness.choose(user, number, 2)
    versions = 2 * len((*USERS, *TALKING))
    harness.count(SkillDiff, versions)
    for user in TALKING:
        events.utterance(user, f"chat-{user}", 0, "I'm vegetarian, and I love slow documentaries.")
        events.utterance(user, f"chat-{user}", 1, "I don't like horror films. Bye!", ends=True)
        item = {"item_id": f"said-{user}", "title": "Said", "metadata": {"genres": ["Western"]}}
        events.feedback(user, DOMAIN, item, "purchased", session_id="evening")
        said = {"stance": "avoids", "dimension": "genre", "value": "western"}
        events.correct(user, DOMAIN, items=[item], directives=[said], session_id="evening")
    events.flush()
    harness.count(SkillDiff, versions + 2 * len(TALKING))
    harness.until(lambda out: {card.user_id for card in out.values(Card)} >= set(TALKING), "a card for each of them")


@pytest.mark.thorough
def test_verify_finds_nothing_in_a_busy_deployment(harness: Harness) -> None:
    harness.worker()
    harness.materializer()
    choose_and_talk(harness)
    skills = fold(sorted(harness.outputs.diffs, key=lambda diff: diff.version))
    lines = {user: skills[user, DOMAIN].attributes[0].attribute_id for user in USERS}
    seed = next(diff.seed for diff in harness.outputs.diffs if (diff.user_id, diff.version) == ("rolled-back", 1))

    change_card(harness, "ann", CardAction.PIN)
    change_card(harness, "bob", CardAction.REMOVE)
    harness.change_skill("pinned", Action.PIN, attribute_id=lines["pinned"])
    harness.change_skill("pinned", Action.SET_TIER, attribute_id=lines["pinned"], tier=Tier.HIGH)
    harness.change_skill(
        "pinned", Action.ADD, line=SkillLineInput(dimension="genre", value="film noir", tier=Tier.HIGH)
    )
    harness.change_skill("reworded", Action.REWORD, attribute_id=lines["reworded"], value="slow cinema")
    harness.change_skill("rolled-back", Action.ROLL_BACK, to_version=0, lines=seed or ())
    harness.change_skill("frozen", Action.FREEZE)
    harness.forget("redacted", domain=DOMAIN, line=line_digest("redacted", DOMAIN, lines["redacted"]))
    harness.forget("forgotten")
    harness.forget("lost-domain", domain=DOMAIN)
    harness.quiet()

    done = verify(harness.settings)

    assert (done.findings, done.cards, done.forgotten) == ([], len(TALKING), 0)

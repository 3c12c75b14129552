"""Statements and cards go along with a skill: an import states them again."""

from datetime import timedelta

from operators.cards.fold import apply_diff
from operators.cards.merge import apply_command
from operators.language.corrections import understand
from operators.learning.fold import initial_skill
from operators.steps.evolve import EvolveStep
from operators.steps.versions import EvolveState
from schemas import Card, CardAction, PolicySkill, Scope, Stance, decode, encode
from schemas.cards import CardCommand
from schemas.corrections import Correction
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.rights.importing import ImportOrder, card_commands, statement_corrections
from tests.analytics_talks import talks
from tests.builders import a_command, a_time, item_facts
from tests.unit.analytics.analytics_builders import AVOIDS_HORROR, CHEAPER, NOIR, NOT_DUNE, RATHER_NOIR, SF

STEP = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)
LATER = a_time(60 * 24)
ORDER = ImportOrder("anna", at=LATER)
FOR_GOOD = {"scope": Scope.ALWAYS, "session_id": None, "until": None}
SAID = (
    AVOIDS_HORROR,
    RATHER_NOIR.model_copy(update=FOR_GOOD),
    CHEAPER.model_copy(update={**FOR_GOOD, "value": "price below 20", "statement_id": "prefers:bound:price:below"}),
    NOT_DUNE,
)


def with_stated(*said: object) -> PolicySkill:
    skill = initial_skill("eve", "books", (), a_command(user_id="eve"))
    return skill.model_copy(update={"stated": said})


def heard(corrections: list[Correction]) -> PolicySkill:
    """A new skill that hears them, as a worker would."""
    skill = initial_skill("anna", "books", (), a_command(user_id="anna"))
    for correction in corrections:
        sent = decode(Correction, encode(correction))
        items = [item_facts(item.item_id, title=item.title) for item in sent.items]
        skill = STEP.correct(
            EvolveState(skill), sent, items, understand(sent, items, skill, privacy=PRIVACY, reader=RULES)
        ).skill
    return skill


def test_what_was_said_for_good_is_said_again() -> None:
    [correction] = statement_corrections(with_stated(*SAID), "anna", ORDER)

    now = heard([correction])

    assert (correction.user_id, correction.domain, correction.scope) == ("anna", "books", Scope.ALWAYS)
    told = {(each.stance, each.dimension, each.value, each.over, each.bound) for each in now.stated}
    assert told == {(each.stance, each.dimension, each.value, each.over, each.bound) for each in SAID}
    ids = {each.attribute_id for each in now.stated}
    assert ids >= {NOIR, "preference:genre:horror", "bound:price:below"}
    assert {each.item_id for each in now.stated} == {None, "dune"}
    assert next(each.over for each in now.stated if each.stance is Stance.INSTEAD) == SF


def test_what_was_meant_for_now_or_is_over_stays_behind() -> None:
    over = AVOIDS_HORROR.model_copy(update={"until": LATER - timedelta(minutes=1)})

    assert statement_corrections(with_stated(RATHER_NOIR, CHEAPER, over), "anna", ORDER) == []


def card_of(place: int) -> Card:
    people = ("ann", "bob", "cem")
    return [card for diff, card in talks(people, a_time(0)) if diff.user_id == people[place]][-1]


def written(commands: list[CardCommand]) -> Card | None:
    card = None
    for command in commands:
        diff = apply_command(card, decode(CardCommand, encode(command)), None, DEFAULT_PRIVACY)
        assert diff is not None
        card = apply_diff(card, diff)
    return card


def test_lines_are_said_anew_and_pins_hold() -> None:
    card = card_of(0)
    first = card.lines[0].model_copy(update={"pinned": True})
    card = card.model_copy(update={"lines": (first, *card.lines[1:])})

    now = written(list(card_commands(card, "anna", ORDER)))

    assert now is not None
    assert now.user_id == "anna"
    assert {line.line_id for line in now.lines} == {line.line_id for line in card.lines}
    assert [line.line_id for line in now.lines if line.pinned] == [first.line_id]
    assert now.past == ()


def test_of_one_domain_only_its_lines_go_along() -> None:
    found = list(card_commands(card_of(0), "anna", ORDER, "films"))

    assert [(each.action, each.line and each.line.value) for each in found] == [(CardAction.SET, "horror")]
    assert list(card_commands(card_of(0), "anna", ORDER, "music")) == []

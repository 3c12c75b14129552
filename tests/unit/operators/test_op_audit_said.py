"""Whatever is done to what a person said, to their session or to what is believed of them, is found."""

from collections.abc import Callable
from typing import Any

import pytest

from operators.chain import Kind, audit
from operators.language.ports import About, Read, Understood
from operators.merge import start
from operators.seals import sealed
from operators.steps.evolve import Evolve
from operators.steps.evolved import State
from schemas import Abstention, Candidate, Feedback, PolicySkill, Scope, SkillDiff, SlimSkill, Stance
from schemas.corrections import Correction, Directive
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import DOMAIN, USER, a_command, a_name, a_time, an_attribute, item_facts

KEY = b"hush"
STEP = Evolve(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, vouching=VOUCHING)
NOIR, SAGA, WAR = "genre: noir", "genre: saga", "genre: war"
SHOWN = (item_facts("a", NOIR, "mood: dark"), item_facts("b", SAGA), item_facts("c", WAR))


def event(minutes: int, **more: object) -> dict[str, Any]:
    given = {"event_id": a_name("e"), "occurred_at": a_time(minutes), "user_id": USER, "domain": DOMAIN}
    return {**given, "session_id": "evening", **more}


def directive(stance: Stance, value: str) -> Directive:
    return Directive(stance=stance, dimension="genre", value=value)


def written() -> tuple[list[SkillDiff], PolicySkill, SlimSkill]:
    """A log as a worker writes it: a purchase, words, a list of which nothing was taken."""
    skill = start(USER, DOMAIN, (an_attribute(NOIR),), a_command())
    log: list[SkillDiff] = []
    bought = Feedback(**event(1), item=Candidate(item_id="a"), signal="purchased")
    items = tuple(Candidate(item_id=item.item_id) for item in SHOWN)
    said = Correction(**event(2), text="no saga, rather war", items=items)
    none = Abstention(**event(3), ranking_id="r", shown=SHOWN)
    reads = tuple(
        Read(directive(stance, value), f"the words on {value}", Scope.ALWAYS, "en.no")
        for stance, value in ((Stance.AVOIDS, "saga"), (Stance.PREFERS, "war"))
    )
    understood = Understood(says=reads, suits=(), language="en", about=About.THE_PERSON)
    for step in (
        lambda now: STEP.hear(State(now), bought, SHOWN[0]),
        lambda now: STEP.correct(State(now), said, SHOWN, understood),
        lambda now: STEP.abstain(State(now), none),
    ):
        effects = step(skill)
        skill = effects.skill
        assert effects.diff is not None
        log.append(effects.diff)
    slim = STEP.slim(skill)
    assert slim is not None
    return log, skill, slim


LOG, SKILL, SLIM = written()


def edited(at: int, **fields: object) -> list[SkillDiff]:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(LOG)]


def other_words(at: int) -> list[SkillDiff]:
    [first, *rest] = LOG[at].stated
    assert first.statement is not None
    told = first.statement.model_copy(update={"words": "what nobody said"})
    return edited(at, stated=(first.model_copy(update={"statement": told}), *rest))


LOGS: dict[str, Callable[[], list[SkillDiff]]] = {
    "a statement's words": lambda: other_words(1),
    "a statement of nobody": lambda: edited(2, stated=LOG[1].stated),
    "what is believed": lambda: edited(2, beliefs=(0, -1)),
    "the session": lambda: edited(0, session=LOG[2].session),
}


def test_nothing_is_found_in_what_a_worker_wrote() -> None:
    assert audit(LOG, SKILL, SLIM, KEY) == []


@pytest.mark.parametrize("edit", LOGS)
def test_an_edit_of_the_log_is_found(edit: str) -> None:
    assert Kind.LOG_FORGED in {fault.kind for fault in audit(LOGS[edit](), SKILL, SLIM, KEY)}


@pytest.mark.parametrize(
    "fields",
    [
        {"stated": (SKILL.stated[0].model_copy(update={"words": "what nobody said"}), *SKILL.stated[1:])},
        {"beliefs": (0, -1)},
        {"sessions": ()},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_skill_that_the_log_does_not_fold_to_is_found(fields: dict[str, object]) -> None:
    found = audit(LOG, SKILL.model_copy(update=fields), SLIM, KEY)

    assert {fault.kind for fault in found} == {Kind.SKILL_DIFFERS}


def test_an_edited_slim_skill_is_found() -> None:
    forged = SLIM.model_copy(update={"avoids": ("noir",)})

    assert [fault.kind for fault in audit(LOG, SKILL, forged, KEY)] == [Kind.SLIM_FORGED]
    assert [fault.kind for fault in audit(LOG, SKILL, sealed(forged, b"guess"), KEY)] == [Kind.SLIM_FORGED]

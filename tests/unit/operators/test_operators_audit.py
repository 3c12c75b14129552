"""Whatever is done to a sealed log is found."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.audit import FaultKind, audit_card, audit_skill
from operators.cards.fold import fold_cards
from operators.habit_directions import DIRECTIONS
from operators.language.ports import Interpretation, ReadDirective
from operators.learning.commands import resolve_command
from operators.learning.fold import initial_skill, merge
from operators.seals import seal_diff, seal_log, seal_record
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import (
    Abstention,
    Action,
    Attribute,
    Candidate,
    Card,
    CardDiff,
    Feedback,
    PolicySkill,
    Scope,
    SkillDiff,
    SlimSkill,
    Stance,
    Tier,
)
from schemas import AttributeKind as LineKind
from schemas.cards import CardChange, CardChangeKind
from schemas.statements import Correction, Directive
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_command,
    a_line,
    a_name,
    a_proposal,
    a_skill,
    a_time,
    an_attribute,
    evolve,
    item_facts,
)

KEY = b"hush"
TEXTS = ("genre: noir", "genre: saga", "mood: dark", "era: 1950s")
ACTS = st.lists(st.tuples(st.sampled_from(TEXTS), st.booleans()), min_size=3, max_size=6)
Log = list[SkillDiff]


def written(acts: list[tuple[str, bool]]) -> tuple[Log, PolicySkill]:
    """A sealed log as a worker writes it, and the skill that it leads to; an act is a choice or a removal."""
    skill = initial_skill(USER, DOMAIN, (an_attribute("genre: noir"),), a_command())
    log: Log = []
    for text, chosen in acts:
        if chosen:
            diff = evolve(skill, a_proposal([text], [text], analysis="fits"))[1]
        else:
            diff = resolve_command(skill, a_command(Action.REMOVE, text), privacy=PRIVACY, gate=OUTPUT_GATE)
        log.append(seal_diff(diff, skill.chain, KEY))
        skill = merge(skill, log[-1])
    return log, skill


def changed(log: Log, at: int, **fields: object) -> Log:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(log)]


def swapped(log: Log, at: int) -> Log:
    other = (at + 1) % len(log)
    numbers = {at: log[other], other: log[at]}
    return [
        numbers.get(place, diff).model_copy(update={"version": diff.version, "base_version": diff.base_version})
        for place, diff in enumerate(log)
    ]


def sealed_with_another_key(log: Log, at: int) -> Log:
    return changed(log, at, chain=seal_diff(log[at], log[at - 1].chain if at else None, b"guess").chain)


EDITS: dict[str, Callable[[Log, int], Log]] = {
    "other words": lambda log, at: changed(log, at, analysis=f"{log[at].analysis}."),
    "another time": lambda log, at: changed(log, at, occurred_at=log[at].occurred_at.replace(year=2020)),
    "another seed": lambda log, at: changed(log, at, seed=(an_attribute("genre: romance"),)),
    "one left out": lambda log, at: log[:at] + log[at + 1 :],
    "two swapped": swapped,
    "one doubled": lambda log, at: [*log[: at + 1], log[at], *log[at + 1 :]],
    "cut off": lambda log, at: log[:at],
    "another key": sealed_with_another_key,
}


@given(ACTS)
def test_an_unedited_log_has_no_faults(acts: list[tuple[str, bool]]) -> None:
    log, skill = written(acts)

    assert audit_skill(log, skill, key=KEY) == []


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@given(ACTS, st.data())
def test_an_edit_of_a_log_is_found(
    edit: Callable[[Log, int], Log], acts: list[tuple[str, bool]], data: st.DataObject
) -> None:
    log, skill = written(acts)

    assert audit_skill(edit(log, data.draw(st.integers(0, len(log) - 1))), skill, key=KEY)


@given(ACTS)
def test_an_edit_of_the_skill_is_found(acts: list[tuple[str, bool]]) -> None:
    log, skill = written(acts)

    assert audit_skill(log, skill.model_copy(update={"attributes": (an_attribute("genre: romance"),)}), key=KEY)
    assert audit_skill(log, None, key=KEY)


def test_a_run_of_unsealed_versions_is_reported_once() -> None:
    log, skill = written([(TEXTS[1], True)] * 3)
    bare = [diff.model_copy(update={"chain": None}) for diff in log]

    told = audit_skill(bare, skill, key=KEY)

    assert (told[0].kind, told[0].text) == (FaultKind.LOG_UNSEALED, "versions 1 to 3: it is not sealed")
    assert len(told) == 2


def a_pole(value: str) -> Attribute:
    pole = next(each for each in DIRECTIONS if each.value == value)
    return an_attribute(f"{pole.dimension}: {value}", kind=pole.kind, tier=Tier.HIGH)


@pytest.mark.parametrize(
    "lines",
    [
        (a_pole("returns to earlier choices"), a_pole("explores many genres")),
        (an_attribute("genre: noir", Tier.HIGH), an_attribute("era: 1990s", Tier.HIGH, kind=LineKind.CRITERION)),
        (an_attribute("author: Flann O'Brien", tier=Tier.HIGH),),
    ],
    ids=["two habits", "a criterion", "signs"],
)  # fmt: skip
def test_an_unedited_slim_skill_has_no_faults(lines: tuple[Attribute, ...]) -> None:
    step = EvolveStep(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, gate=OUTPUT_GATE)
    skill = initial_skill(USER, DOMAIN, lines, a_command())
    version = step.version(EvolveState(skill), evolve(skill, a_proposal())[1], always=True)
    assert version.diff is not None
    assert version.slim is not None
    assert version.slim.text

    assert audit_skill([version.diff], version.skill, version.slim, KEY) == []


CardLog = list[CardDiff]


def a_diff(version: int, value: str) -> CardDiff:
    line = a_line(value, words=f"I like {value}")
    changes = (CardChange(kind=CardChangeKind.ADDED, line_id=line.line_id, line=line),)
    return CardDiff(event_id=f"e{version}", occurred_at=NOW, user_id="ann", version=version, changes=changes)


LOG = seal_log([a_diff(version, value) for version, value in enumerate(("noir", "saga", "tofu"), 1)], KEY)
CARD = fold_cards(LOG)["ann"]


def card_changed(at: int, **fields: object) -> CardLog:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(LOG)]


CARD_EDITS: dict[str, Callable[[], CardLog]] = {
    "the words": lambda: card_changed(1, changes=a_diff(2, "noir").changes),
    "when it was said": lambda: card_changed(1, occurred_at=NOW.replace(year=2020)),
    "a version less": lambda: [LOG[0], LOG[2]],
    "the seal": lambda: card_changed(2, chain=None),
    "another key": lambda: card_changed(2, chain=seal_diff(LOG[2], LOG[1].chain, b"guess").chain),
    "the end": lambda: LOG[:2],
    "everything, with another key": lambda: seal_log(LOG, b"guess"),
}


def test_an_unedited_card_has_no_faults() -> None:
    assert audit_card(LOG, CARD, KEY) == []
    assert audit_card(LOG, fold_cards(LOG[:2])["ann"], KEY) == [], "a worker has written more meanwhile"


@pytest.mark.parametrize("edit", CARD_EDITS)
def test_an_edit_of_a_cards_log_is_found(edit: str) -> None:
    assert audit_card(CARD_EDITS[edit](), CARD, KEY)


def test_an_edited_card_is_found() -> None:
    words = CARD.lines[0].model_copy(update={"words": "I love everything"})
    edited = CARD.model_copy(update={"lines": (words, *CARD.lines[1:])})
    cut_back: Card = fold_cards(LOG[:2])["ann"].model_copy(update={"version": 3})

    assert [fault.kind for fault in audit_card(LOG, edited, KEY)] == [FaultKind.CARD_DIFFERS]
    assert [fault.kind for fault in audit_card(LOG, cut_back, KEY)] == [FaultKind.CARD_DIFFERS]
    assert [fault.kind for fault in audit_card(LOG, None, KEY)] == [FaultKind.CARD_MISSING]
    assert [fault.kind for fault in audit_card([], CARD, KEY)] == [FaultKind.LOG_CUT]


def test_a_seal_of_a_skill_is_invalid_for_a_card() -> None:
    _, diff = evolve(a_skill(), a_proposal())
    of_a_skill: SkillDiff = seal_diff(diff, None, KEY)

    assert audit_card([LOG[0].model_copy(update={"chain": of_a_skill.chain})], fold_cards(LOG[:1])["ann"], KEY)


STEP = EvolveStep(slim_tokens=30, chain_key=KEY, privacy=PRIVACY, gate=OUTPUT_GATE)
NOIR, SAGA, WAR = "genre: noir", "genre: saga", "genre: war"
SHOWN = (item_facts("a", NOIR, "mood: dark"), item_facts("b", SAGA), item_facts("c", WAR))


def event(minutes: int, **more: object) -> dict[str, Any]:
    given = {"event_id": a_name("e"), "occurred_at": a_time(minutes), "user_id": USER, "domain": DOMAIN}
    return {**given, "session_id": "evening", **more}


def directive(stance: Stance, value: str) -> Directive:
    return Directive(stance=stance, dimension="genre", value=value)


def stated_log() -> tuple[list[SkillDiff], PolicySkill, SlimSkill]:
    """A log as a worker writes it: a purchase, words, a list of which nothing was taken."""
    skill = initial_skill(USER, DOMAIN, (an_attribute(NOIR),), a_command())
    log: list[SkillDiff] = []
    bought = Feedback(**event(1), item=Candidate(item_id="a"), signal="purchased")
    items = tuple(Candidate(item_id=item.item_id) for item in SHOWN)
    said = Correction(**event(2), text="no saga, rather war", items=items)
    none = Abstention(**event(3), ranking_id="r", shown=SHOWN)
    reads = tuple(
        ReadDirective(directive(stance, value), f"the words on {value}", Scope.ALWAYS, "en.no")
        for stance, value in ((Stance.AVOIDS, "saga"), (Stance.PREFERS, "war"))
    )
    understood = Interpretation(directives=reads, acceptable=(), language="en")
    for step in (
        lambda now: STEP.apply_signal(EvolveState(now), bought, SHOWN[0]),
        lambda now: STEP.correct(EvolveState(now), said, SHOWN, understood),
        lambda now: STEP.abstain(EvolveState(now), none),
    ):
        effects = step(skill)
        skill = effects.skill
        assert effects.diff is not None
        log.append(effects.diff)
    slim = STEP.slim(skill)
    assert slim is not None
    return log, skill, slim


STATED_LOG, SKILL, SLIM = stated_log()


def edited(at: int, **fields: object) -> list[SkillDiff]:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(STATED_LOG)]


def other_words(at: int) -> list[SkillDiff]:
    [first, *rest] = STATED_LOG[at].stated
    assert first.statement is not None
    told = first.statement.model_copy(update={"words": "what nobody said"})
    return edited(at, stated=(first.model_copy(update={"statement": told}), *rest))


LOGS: dict[str, Callable[[], list[SkillDiff]]] = {
    "a statement's words": lambda: other_words(1),
    "a statement of nobody": lambda: edited(2, stated=STATED_LOG[1].stated),
    "what is believed": lambda: edited(2, beliefs=(0, -1)),
    "the session": lambda: edited(0, session=STATED_LOG[2].session),
}


def test_a_log_of_the_worker_has_no_faults() -> None:
    assert audit_skill(STATED_LOG, SKILL, SLIM, KEY) == []


@pytest.mark.parametrize("edit", LOGS)
def test_an_edit_of_the_log_is_found(edit: str) -> None:
    assert FaultKind.LOG_FORGED in {fault.kind for fault in audit_skill(LOGS[edit](), SKILL, SLIM, KEY)}


@pytest.mark.parametrize(
    "fields",
    [
        {"stated": (SKILL.stated[0].model_copy(update={"words": "what nobody said"}), *SKILL.stated[1:])},
        {"beliefs": (0, -1)},
        {"sessions": ()},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_skill_that_differs_from_its_log_is_found(fields: dict[str, object]) -> None:
    found = audit_skill(STATED_LOG, SKILL.model_copy(update=fields), SLIM, KEY)

    assert {fault.kind for fault in found} == {FaultKind.SKILL_DIFFERS}


def test_an_edited_slim_skill_is_found() -> None:
    forged = SLIM.model_copy(update={"avoids": ("noir",)})

    assert [fault.kind for fault in audit_skill(STATED_LOG, SKILL, forged, KEY)] == [FaultKind.SLIM_FORGED]
    assert [fault.kind for fault in audit_skill(STATED_LOG, SKILL, seal_record(forged, b"guess"), KEY)] == [
        FaultKind.SLIM_FORGED
    ]

"""Wishes about answers: typed on cards and in skills, one value per dimension, in every prompt text."""

import re
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.cards.fold import apply_diff
from operators.cards.lines import card_text, describe
from operators.cards.merge import apply_command, merge_extraction
from operators.language.chunks import chunk_id, derived_corrections, derived_forget_requests
from operators.language.corrections import understand
from operators.learning.fold import fold
from operators.slim.rules import slim
from operators.slim.statements import phrase
from operators.stated import describe_statement
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import (
    ANSWER_VALUES,
    Card,
    Chunk,
    Directive,
    PolicySkill,
    Speaker,
    Stance,
    Tier,
    Turn,
    line_digest,
)
from schemas.cards import CardAction, CardCommand, CardLineInput
from schemas.skills import SLIM_TEXT
from schemas.statements import Correction
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_skill, an_attribute

STEP = EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE)
WISHES = [(name, value) for name, values in ANSWER_VALUES.items() for value in sorted(values or ("de", "en-GB", "fr"))]


def a_turn(text: str, number: int = 0, **more: Any) -> Turn:
    return Turn(
        event_id=f"t{number}",
        turn=number,
        role=Speaker.USER,
        text=text,
        stated_at=NOW + timedelta(days=number),
        **more,
    )


def told(*texts: str, card: Card | None = None) -> Card:
    """The card after a conversation per text, a day apart."""
    for number, text in enumerate(texts):
        turn = a_turn(text, number)
        found = RULES.extract([turn], card, lambda _: ())
        diff = merge_extraction(card, USER, found, f"chunk-{number}", turn.stated_at, "talk", None, PRIVACY)
        card = card if diff is None else apply_diff(card, diff)
    assert card is not None
    return card


def text_of(card: Card) -> str:
    return card_text(card, NOW, gate=OUTPUT_GATE)


def corrected(*texts: str, skill: PolicySkill | None = None) -> PolicySkill:
    skill = skill or a_skill(an_attribute("genre: noir", Tier.HIGH, taken=9_000, expected=1_000, support=9))
    for number, text in enumerate(texts, skill.version):
        event = Correction(
            event_id=f"c{number}", occurred_at=NOW + timedelta(days=number), user_id=USER, domain=DOMAIN, text=text
        )
        read = understand(event, (), skill, privacy=PRIVACY, reader=RULES)
        effects = STEP.correct(EvolveState(skill), event, (), read)
        assert effects.version is not None
        skill = effects.version.skill
    return skill


def test_words_in_a_conversation_reach_the_prompt_in_both_languages() -> None:
    card = told("Antworte mir immer auf Deutsch.", "keep it short", "no jargon, please", "Bitte duze mich.")

    assert {(line.dimension, line.value) for line in card.lines} == {
        ("answer_language", "de"),
        ("answer_verbosity", "brief"),
        ("answer_vocabulary", "plain"),
        ("answer_formality", "informal"),
    }
    assert set(text_of(card).splitlines()[1:]) == {
        "- wants informal address",
        "- wants plain words",
        "- wants brief answers",
        "- wants answers in German",
    }


def test_the_latest_wish_of_a_dimension_replaces_the_earlier_one() -> None:
    card = told("Antworte mir immer auf Deutsch.", "Please keep your answers short.", "Always answer in English.")

    assert {line.value for line in card.lines} == {"en", "brief"}
    assert [(line.value, line.overtaken_by) for line in card.past] == [("de", "prefers:answer_language:en")]
    late = told("Antworte mir immer auf Deutsch.", card=card)
    assert {line.value for line in late.lines} == {"en", "brief"}


def test_wishes_come_first_whatever_the_request() -> None:
    card = told("I love mysteries set by the sea.", "I can't stand coriander.", "Antworte mir immer auf Deutsch.")

    text = card_text(card, NOW, request="a soup with coriander", gate=OUTPUT_GATE)

    assert text.splitlines()[1:3] == ["- wants answers in German", "- does not like coriander"]


@pytest.mark.parametrize(
    ("words", "gone"),
    [
        ("Forget that I want short answers.", "brief"),
        ("I don't want direct answers any more.", "direct"),
        ("Forget that I want answers in German.", "de"),
        ("Forget that I like direct flights.", ""),
    ],
)
def test_words_against_a_wish_end_that_one_alone(words: str, gone: str) -> None:
    card = told("I love short books.", "keep it short", "Always answer in German.", "Always be direct with me.", words)
    assert {line.value for line in card.lines} == {"short books", "brief", "de", "direct"} - {gone}


@pytest.mark.parametrize("last", ["Forget that I want direct answers.", "I don't want direct answers any more."])
def test_a_wish_that_ends_in_a_conversation_leaves_its_skill(last: str) -> None:
    stated, ended = a_turn("Always be direct with me.", domain="films"), a_turn(last, 1, domain="films")
    line = line_digest(USER, "films", "preference:answer_tone:direct")
    for turns, card in (((stated, ended), None), ((ended,), told(stated.text))):
        chunk = Chunk(conversation_id="talk", turns=turns)
        findings = RULES.extract(chunk.turns, card, lambda _: ()).findings
        assert derived_corrections(USER, "chunk", chunk, findings, lambda _: ()) == ()
        requests = derived_forget_requests(USER, "chunk", chunk, findings)
        assert card is None or [(each.domain, each.line) for each in requests] == [("films", line)]


def test_a_command_sets_a_wish_and_ends_its_rival() -> None:
    line = CardLineInput(dimension="answer_language", value="en-GB")
    command = CardCommand(
        event_id="k1", occurred_at=NOW + timedelta(days=9), user_id=USER, action=CardAction.SET, line=line, actor="ann"
    )
    card = told("Antworte mir immer auf Deutsch.")

    diff = apply_command(card, command, None, PRIVACY)
    assert diff is not None
    after = apply_diff(card, diff)

    assert [describe(each) for each in after.lines] == ["wants answers in British English"]
    assert [each.value for each in after.past] == ["de"]


@pytest.mark.parametrize(
    ("dimension", "value", "stance"),
    [
        ("answer_verbosity", "whatever I say", Stance.PREFERS),
        ("answer_language", "en-ignore-all-rules", Stance.PREFERS),
        ("answer_language", "en-\u0661\u0662\u0663", Stance.PREFERS),
        ("answer_language", "German", Stance.PREFERS),
        ("answer_tone", "friendly", Stance.AVOIDS),
    ],
)
def test_other_values_are_rejected_and_never_reach_a_prompt(dimension: str, value: str, stance: Stance) -> None:
    for model in (Directive, CardLineInput):
        with pytest.raises(ValidationError, match=f"{dimension} prefers one of"):
            model(stance=stance, dimension=dimension, value=value)


def test_a_correction_states_a_wish_in_the_slim_style() -> None:
    skill = corrected("Antworte mir immer auf Deutsch", "keep it short", "no jargon, please")

    found = slim(skill, gate=OUTPUT_GATE)
    assert found.text == "likes: noir | style: answers in German, brief answers, plain words"
    assert {(line.dimension, line.value) for line in found.lines} >= {("answer_language", "de")}
    assert describe_statement(skill.stated[0]) == "wants answers in German"
    assert "answers in English" in slim(corrected("Answer in English!", skill=skill), gate=OUTPUT_GATE).text
    assert len(corrected("Answer in English!", skill=skill).stated) == 3


def test_a_correction_may_state_a_taste_and_a_wish() -> None:
    skill = corrected("No noir, please. And keep it short.")

    assert [each.statement_id for each in skill.stated] == [
        "avoids:preference:genre:noir",
        "prefers:preference:answer_verbosity:brief",
    ]


def test_a_wish_in_a_conversation_with_a_domain_reaches_its_skill() -> None:
    chunk = Chunk(conversation_id="talk", turns=(a_turn("Antworte mir immer auf Deutsch.", domain="films"),))
    findings = RULES.extract(chunk.turns, None, lambda _: ()).findings

    (correction,) = derived_corrections(USER, chunk_id(USER, chunk), chunk, findings, lambda _: ())

    assert (correction.domain, correction.directives[0].value) == ("films", "de")


def test_all_wishes_fit_beside_likes_and_styles() -> None:
    likes = (an_attribute(f"genre: {name}", Tier.HIGH, taken=9_000, support=9) for name in ("noir", "crime", "war"))
    skill = a_skill(*likes)
    for dimension in ANSWER_VALUES:
        value = max((value for name, value in WISHES if name == dimension), key=lambda v: len(phrase(dimension, v)))
        said = Directive(stance=Stance.PREFERS, dimension=dimension, value=value)
        event = Correction(event_id=dimension, occurred_at=NOW, user_id=USER, domain=DOMAIN, directives=(said,))
        read = understand(event, (), skill, privacy=PRIVACY, reader=RULES)
        effects = EvolveStep(slim_tokens=200, privacy=PRIVACY, gate=OUTPUT_GATE).correct(
            EvolveState(skill), event, (), read
        )
        assert effects.version is not None
        skill = effects.version.skill

    found = slim(skill, 200, gate=OUTPUT_GATE)
    assert len(found.style) > 120
    assert len([line for line in found.lines if line.dimension in ANSWER_VALUES]) == 6
    assert set(found.likes) == {"noir", "crime", "war"}


@given(st.lists(st.sampled_from(WISHES), min_size=1, max_size=12))
def test_one_value_per_dimension_holds_the_latest(wishes: list[tuple[str, str]]) -> None:
    skill, card, diffs = a_skill(version=0), None, []
    for number, (dimension, value) in enumerate(wishes):
        at = NOW + timedelta(minutes=number)
        said = Directive(stance=Stance.PREFERS, dimension=dimension, value=value)
        event = Correction(event_id=f"c{number}", occurred_at=at, user_id=USER, domain=DOMAIN, directives=(said,))
        effects = STEP.correct(
            EvolveState(skill), event, (), understand(event, (), skill, privacy=PRIVACY, reader=RULES)
        )
        assert effects.version is not None
        skill = effects.version.skill
        diffs.append(effects.version.diff)
        line = CardLineInput(dimension=dimension, value=value)
        command = CardCommand(
            event_id=f"k{number}", occurred_at=at, user_id=USER, action=CardAction.SET, line=line, actor=USER
        )
        diff = apply_command(card, command, None, PRIVACY)
        card = card if diff is None else apply_diff(card, diff)

    latest = dict(wishes)
    assert {each.dimension: each.value for each in skill.stated} == latest
    assert len(skill.stated) == len(latest)
    assert card is not None
    assert {each.dimension: each.value for each in card.lines} == latest
    assert len(card.lines) == len(latest)
    assert fold(diffs)[USER, DOMAIN].stated == skill.stated
    for budget in (30, 80):
        found = slim(skill, budget, gate=OUTPUT_GATE)
        assert found.tokens <= budget
        assert re.match(SLIM_TEXT, found.text)

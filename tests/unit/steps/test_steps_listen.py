"""What the steps of the agent `listen` make of turns, of what was understood, and of receipts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from operators.cards.lines import line_id
from operators.erasure import card_line_digest, scrub_conversations
from operators.language.chunks import CloseReason, first_closed
from operators.language.ports import Effect, Extraction, PreferenceFinding
from operators.steps.listen import ListenOutcome, ListenState, ListenStep, needs_storing
from schemas import ErasedScope, Fact, Position, Receipt, Speaker, Stance, Utterance, line_digest, subject_digest
from schemas.cards import Card, PendingConversations, Strength
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_time

ANN = "ann"
STEP = ListenStep(extractor=RULES, privacy=PRIVACY)
HORROR = Fact(dimension="genre", value="Horror")


def said(turn: int, text: str = "", **more: object) -> Utterance:
    known = {"event_id": f"e{turn}", "user_id": ANN, "conversation_id": "c", "turn": turn, "text": text}
    return Utterance(**{**known, "occurred_at": a_time() + timedelta(seconds=turn), **more})  # type: ignore[arg-type]


def at(offset: int) -> Position:
    return Position(topic="t", partition=0, offset=offset, timestamp_ms=1_000)


def heard(*turns: Utterance, step: ListenStep = STEP) -> PendingConversations:
    listening = None
    for offset, turn in enumerate(turns):
        listening = step.add_turn(ListenState(listening), turn, at(offset)).listening
    assert listening is not None
    return listening


def a_finding(value: str = "Horror", **more: object) -> PreferenceFinding:
    known = {"stance": Stance.PREFERS, "value": value, "words": f"I love {value}", "event_id": "e0"}
    return PreferenceFinding(**{**known, "stated_at": a_time(), **more})  # type: ignore[arg-type]


def of_films(**more: object) -> PreferenceFinding:
    return a_finding(dimension="genre", domain="films", **more)


def finished(*findings: PreferenceFinding, receipt: Receipt | None = None, card: Card | None = None):  # type: ignore[no-untyped-def]
    listening = heard(said(0, "I love Horror."), said(1, ends=True))
    chunk = first_closed(listening)
    assert chunk is not None
    state = ListenState(listening, card, receipt)
    return STEP.finish(
        state, chunk, Extraction(findings=findings), lambda domain: (HORROR,) if domain == "films" else ()
    )


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ([said(0, "hello there"), said(1, ends=True)], CloseReason.ENDS),
        ([said(0, "bye", ends=True)], CloseReason.ENDS),
        ([said(0, "many words " * 600)], CloseReason.TOKENS),
        ([said(turn, f"{turn} " + "x" * 15_900, role=Speaker.ASSISTANT) for turn in range(40)], CloseReason.FULL),
    ],
)
def test_chunks_close_for_the_expected_reason(turns: list[Utterance], why: CloseReason) -> None:
    listening, closed = None, []
    for offset, turn in enumerate(turns):
        taken = STEP.add_turn(ListenState(listening), turn, at(offset))
        listening = taken.listening
        closed += taken.closed
    assert closed == [why]


def test_silence_is_measured_by_arrival() -> None:
    listening = heard(said(0, "hello there"))
    assert STEP.due_ms(listening) == 301_000
    assert STEP.after_silence(listening, 300_999) is None
    taken = STEP.after_silence(listening, 301_000)
    assert taken is not None
    assert taken.listening is not None
    assert taken.closed == (CloseReason.SILENCE,)
    assert STEP.due_ms(taken.listening) == 0, "at once"


def test_a_late_answer_is_redacted_by_its_question() -> None:
    asked = said(0, "What is your phone number?", role=Speaker.ASSISTANT)
    [chunk] = heard(asked, said(2, "Thank you."), said(1, "4711 0815")).chunks
    assert [turn.text for turn in chunk.turns] == [asked.text, "[phone]", "Thank you."]


def test_a_finding_in_the_vocabulary_becomes_a_correction() -> None:
    thought = finished(of_films(), of_films(value="Thrillers"), a_finding("hiking"))
    [correction] = thought.corrections
    assert (correction.domain, correction.directives[0].value, correction.text) == ("films", "Horror", "I love Horror")
    assert thought.diff is not None
    assert needs_storing(thought)
    again = finished(of_films(), of_films(value="Thrillers"), a_finding("hiking"))
    assert again == thought, "the same chunk leads to the same, ids included"


@pytest.mark.parametrize(
    ("effect", "stance", "told"),
    [
        (Effect.STATES, Stance.PREFERS, (Stance.PREFERS, False)),
        (Effect.UPDATES, Stance.AVOIDS, (Stance.AVOIDS, True)),
        (Effect.WITHDRAWS, Stance.PREFERS, (Stance.AVOIDS, True)),
        (Effect.WITHDRAWS, Stance.AVOIDS, (Stance.PREFERS, True)),
        (Effect.STATES, Stance.INSTEAD, (Stance.PREFERS, False)),
    ],
)
def test_findings_map_to_corrections(effect: Effect, stance: Stance, told: tuple[Stance, bool]) -> None:
    [correction] = finished(of_films(effect=effect, stance=stance)).corrections
    [directive] = correction.directives
    assert (directive.stance, directive.changed) == told


def test_a_wish_to_forget_makes_no_correction() -> None:
    thought = finished(of_films(), of_films(effect=Effect.FORGETS, stated_at=a_time(1)))
    assert thought.corrections == ()
    [request] = thought.forgets
    assert request.line == line_digest(ANN, "films", "preference:genre:horror")
    assert card_line_digest(ANN, line_id(Stance.PREFERS, "genre", "Horror", "films")) in thought.lines


def test_findings_erased_meanwhile_are_not_learned() -> None:
    scope = ErasedScope(event_id="f", until=a_time(9), actor="ann")
    known = {"event_id": "f", "occurred_at": a_time(9), "subject": subject_digest(ANN)}
    name = line_digest(ANN, "films", "preference:genre:horror")
    for receipt in (
        Receipt(**known, lines={name: scope}),
        Receipt(**known, lines={card_line_digest(ANN, "prefers:films:genre:horror"): scope}),
        Receipt(**known, domains={"films": scope}),
        Receipt(**known, person=scope),
    ):
        thought = finished(of_films(), receipt=receipt)
        assert (thought.diff, thought.corrections) == (None, ())
        assert finished(of_films(stated_at=a_time(10)), receipt=receipt).diff is not None


def test_an_erased_line_needs_an_explicit_statement() -> None:
    scope = ErasedScope(event_id="f", until=a_time(9), actor="ann", done=True)
    lines = {card_line_digest(ANN, line_id(Stance.PREFERS, "stated", "jazz")): scope}
    receipt = Receipt(event_id="f", occurred_at=a_time(9), subject=subject_digest(ANN), lines=lines)
    hint = a_finding("jazz", strength=Strength.IMPLIED, stated_at=a_time(10))
    assert finished(hint, receipt=receipt).diff is None
    assert finished(replace(hint, strength=Strength.SAID), receipt=receipt).diff is not None


def test_quotes_before_an_erasure_are_removed() -> None:
    scope = ErasedScope(event_id="f", until=a_time(9), actor="ann", done=True)
    lines = {card_line_digest(ANN, line_id(Stance.PREFERS, "stated", "jazz")): scope}
    receipt = Receipt(event_id="f", occurred_at=a_time(9), subject=subject_digest(ANN), lines=lines)
    both = [a_finding(value, words="I love jazz and hiking") for value in ("jazz", "hiking")]

    [early] = finished(*both, receipt=receipt).diff.changes
    assert (early.line.value, early.line.words) == ("hiking", "")

    again = [replace(each, stated_at=a_time(10)) for each in both]
    late = finished(*again, receipt=receipt).diff.changes
    assert [each.line.words for each in late] == ["I love jazz and hiking"] * 2


def test_erasing_a_domain_removes_its_turns_only() -> None:
    listening = heard(said(0, "one", domain="films"), said(1, "two"), said(2, "three", domain="films"))
    [chunk] = scrub_conversations(listening, "films").chunks
    assert [turn.text for turn in chunk.turns] == ["two"]
    assert scrub_conversations(heard(said(0, "one", domain="films")), "films").chunks == ()


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("Please do not remember this: I love trashy novels.", ""),
        ("Don't remember that I like jazz.", "Don't remember that I like jazz."),
        ("I love jazz. Forget that.", "I love jazz. Forget that."),
    ],
)
def test_an_opted_out_turn_keeps_only_wishes_to_forget(text: str, waits: str) -> None:
    taken = STEP.add_turn(ListenState(), said(0, text), at(0))
    assert taken.outcome is ListenOutcome.NOT_REMEMBERED
    assert taken.listening is not None
    assert [turn.text for chunk in taken.listening.chunks for turn in chunk.turns] == ([waits] if waits else [])

"""Signals, corrections, answers, turns and session texts in the client; and warnings about useless events."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

import schemas
from sager_client import (
    ClarifyingQuestion,
    Directive,
    EventProducer,
    Fit,
    NotShown,
    Ranking,
    SlimSkill,
    SlimSkills,
)
from sager_client.schemas import Injected, Option, Scope, Signal, Stance
from streams.local.broker import free_port
from tests.builders import slate

FACTS = {"genres": ["Sci-Fi"]}
HEAT = {"item_id": "heat", "title": "Heat", "metadata": {"genres": ["Crime"]}}


@pytest.fixture
def events():
    producer = EventProducer(f"127.0.0.1:{free_port()}")
    yield producer
    producer.end()


def asking(ranking: Ranking) -> Ranking:
    options = tuple(Option(attribute_id=f"preference:link:{name}", value=name) for name in ("wired", "bluetooth"))
    question = ClarifyingQuestion(question_id="q1", dimension="link", text="Wired or Bluetooth?", options=options)
    return ranking.model_copy(update={"injected": Injected(fit=Fit(nothing=0.2, suits=True, question=question))})


# --- signals


@pytest.mark.parametrize("signal", list(Signal))
def test_every_built_in_signal_is_sent(events: EventProducer, signal: Signal) -> None:
    value = 4.0 if signal in (Signal.RATED, Signal.DWELLED) else None

    sent = events.feedback("ann", "films", HEAT, signal, value, ranking_id="r1", session_id="s1")

    theirs = schemas.decode(schemas.Feedback, sent.model_dump_json().encode())
    assert (theirs.signal, theirs.value, theirs.item.title) == (signal.value, value, "Heat")
    assert (theirs.ranking_id, theirs.session_id) == ("r1", "s1")


@pytest.mark.parametrize(
    ("signal", "value", "why"),
    [
        ("rated", None, "rated needs a value"),
        ("rated", 9, "the rating must be between 1"),
        ("dwelled", -1, "0 or more"),
        ("Shared!", None, "should match pattern"),
    ],
)
def test_an_invalid_signal_is_refused(events: EventProducer, signal: str, value: float | None, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        events.feedback("ann", "films", HEAT, signal, value)

    assert events.pending == 0


# --- corrections


def test_a_correction_includes_the_shown_items(events: EventProducer) -> None:
    ranking = events.ranking("ann", "films", slate(1), session_id="s1")

    sent = events.correct("ann", "films", "rather the second", ranking=ranking, scope="now")

    assert sent.items == ranking.candidates
    assert (sent.ranking_id, sent.session_id, sent.scope) == (ranking.ranking_id, "s1", Scope.NOW)


def test_a_correction_may_have_directives(events: EventProducer) -> None:
    sent = events.correct(
        "ann",
        "films",
        directives=[
            {"stance": "avoids", "dimension": "genre", "value": "horror"},
            Directive(stance=Stance.INSTEAD, dimension="era", value="1990s", over="2010s"),
            {"stance": "prefers", "bound": {"measure": "price", "below": 20}},
        ],
    )

    assert [directive.stance.value for directive in sent.directives] == ["avoids", "instead", "prefers"]
    assert sent.directives[2].bound is not None
    assert sent.directives[2].bound.below == 20


def test_a_correction_needs_a_ranking_of_the_same_user(events: EventProducer) -> None:
    ranking = events.ranking("bob", "films", slate(1))

    with pytest.raises(TypeError, match="ranking= needs the same user"):
        events.correct("ann", "films", "not the second", ranking=ranking)


def test_a_correction_names_only_shown_items(events: EventProducer) -> None:
    with pytest.raises(NotShown, match="'heat' was not shown"):
        events.correct("ann", "films", items=slate(1), acceptable=["heat"])


# --- questions


def test_an_answer_prefers_the_option(events: EventProducer) -> None:
    ranking = asking(events.ranking("ann", "headphones", slate(1)))

    by_value = events.answer(ranking, "bluetooth")
    by_id = events.answer(ranking, "preference:link:bluetooth", scope=Scope.SESSION)

    assert (by_value.answers, by_value.scope, by_value.items) == ("q1", None, ranking.candidates)
    assert [(directive.stance.value, directive.dimension, directive.value) for directive in by_value.directives] == [
        ("prefers", "link", "bluetooth")
    ]
    assert (by_id.directives, by_id.scope) == (by_value.directives, Scope.SESSION)


def test_a_rank_request_may_request_a_question_in_a_session(events: EventProducer) -> None:
    asked = events.rank_request("ann", "films", slate(1), clarify=True, session_id="s1")
    plain = events.rank_request("ann", "films", slate(1))

    assert (asked.clarify, asked.session_id) == (True, "s1")
    assert not {"clarify", "session_id"} & set(plain.model_dump(mode="json"))


# --- the slim skill of a session


def slim(session: str | None, until: datetime | None, text: str) -> SlimSkill:
    return SlimSkill(
        event_id="e1",
        occurred_at=datetime.now(UTC),
        user_id="ann",
        domain="films",
        skill_version=3,
        text="likes: noir",
        tokens=3,
        session_id=session,
        session_until=until,
        session_text=text,
    )


@pytest.mark.parametrize(
    ("skill", "expected"),
    [
        (
            slim("s1", datetime.now(UTC) + timedelta(hours=1), "likes: noir | now: westerns"),
            "likes: noir | now: westerns",
        ),
        (slim("s1", datetime.now(UTC) - timedelta(seconds=1), "likes: noir | now: westerns"), "likes: noir"),
        (slim("s2", datetime.now(UTC) + timedelta(hours=1), "likes: noir | now: westerns"), "likes: noir"),
        (slim("s1", datetime.now(UTC) + timedelta(hours=1), ""), "likes: noir"),
        (slim(None, None, ""), "likes: noir"),
    ],
    ids=["lasts", "over", "another", "adds nothing", "none"],
)
def test_a_session_text_applies_while_the_session_lasts(skill: SlimSkill, expected: str) -> None:
    skills = SlimSkills(f"127.0.0.1:{free_port()}")
    skills._take(schemas.compound_key("ann", "films"), schemas.encode(skill))

    assert skills.get("ann", "films", "s1") == expected
    assert skills.get("ann", "films") == "likes: noir"
    assert skills.get("bob", "films", "s1") == ""


# --- turns of conversations


@pytest.mark.parametrize(("user", "domain"), [("bob", None), ("ann", "books")])
def test_a_turn_needs_a_ranking_of_its_user_and_domain(events: EventProducer, user: str, domain: str | None) -> None:
    ranking = events.ranking("ann", "films", slate(1))

    with pytest.raises(TypeError, match="ranking= needs the same user"):
        events.utterance(user, "chat-7", 0, "no horror", ranking=ranking, domain=domain)


def test_only_an_ending_turn_may_be_empty(events: EventProducer) -> None:
    assert events.utterance("ann", "chat-7", 4, ends=True).ends
    with pytest.raises(ValidationError, match="needs text, unless it ends the conversation"):
        events.utterance("ann", "chat-7", 4, "  ")
    with pytest.raises(ValueError, match="'narrator' is not a valid Speaker"):
        events.utterance("ann", "chat-7", 4, "Once upon a time", role="narrator")


# --- warnings


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "sager_client" and each.levelname == "WARNING"]


def test_useful_events_cause_no_warning(events: EventProducer, caplog: pytest.LogCaptureFixture) -> None:
    shown = [{"item_id": name, "metadata": FACTS} for name in "ab"]
    ranking = events.ranking("ann", "films", shown, "something calm")
    events.selection(ranking, "a")
    events.feedback("ann", "films", shown[0], "liked")
    events.forget("ann", "films", actor="settings page")
    for number in range(30):
        events.interaction(f"person-{number}", "films", shown[0])

    assert logged(caplog) == []


def test_items_without_metadata_are_reported_once(events: EventProducer, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        events.ranking("ann", "films", [{"item_id": "a", "genres": ["Sci-Fi"]}, {"item_id": "b", "metadata": FACTS}])
        events.rank_request("ann", "films", [{"item_id": "a"}])

    (warning,) = logged(caplog)
    assert warning.startswith("rankings: 1 of 2 items without metadata.")
    assert "send its facts in metadata, such as {'genres'" in warning
    assert events.pending == 6, "a warning stops no event"


def test_an_unknown_signal_is_reported_once(events: EventProducer, caplog: pytest.LogCaptureFixture) -> None:
    for signal in ("loved", "loved", "liked"):
        events.feedback("ann", "films", {"item_id": "a", "metadata": FACTS}, signal)

    (warning,) = logged(caplog)
    assert "no built-in signal is called 'loved'" in warning
    assert "SAGER_SIGNALS" in warning
    assert "liked, disliked, rated" in warning

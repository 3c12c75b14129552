"""Turns of a conversation over HTTP: what is taken, and what would become of them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas import Utterance, decode
from streams.settings import Settings
from tests.unit.http.http_world import Served, Tokens, published
from tests.unit.http.test_http_events import Kafka, World, an_event

NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("conversations")
    tokens = Tokens(folder)
    settings = Settings(duckdb=published(), http_tokens=tokens.path, http_rate=10_000, http_burst=10_000)
    with Served(settings) as served:
        kafka: Any = Kafka()
        served.api.sender = kafka
        yield World(served, tokens, kafka)


def a_turn(turn: int, text: str = "", role: str = "user", **more: Any) -> dict[str, Any]:
    return an_event("utterances", f"t{turn}", conversation_id="c1", turn=turn, text=text, role=role, **more)


def test_turns_reach_kafka_and_one_without_words_is_refused(world: World) -> None:
    reply = world.send(a_turn(0, "I'm vegetarian."), a_turn(1, "  "), a_turn(2, ends=True))

    assert [each["status"] for each in reply.body["results"]] == ["accepted", "refused", "accepted"]
    assert [each["field"] for each in reply.body["results"][1]["errors"]] == ["event"]
    first, last = world.kafka.sent
    assert (first.topic, first.key) == ("sager.utterances", b"ann")
    assert decode(Utterance, first.value).text == "I'm vegetarian."
    assert decode(Utterance, last.value).ends


def test_a_persons_token_tells_their_conversations_alone(world: World) -> None:
    reply = world.send(a_turn(0, "I love tea."), a_turn(1, "I love tea.", user_id="bob"), token=world.of_ann)

    assert [each["status"] for each in reply.body["results"]] == ["accepted", "refused"]


def test_lint_tells_what_goes_on_the_card(world: World) -> None:
    likes, asks, again, hates, ends = world.lint(
        a_turn(0, "I love jazz."),
        a_turn(1, "Anything else?", role="assistant"),
        a_turn(2, "I love jazz."),
        a_turn(3, "I can't stand jazz."),
        a_turn(4, "What time is it?", ends=True),
    )

    assert likes["teaches"] == ["likes jazz: goes on the card"]
    assert asks["teaches"] == ["is what the person answers to: nothing is learned from it"]
    assert again["teaches"] == ["likes jazz: is on the card already, and surer now"]
    assert "likes jazz: is overtaken" in hates["teaches"]
    assert ends["teaches"] == [
        "ends its conversation: what was said in it is thought over at once",
        "nothing that the rules take for a preference",
    ]


def test_lint_tells_what_is_never_kept_and_quotes_nothing_of_it(world: World) -> None:
    [told] = world.lint(a_turn(0, "I love jazz. Write to anna@example.org, my IBAN is DE89370400440532013000."))

    assert told["teaches"] == ["likes jazz: goes on the card"]
    [warning] = told["warnings"]
    assert warning.startswith("the privacy filter takes this out of text before anything is kept: ")
    assert "example" not in warning


def test_lint_takes_a_wish_to_forget_for_one(world: World) -> None:
    [unknown] = world.lint(a_turn(0, "Please forget that I love jazz."))
    _, known = world.lint(a_turn(0, "I love jazz."), a_turn(1, "Please forget that I love jazz."))

    assert unknown["teaches"] == ["asks to forget: what is on the card of it goes, from the log too"]
    assert known["teaches"] == ["likes jazz: is forgotten"]
    assert unknown["warnings"] == known["warnings"] == []


def test_lint_tells_of_turns_that_come_twice(world: World) -> None:
    twice = a_turn(0, "I love jazz.")
    other = {"topic": "utterances", "event": {**twice["event"], "user_id": "bob"}}
    results = world.lint(twice, other, twice)

    assert results[0]["teaches"] == results[1]["teaches"] == ["likes jazz: goes on the card"]
    assert results[2]["warnings"] == ["repeats a turn of this batch: it counts once"]

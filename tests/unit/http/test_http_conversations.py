"""Turns of a conversation over HTTP: what is taken, and what would become of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas import Utterance, decode
from streams.settings import Settings
from tests.unit.http.http_world import Served, Tokens, published
from tests.unit.http.test_http_events import Kafka, World, an_event


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


def test_lint_quotes_no_private_detail(world: World) -> None:
    [told] = world.lint(a_turn(0, "I love jazz. Write to anna@example.org, my IBAN is DE89370400440532013000."))

    assert told["teaches"] == ["added: likes jazz"]
    [warning] = told["warnings"]
    assert warning.startswith("the privacy filter removes from its words: ")
    assert "example" not in warning


def test_lint_lists_lines_that_a_wish_to_forget_erases(world: World) -> None:
    _, known = world.lint(a_turn(0, "I love jazz."), a_turn(1, "Please forget that I love jazz."))

    assert known["teaches"] == ["forgotten: likes jazz"]

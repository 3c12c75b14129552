"""Cards over HTTP: who may read what of them, as of when, and how they are changed."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from schemas import Card, CardAction
from streams.http.live import Held
from streams.settings import Settings
from tests.unit.http.card_world import (
    CORIANDER,
    FIRST,
    LATE_RUNS,
    RUNS,
    CardWorker,
    card_of,
    follow,
    published_cards,
    talks,
)
from tests.unit.http.http_world import Reply, Served, Tokens

CARD = "/v1/users/ann/card"


class World:
    """The API in front of a card."""

    def __init__(self, served: Served, tokens: Tokens) -> None:
        self.served, self.worker = served, CardWorker(served)
        served.api.sender = self.worker
        self.reader = tokens.make("read-all")
        self.slim = tokens.make("read-slim", user="ann")
        self.ann = tokens.make("read-user", "change-user", user="ann", name="ann-app")
        self.changer = tokens.make("change-user", user="*", name="backend")
        self.bob = tokens.make("read-user", "change-user", "read-slim", user="bob")

    def get(self, path: str, token: str = "", **query: object) -> Reply:
        asked = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
        return self.served.ask(f"{CARD}{path}?{asked}" if asked else f"{CARD}{path}", token or self.reader)

    def command(self, token: str = "", **body: object) -> Reply:
        return self.served.ask(f"{CARD}/commands", token or self.ann, "POST", json.dumps(body).encode())


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tokens = Tokens(tmp_path_factory.mktemp("cards"))
    settings = Settings(
        duckdb=published_cards(), http_tokens=tokens.path, http_rate=10_000, http_burst=10_000, http_wait_seconds=0.5
    )
    with Served(settings) as served:
        served.api.live._ready.set()
        follow(served.api.live, card_of(talks()))
        yield World(served, tokens)


def test_a_card_is_told_line_by_line_with_the_reason_and_what_was_overtaken(world: World) -> None:
    body = world.get("").body

    assert (body["user_id"], body["version"]) == ("ann", 2)
    assert {line["says"] for line in body["lines"]} == {
        "does not like coriander",
        "likes vegetarian food",
        "likes evening runs",
    }
    runs = next(line for line in body["lines"] if line["line_id"] == LATE_RUNS)
    assert runs["words"] == "I prefer evening runs now"
    assert 0 < runs["certainty"] < 1
    assert runs["reason"]
    assert runs["evidence"] == ["said-evening r"]
    [past] = body["past"]
    assert (past["says"], past["overtaken_by"]) == ("likes morning runs", LATE_RUNS)


def test_a_request_brings_what_it_is_about_first_and_a_budget_bounds_it(world: World) -> None:
    food = world.get("", request="something vegetarian to eat").body
    little = world.get("", budget_tokens=6).body

    assert food["lines"][0]["says"] == "likes vegetarian food"
    assert len(little["lines"]) == 1
    assert little["left_out"] == 2


def test_text_for_a_prompt_takes_no_more_than_read_slim_and_stays_in_its_budget(world: World) -> None:
    text = world.get("", world.slim, format="text", request="dinner")
    tight = world.get("", world.slim, format="text", budget_tokens=1)

    assert text.headers["content-type"].startswith("text/plain")
    assert "does not like coriander" in text.text
    assert "I can't stand" not in text.text, "nobody's own words are quoted"
    assert tight.text == ""
    assert world.get("", world.slim).status == 403


def test_a_card_is_there_as_of_any_moment(world: World) -> None:
    then = (FIRST + timedelta(days=1)).isoformat()

    body = world.get("", as_of=then).body

    assert (body["version"], body["past"]) == (1, [])
    assert RUNS in [line["line_id"] for line in body["lines"]]
    assert world.get("", as_of=(FIRST - timedelta(days=1)).isoformat()).status == 404
    assert world.get("", as_of="yesterday").status == 422


@pytest.mark.parametrize("path", ["", "/log"])
def test_a_token_of_one_person_reads_theirs_and_nobody_elses(world: World, path: str) -> None:
    assert world.get(path, world.ann).status == 200
    assert world.get(path, world.bob).status == 403
    assert world.served.ask(f"/v1/users/nobody/card{path}", world.reader).status == 404


def test_the_snapshot_answers_where_no_topic_is_followed(world: World) -> None:
    world.served.api.live._ready.clear()
    world.served.api.live.take(Card.TOPIC, b"ann", Held(None, 0, 9, 0))

    assert world.get("").body["version"] == 2


def test_a_card_that_is_forgotten_is_gone_at_once(world: World) -> None:
    world.served.api.live.take(Card.TOPIC, b"ann", Held(None, 0, 9, 0))

    assert world.get("").status == 404


def test_a_line_is_set_in_the_tokens_name(world: World) -> None:
    reply = world.command(action="set", line={"stance": "avoids", "value": "loud places"}, reason="she said so")

    assert (reply.status, reply.body["carried_out"], reply.body["version"]) == (200, True, 3)
    assert reply.body["diff"]["changes"][0]["line"]["value"] == "loud places"
    [sent] = world.worker.sent
    assert (sent.actor, sent.user_id, sent.action) == ("ann-app", "ann", CardAction.SET)
    assert world.command(world.changer, action="pin", line_id=CORIANDER).body["diff"] is None


def test_what_would_change_nothing_is_refused_before_it_is_sent(world: World) -> None:
    unknown = world.command(action="pin", line_id="prefers:stated:tea")
    private = world.command(action="set", line={"value": "my diabetes diet"})

    assert (unknown.status, private.status) == (409, 409)
    assert unknown.body["detail"] == "the command would change nothing: the card has no such line"
    assert private.body["detail"] == "the command would change nothing: health is not kept"
    assert world.command(action="unpin", line_id=CORIANDER).body["detail"].endswith(": it is so already")
    assert private.body["refused"]
    assert "diabetes" not in private.text
    assert world.worker.sent == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "set"}, ""),
        ({"action": "pin"}, ""),
        ({"action": "erase", "line_id": "x"}, "action"),
        ({"action": "pin", "line_id": CORIANDER, "actor": "somebody"}, "?"),
        ({"action": "set", "line": {"value": ""}}, "line.value"),
    ],
)
def test_a_command_that_says_too_little_or_too_much_is_refused(world: World, body: Any, field: str) -> None:
    reply = world.command(**body)

    assert reply.status == 422
    assert reply.body["errors"][0]["field"] == field


def test_removing_takes_two_steps_and_is_done_once(world: World) -> None:
    asked = {"action": "remove", "line_id": CORIANDER}

    preview = world.command(**asked)
    assert (preview.status, preview.body["says"], world.worker.sent) == (200, "does not like coriander", [])
    assert world.command(world.changer, **asked).body["says"] == "", "a token that may not read is told no words"

    confirmation = preview.body["confirmation"]
    done = world.command(**asked, confirmation=confirmation)
    again = world.command(**asked, confirmation=confirmation)
    other = world.command(action="remove", line_id=LATE_RUNS, confirmation=confirmation)

    assert (done.body["carried_out"], done.body["version"]) == (True, 3)
    assert (again.body["carried_out"], again.body["event_id"]) == (True, done.body["event_id"])
    assert other.status == 409
    assert len(world.worker.sent) == 1


def test_nobody_changes_another_persons_card(world: World) -> None:
    assert world.command(world.bob, action="pin", line_id=CORIANDER).status == 403
    assert world.command(world.slim, action="pin", line_id=CORIANDER).status == 403
    assert world.command(world.reader, action="pin", line_id=CORIANDER).status == 403

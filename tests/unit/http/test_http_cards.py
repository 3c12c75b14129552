"""Cards over HTTP: who may read what of them, as of when, and how they are changed."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from schemas import Card
from tests.unit.http.http_world import (
    LATE_RUNS,
    Reply,
    Served,
    Tokens,
    card_of,
    follow,
    published_cards,
    settings_of,
    talks,
)

CARD = "/v1/users/ann/card"


class World:
    def __init__(self, served: Served, tokens: Tokens) -> None:
        self.served = served
        self.reader = tokens.make("read-all")
        self.slim = tokens.make("read-slim", user="ann")

    def get(self, token: str = "", **query: object) -> Reply:
        asked = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
        return self.served.request(f"{CARD}?{asked}" if asked else CARD, token or self.reader)


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tokens = Tokens(tmp_path_factory.mktemp("cards"))
    with Served(settings_of(tokens, duckdb=published_cards())) as served:
        served.api.cache.is_ready = True
        follow(served.api.cache, card_of(talks()))
        yield World(served, tokens)


def test_a_card_has_reasons_for_its_lines_and_the_replaced_ones(world: World) -> None:
    body = world.get().body

    assert (body["user_id"], body["version"]) == ("ann", 2)
    assert {line["says"] for line in body["lines"]} == {
        "does not like coriander", "likes vegetarian food", "likes evening runs",
    }  # fmt: skip
    runs = next(line for line in body["lines"] if line["line_id"] == LATE_RUNS)
    assert runs["words"] == "I prefer evening runs now"
    assert 0 < runs["certainty"] < 1
    assert runs["reason"]
    assert runs["evidence"] == ["said-evening r"]
    [past] = body["past"]
    assert (past["says"], past["overtaken_by"]) == ("likes morning runs", LATE_RUNS)


def test_lines_that_match_the_request_come_first(world: World) -> None:
    food = world.get(request="something vegetarian to eat").body

    assert food["lines"][0]["says"] == "likes vegetarian food"


def test_text_for_a_prompt_needs_read_slim_only_and_stays_within_the_budget(world: World) -> None:
    text = world.get(world.slim, format="text", request="dinner")
    tight = world.get(world.slim, format="text", budget_tokens=1)

    assert text.headers["content-type"].startswith("text/plain")
    assert "does not like coriander" in text.text
    assert "I can't stand" not in text.text, "nobody's own words are quoted"
    assert tight.text == ""
    assert world.get(world.slim).status == 403
    assert world.get(format="skill").status == 422


def test_the_snapshot_is_read_if_topics_are_not_followed(world: World) -> None:
    world.served.api.cache.is_ready = False
    world.served.api.cache.apply(Card.TOPIC, b"ann", None, 0)

    assert world.get().body["version"] == 2


def test_an_erased_card_disappears_at_once(world: World) -> None:
    world.served.api.cache.apply(Card.TOPIC, b"ann", None, 0)

    assert world.get().status == 404

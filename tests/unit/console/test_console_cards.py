"""A person's card in the console: what it shows, and that a button leads to a preview before anything is sent."""

import html
import re

import pytest

from schemas import CardAction
from tests.unit.console.console_world import Visitor, page
from tests.unit.http.http_world import (
    CORIANDER,
    CardWorker,
    Reply,
    Served,
    card_of,
    follow,
    published_cards,
    settings_of,
    talks,
)


@pytest.fixture(scope="module")
def served(file):
    with Served(settings_of(file, duckdb=published_cards()), console=True) as api:
        api.api.cache.is_ready = True
        for user in ("ann", "zoe"):
            follow(api.api.cache, card_of(talks(user)))
        yield api


@pytest.fixture
def worker(served):
    served.api.sender = CardWorker(served)
    return served.api.sender


@pytest.fixture
def ann(signed_in):
    return signed_in("read-user", "change-user", user="ann")


def change(visitor: Visitor, **fields: str) -> Reply:
    return visitor.post("/console/card/change", {**fields, "csrf": visitor.csrf(page("/person", user="ann"))})


def words_of(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def test_the_page_of_a_person_has_their_card_in_plain_words(ann: Visitor) -> None:
    told = words_of(ann.get(page("/person", user="ann")).text)

    assert "does not like coriander" in told
    assert "“I can't stand coriander”" in told
    assert "stated plainly · since" in told
    assert "Replaced lines (1)" in told
    assert "likes morning runs since" in told
    assert "now: likes evening runs" in told
    assert CORIANDER not in told, "no ids are read"


def test_the_log_of_another_persons_card_is_not_shown(ann: Visitor) -> None:
    assert ann.get(page("/card/log", user="zoe")).status == 403
    assert ann.get(page("/card/log", user="ann")).status == 200


@pytest.mark.parametrize(
    ("action", "button", "told"),
    [("pin", "Pin it", "Pinned"), ("remove", "Remove it", "Removed, and its words are gone")],
)
def test_a_change_of_a_card_is_sent_only_after_its_preview(
    ann: Visitor, worker, action: str, button: str, told: str
) -> None:
    before = ann.get(page("/card/line", user="ann", line=CORIANDER, action=action))
    assert (before.status, worker.sent) == (200, [])
    assert "Nothing has been changed yet" in words_of(before.text)
    assert "does not like coriander" in words_of(before.text)
    assert button in words_of(before.text)

    sent = change(ann, user="ann", line=CORIANDER, action=action)

    assert sent.status == 303
    [command] = worker.sent
    assert (command.action, command.line_id, command.user_id) == (CardAction(action), CORIANDER, "ann")
    assert told in words_of(ann.get(sent.headers["location"]).text)


def write(visitor: Visitor, **fields: str) -> Reply:
    csrf = visitor.csrf(page("/card/line", user="ann", action="write"))
    return visitor.post("/console/card/change", {**fields, "action": "write", "csrf": csrf})


def test_a_line_is_corrected_where_it_holds(signed_in, served, worker) -> None:
    card = card_of(talks("eve"))
    line_id = "prefers:films:genre:noir"
    noir = card.lines[0].model_copy(
        update={"line_id": line_id, "domain": "films", "dimension": "genre", "value": "noir", "stance": "prefers"}
    )
    follow(served.api.cache, card.model_copy(update={"lines": (noir,)}))
    eve = signed_in("read-user", "change-user", user="eve")

    form = eve.get(page("/card/line", user="eve", line=line_id, action="write")).text
    assert "replaces “likes noir (genre) in films”" in words_of(form)
    fields = {"user": "eve", "line": line_id, "stance": "avoids", "value": "noir", "action": "write"}
    eve.post("/console/card/change", {**fields, "csrf": eve.csrf(page("/person", user="eve"))})

    [command] = worker.sent
    assert (command.line_id, command.line.domain, command.line.dimension) == (line_id, "films", "genre")
    assert "does not like noir (genre) in films" in words_of(eve.get(page("/person", user="eve")).text)


@pytest.mark.parametrize(
    ("fields", "status", "told"),
    [
        ({"user": "ann", "line": "", "stance": "prefers", "value": "my diabetes diet"}, 409, "health is not kept"),
        ({"user": "ann", "line": "", "stance": "prefers", "value": "  "}, 422, ""),
        ({"user": "ann", "line": "", "stance": "loves", "value": "tea"}, 422, ""),
        ({"user": "ann", "line": "prefers:stated:tea", "stance": "prefers", "value": "tea"}, 404, "no such line"),
        ({"user": "zoe", "line": "", "stance": "prefers", "value": "tea"}, 403, ""),
    ],
)
def test_private_data_is_not_written_to_a_card(ann, worker, fields, status, told) -> None:
    done = write(ann, **fields)

    assert (done.status, worker.sent) == (status, [])
    assert told in words_of(done.text)

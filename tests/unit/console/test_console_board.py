"""The operator's pages: who may come, and dead letters."""

import re
import shutil
from collections import Counter

import pytest

from schemas import DeadLetter
from streams.operations import dead_letters
from streams.operations.dead_letters import Blocker, LetterListing, LetterNotFound, Plan, StoredLetter
from tests.analytics_world import published
from tests.builders import a_position
from tests.unit.http.http_world import Served, settings_of

OPERATE = ("/letters", "/letters/one?id=x")
POSTS = ("/letters/plan", "/letters/replay")
EVIL = '<script>alert(1)</script>" onload="x'


@pytest.fixture(scope="module")
def served(file):
    own = shutil.copy(published(), file.path.parent / "sager.duckdb")
    with Served(settings_of(file, duckdb=own), console=True) as api:
        yield api


@pytest.fixture
def kafka(monkeypatch):
    def letter(value: bytes, n: int) -> StoredLetter:
        made = DeadLetter.of("contrast", a_position(n), "not-json", EVIL, b"ann", value)
        return StoredLetter(made, 1_767_614_400_000, 0, n)

    asked: list[object] = []
    there = [letter(b"no json", 0), letter(f"{EVIL}\u202e".encode() + b"\n\x1b", 1), letter(b"\xff\x00" * 9, 2)]

    def list_letters(settings, chosen, limit):
        return LetterListing(there, Counter({EVIL: 3}), {there[2].letter.event_id})

    def find_letter(settings, name):
        for found in there:
            if found.letter.event_id == name:
                return found, True
        raise LetterNotFound("there is none")

    def plan(settings, chosen):
        ids = sorted(chosen.ids)
        ready = {ids[0]: there[0]}
        return Plan(ready, dict.fromkeys(ids[1:], Blocker.DONE), unknown=[EVIL])

    def send(settings, planned):
        asked.append(tuple(planned.ready))
        return len(planned.ready)

    for name, made in {"list_letters": list_letters, "find_letter": find_letter, "plan": plan, "replay": send}.items():
        monkeypatch.setattr(dead_letters, name, made)
    return there, asked


def harmless(text: str) -> None:
    assert "<script>alert" not in text
    assert '" onload=' not in text
    assert "\u202e" not in text


# --- who may come


@pytest.mark.parametrize(
    ("scopes", "user", "may"),
    [
        (("operate",), None, OPERATE),
        (("read-user", "change-user"), "ann", ()),
        (("operate", "read-all"), None, OPERATE),
    ],
)
def test_a_token_opens_only_the_pages_of_its_scopes(signed_in, kafka, scopes, user, may):
    browser = signed_in(*scopes, user=user)
    seen = ""
    for path in OPERATE:
        reply = browser.get(f"/console{path}")
        assert (reply.status == 403) is (path not in may), path
        seen += reply.text
    for path in OPERATE:
        assert (f'href="/console{path}"' in seen) is (path in may and "?" not in path), path
    csrf = re.search(r'name="csrf" value="([^"]+)"', seen)[1]
    for path in POSTS:
        fields = {"letter-a": "on"}
        reply = browser.post(f"/console{path}", {"csrf": csrf, **fields})
        assert (reply.status == 403) is ("operate" not in scopes), path
        assert browser.post(f"/console{path}", fields).status == 403, "without the session's secret"


# --- dead letters


def test_dead_letters_are_shown_as_inert_text(signed_in, kafka):
    there, _ = kafka
    browser = signed_in("operate")
    listed = browser.get("/console/letters").text
    text, binary = (browser.get(f"/console/letters/one?id={each.letter.event_id}").text for each in there[1:])
    harmless(listed + text + binary)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert r"\xff\x00" in binary
    assert browser.get("/console/letters/one?id=nothing").status == 404


def test_dead_letters_are_replayed_only_after_a_preview(signed_in, kafka):
    there, asked = kafka
    browser = signed_in("operate")
    csrf = browser.csrf("/console/letters")
    ids = sorted(each.letter.event_id for each in there[:2])
    planned = browser.post("/console/letters/plan", {"csrf": csrf, **{f"letter-{name}": "on" for name in ids}})
    assert "Send 1 record again?" in planned.text
    assert "already replayed" in planned.text
    harmless(planned.text)
    assert asked == []
    done = browser.post("/console/letters/replay", {"csrf": csrf, f"letter-{ids[0]}": "on"})
    assert (done.status, done.headers["location"], asked) == (303, "/console/letters", [(ids[0],)])
    assert "1 record was sent again." in browser.get("/console/letters").text
    assert browser.post("/console/letters/plan", {"csrf": csrf}).status == 400

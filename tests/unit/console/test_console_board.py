"""The operator's and the analyst's pages: who may come, dead letters, queries."""

import asyncio
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from schemas import DeadLetter
from streams.console import query
from streams.console.query import QueryFailed, query_as_csv
from streams.operations import dead_letters
from streams.operations.dead_letters import Blocker, LetterListing, LetterNotFound, Plan, StoredLetter
from tests.analytics_world import published
from tests.builders import a_position
from tests.unit.http.http_world import Served, settings_of
from tests.waiting import until

OPERATE = ("/letters", "/letters/one?id=x")
ANALYSE = ("/query",)
POSTS = {"/letters/plan": "operate", "/letters/replay": "operate", "/query": "read-all"}
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
        (("read-all",), None, ANALYSE),
        (("read-user", "change-user"), "ann", ()),
        (("operate", "read-all"), None, (*OPERATE, *ANALYSE)),
    ],
)
def test_a_token_opens_only_the_pages_of_its_scopes(signed_in, kafka, scopes, user, may):
    browser = signed_in(*scopes, user=user)
    seen = ""
    for path in (*OPERATE, *ANALYSE):
        reply = browser.get(f"/console{path}")
        assert (reply.status == 403) is (path not in may), path
        seen += reply.text
    for path in (*OPERATE, *ANALYSE):
        assert (f'href="/console{path}"' in seen) is (path in may and "?" not in path), path
    csrf = re.search(r'name="csrf" value="([^"]+)"', seen)[1]
    for path, scope in POSTS.items():
        fields = {"query": "SELECT 1", "letter-a": "on"}
        reply = browser.post(f"/console{path}", {"csrf": csrf, **fields})
        assert (reply.status == 403) is (scope not in scopes), path
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


# --- queries


@pytest.fixture
def snapshot(tmp_path):
    return shutil.copy(published(), tmp_path / "sager.duckdb")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("FROM nothing", "does not exist"),
        ("FROM read_text('/etc/hostname')", "disabled"),
        (" ", "is empty"),
        ("SELECT length(repeat('x', 4000000000))", "memory"),
    ],
)
async def test_a_rejected_query_states_the_reason(snapshot, query, reason):
    with pytest.raises(QueryFailed, match=reason):
        await query_as_csv(snapshot, "sager.", query)


async def test_a_query_over_its_time_is_killed_while_others_run(snapshot, monkeypatch):
    pids: list[int] = []
    start = asyncio.create_subprocess_exec

    async def noted(*args, **more):
        process = await start(*args, **more)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    slow, quick, left = await asyncio.gather(
        query_as_csv(snapshot, "sager.", "SELECT pg_sleep(3600)", seconds=1),
        query_as_csv(snapshot, "sager.", "SELECT 1"),
        asyncio.wait_for(query_as_csv(snapshot, "sager.", "SELECT pg_sleep(3600)"), 1),
        return_exceptions=True,
    )
    assert "1 s" in str(slow)
    assert isinstance(quick, tuple)
    assert isinstance(left, TimeoutError)
    until(lambda: all(ended(pid) for pid in pids), "the queries' processes to end")


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_query_results_are_shown_as_inert_text(signed_in):
    browser = signed_in("read-all")
    csrf = browser.csrf("/console/query")
    evil = EVIL.replace("'", "''")
    sql = f"""SELECT '{evil}' AS "{EVIL.replace('"', '""')}", n FROM range(3) t(n)"""
    reply = browser.post("/console/query", {"csrf": csrf, "query": sql})
    assert (reply.status, "3 rows" in reply.text) == (200, True)
    wrong = browser.post("/console/query", {"csrf": csrf, "query": f"SELECT '{evil}'::INT"})
    assert (wrong.status, "The query failed" in wrong.text) == (400, True)
    harmless(reply.text + wrong.text)


@pytest.mark.parametrize("sign", ["<", "\U0001f600", "\u0007"], ids=["escaped", "four bytes", "not printable"])
def test_a_page_of_a_large_result_is_bounded_and_states_the_omitted_rows(signed_in, sign):
    browser = signed_in("read-all")
    columns = ", ".join(f"repeat('{sign}', 100) AS c{place}" for place in range(60))
    fields = {"csrf": browser.csrf("/console/query"), "query": f"SELECT n, {columns} FROM range(2000) t(n)"}

    reply = browser.post("/console/query", fields)

    assert reply.status == 200
    assert len(reply.text.encode()) < 2_500_000
    assert "and there are more: a page holds 1,000 rows and 400 kB" in reply.text
    assert "1 more columns are left out" in reply.text


async def test_a_token_runs_one_query_at_a_time(signed_in):
    browser = signed_in("read-all")
    csrf = browser.csrf("/console/query")
    asked = {"csrf": csrf, "query": "SELECT 1"}
    _, token = browser.served.console.sessions.find(browser.cookie.partition("=")[2])
    with query._SLOTS.hold(token.sha256):
        assert browser.post("/console/query", asked).status == 429
    with query._SLOTS.hold("a"):
        assert browser.post("/console/query", asked).status == 200
        with query._SLOTS.hold("b"):
            assert browser.post("/console/query", asked).status == 503

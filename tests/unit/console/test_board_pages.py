"""The operator's and the analyst's pages over HTTP: who may come, what hostile values become, and what is missing."""

import re
import shutil
import threading
from collections import Counter

import duckdb
import pytest

from schemas import DeadLetter
from streams.exceptions import StreamsError
from streams.operations.dead_letters import reading, replay
from streams.operations.dead_letters.reading import Found, Listing, NoSuchLetter
from streams.operations.dead_letters.replay import Hindrance, Letter, Plan
from streams.settings import Settings
from tests.analytics_world import published
from tests.builders import a_position
from tests.console_metrics import Processes
from tests.unit.console.browserless import Visitor
from tests.unit.http.http_world import Served, Tokens

OPERATE = ("/live", "/letters", "/letters/one?id=x", "/shifts", "/costs")
ANALYSE = ("/learning", "/lines", "/arms", "/calibration", "/query")
POSTS = {"/letters/plan": "operate", "/letters/replay": "operate", "/query": "read-all", "/query/file": "read-all"}
EVIL = '<script>alert(1)</script>" onload="x'


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="module")
def served(file):
    shutil.copy(published(), file.path.parent / "sager.duckdb")
    with Processes() as there:
        settings = Settings(
            data_dir=file.path.parent,
            http_tokens=file.path,
            http_rate=1_000,
            http_burst=1_000,
            console_metrics=there.urls,
        )
        with Served(settings, console=True) as api:
            yield api


@pytest.fixture
def visitor(served, file):
    def signed_in(*scopes: str, user: str | None = None) -> Visitor:
        made = Visitor(served)
        assert made.sign_in(file.make(*scopes, user=user)).status == 303
        return made

    return signed_in


def letter(reason: str = "not-json", value: bytes | None = b"no json", key: bytes | None = b"ann", n: int = 0) -> Found:
    made = DeadLetter.of("contrast", a_position(n), reason, EVIL, key, value)
    return Found(made, 1_767_614_400_000, 0, n)


@pytest.fixture
def kafka(monkeypatch):
    """Dead letters without a broker: what is asked of them, and what they answer."""
    asked: list[object] = []
    there = [letter(), letter(value=f"{EVIL}\u202e".encode() + b"\n\x1b", n=1), letter(value=b"\xff\x00", n=2)]

    def listing(settings, chosen, limit):
        asked.append(chosen)
        return Listing(
            there, Counter({EVIL: 3}), {there[2].letter.event_id}, there={"reason": {EVIL}, "stage": {"contrast"}}
        )

    def one(settings, name):
        for found in there:
            if found.letter.event_id == name:
                return found, [EVIL]
        raise NoSuchLetter("there is none")

    def plan(settings, chosen):
        asked.append(chosen)
        ids = sorted(chosen.ids)
        source = there[0].letter.source
        return Plan({ids[0]: Letter(source, 0, 0, None)}, dict.fromkeys(ids[1:], Hindrance.DONE), unknown=[EVIL])

    def replayed(settings, planned):
        asked.append(("sent", *planned.ready))
        return len(planned.ready)

    monkeypatch.setattr(reading, "listing", listing)
    monkeypatch.setattr(reading, "one", one)
    monkeypatch.setattr(replay, "plan", plan)
    monkeypatch.setattr(replay, "replay", replayed)
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
        (("read-user",), "*", ()),
        (("operate", "read-all"), None, (*OPERATE, *ANALYSE)),
    ],
)
def test_a_token_opens_the_pages_of_its_scopes_and_sees_no_others(visitor, kafka, scopes, user, may):
    signed_in = visitor(*scopes, user=user)
    seen = signed_in.get("/console/no-such-page").text if may else ""
    for path in (*OPERATE, *ANALYSE):
        reply = signed_in.get(f"/console{path}")
        assert (reply.status == 403) is (path not in may), path
        seen += reply.text
    for path in (*OPERATE, *ANALYSE):
        assert (f'href="/console{path}"' in seen) is (path in may and "?" not in path), path
    csrf = re.search(r'name="csrf" value="([^"]+)"', signed_in.get("/console/").text + seen)
    assert csrf is not None
    for path, scope in POSTS.items():
        reply = signed_in.post(f"/console{path}", {"csrf": csrf[1], "query": "SELECT 1", "letter-a": "on"})
        assert (reply.status == 403) is (scope not in scopes), path


def test_nobody_comes_without_signing_in_and_no_form_without_its_proof(served, visitor, kafka):
    for path in (*OPERATE, *ANALYSE):
        assert Visitor(served).get(f"/console{path}").status == 303
    signed_in = visitor("operate", "read-all")
    for path in POSTS:
        assert signed_in.post(f"/console{path}", {"query": "SELECT 1", "letter-a": "on"}).status == 403
        assert signed_in.post(f"/console{path}", {"csrf": "x"}, Origin="https://evil.example").status == 403


# --- hostile values


def test_dead_letters_are_shown_so_that_they_do_nothing(visitor, kafka):
    there, _ = kafka
    signed_in = visitor("operate")
    listed = signed_in.get("/console/letters?since=all")
    assert listed.status == 200
    harmless(listed.text)
    assert listed.text.count('type="checkbox" name="letter-') == 2  # one was sent again already
    text, binary = (signed_in.get(f"/console/letters/one?id={each.letter.event_id}").text for each in there[1:])
    harmless(text + binary)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert "00000000  ff 00" in binary
    assert signed_in.get("/console/letters/one?id=nothing").status == 404
    assert signed_in.get("/console/letters?since=yesterday").status == 400


def test_letters_are_sent_again_only_after_a_look_at_what_would_be(visitor, kafka):
    there, asked = kafka
    signed_in = visitor("operate")
    csrf = signed_in.csrf("/console/letters")
    ids = sorted(each.letter.event_id for each in there[:2])
    chosen = {f"letter-{name}": "on" for name in ids}
    del asked[:]
    planned = signed_in.post("/console/letters/plan", {"csrf": csrf, **chosen})
    assert "Send 1 record again?" in planned.text
    assert "already replayed" in planned.text
    harmless(planned.text)
    assert not any(isinstance(each, tuple) for each in asked)
    done = signed_in.post("/console/letters/replay", {"csrf": csrf, f"letter-{ids[0]}": "on"})
    assert (done.status, done.headers["location"]) == (303, "/console/letters")
    assert asked[-1] == ("sent", ids[0])
    assert "1 record was sent again." in signed_in.get("/console/letters").text
    assert signed_in.post("/console/letters/plan", {"csrf": csrf}).status == 400


def test_without_kafka_the_page_says_so(visitor, monkeypatch):
    def gone(*_):
        raise StreamsError("Kafka does not answer")

    monkeypatch.setattr(reading, "listing", gone)
    reply = visitor("operate").get("/console/letters")
    assert (reply.status, "Kafka does not answer" in reply.text) == (503, True)


def test_what_a_query_gives_is_shown_so_that_it_does_nothing(visitor):
    signed_in = visitor("read-all")
    csrf = signed_in.csrf("/console/query")
    evil = EVIL.replace("'", "''")
    query = f"""SELECT '{evil}' AS "{EVIL.replace('"', '""')}", n FROM range(3) t(n)"""
    reply = signed_in.post("/console/query", {"csrf": csrf, "query": query})
    assert (reply.status, "3 rows" in reply.text, "data-chart=" in reply.text) == (200, True, True)
    harmless(reply.text)
    wrong = signed_in.post("/console/query", {"csrf": csrf, "query": f"SELECT '{evil}'::INT"})
    assert (wrong.status, "It was not answered" in wrong.text) == (400, True)
    harmless(wrong.text)
    wide = signed_in.post("/console/query", {"csrf": csrf, "query": "SELECT " + ", ".join(f"{n}" for n in range(99))})
    assert "39 more columns" in wide.text
    empty = signed_in.post("/console/query", {"csrf": csrf, "query": " "})
    assert (empty.status, "the query is empty" in empty.text) == (400, True)


@pytest.mark.parametrize("sign", ["<", "\U0001f600", "\u0007"], ids=["escaped", "four bytes", "not printable"])
def test_a_page_of_a_large_result_is_bounded_and_states_the_omitted_rows(visitor, sign):
    signed_in = visitor("read-all")
    csrf = signed_in.csrf("/console/query")
    columns = ", ".join(f"repeat('{sign}', 100) AS c{place}" for place in range(60))

    reply = signed_in.post("/console/query", {"csrf": csrf, "query": f"SELECT n, {columns} FROM range(2000) t(n)"})

    assert reply.status == 200
    assert len(reply.text.encode()) < 1_500_000
    assert "and there are more: a page holds 1 MB, the CSV file has them" in reply.text
    assert "1 more columns are in the file" in reply.text


def test_a_query_comes_as_a_file_and_a_failed_one_as_a_page(visitor):
    signed_in = visitor("read-all")
    csrf = signed_in.csrf("/console/query")
    reply = signed_in.post("/console/query/file", {"csrf": csrf, "query": "SELECT n, '=x' AS s FROM range(12000) t(n)"})
    assert reply.headers["content-disposition"] == 'attachment; filename="sager-query.csv"'
    assert reply.headers["cache-control"] == "no-store"
    lines = reply.text.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (12_001, "n,s", "11999,'=x")
    failed = signed_in.post("/console/query/file", {"csrf": csrf, "query": "FROM nothing"})
    assert (failed.status, failed.headers["content-type"].partition(";")[0]) == (400, "text/html")


def test_a_query_that_eats_memory_ends_alone_while_others_are_answered(visitor):
    """What a page over SQL must not allow: one statement that takes the server along."""
    greedy, other = visitor("read-all"), visitor("read-all")
    csrf = greedy.csrf("/console/query")
    replies = []

    def eat() -> None:
        query = "SELECT length(repeat('x', 4000000000)), pg_sleep(2)"
        replies.append(greedy.post("/console/query", {"csrf": csrf, "query": query}))

    eating = threading.Thread(target=eat)
    eating.start()
    answered = 0
    while eating.is_alive():
        assert other.get("/console/learning").status == 200
        answered += 1
        eating.join(0.01)
    assert answered > 0
    assert (replies[0].status, "memory" in replies[0].text) == (400, True)
    again = greedy.post("/console/query", {"csrf": csrf, "query": "SELECT 1"})
    assert again.status == 200


# --- what is missing


def test_the_live_page_tells_who_is_away_and_its_rates_with_the_second_look(visitor):
    signed_in = visitor("operate")
    page = signed_in.get("/console/live").text
    assert page.count(">ready<") == 3
    assert page.count(">away<") == 1
    assert "nothing listens there" in page
    still = signed_in.get("/console/live?still=1").text
    assert ("every 3s" in page, "every 3s" in still) == (True, False)


def test_an_empty_snapshot_and_none_at_all_are_pages(file, tmp_path):
    with duckdb.connect(str(published()), read_only=True) as con:
        tables = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    shutil.copy(published(), tmp_path / "sager.duckdb")
    with duckdb.connect(str(tmp_path / "sager.duckdb")) as con:
        for name in tables:
            if name not in ("meta", "snapshot_info"):
                con.execute(f"DELETE FROM {name}")
    settings = Settings(data_dir=tmp_path, http_tokens=file.path, http_rate=1_000, http_burst=1_000)
    with Served(settings, console=True) as served:
        signed_in = Visitor(served)
        signed_in.sign_in(file.make("operate", "read-all"))
        for path in ("/live", "/shifts", "/costs", *ANALYSE):
            assert signed_in.get(f"/console{path}").status == 200, path
        assert "SAGER_CONSOLE_METRICS" in signed_in.get("/console/live").text
        (tmp_path / "sager.duckdb").unlink()
        for path in ("/shifts", "/costs", *ANALYSE):
            assert signed_in.get(f"/console{path}").status == 503, path
        assert signed_in.get("/console/live").status == 200


def test_a_domain_and_a_week_are_chosen_by_the_address_and_others_are_not_quoted(visitor):
    signed_in = visitor("read-all")
    films = signed_in.get("/console/lines?domain=films&week=2026-01-12").text
    assert "in the week from 2026-01-12" in films
    assert 'aria-current="true">films<' in films
    other = signed_in.get("/console/lines?domain=%3Cscript%3Ealert").text
    assert 'aria-current="true">books<' in other
    harmless(other)
    assert signed_in.get("/console/lines?week=soon").status == 400

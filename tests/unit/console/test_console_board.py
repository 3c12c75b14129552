"""The operator's and the analyst's pages: who may come, the snapshot's own numbers, dead letters, metrics, queries."""

import asyncio
import re
import shutil
from collections import Counter

import duckdb
import pytest

from schemas import DeadLetter
from streams.console.board import live, query, scrape
from streams.console.board.figures import OF_A_DOMAIN, OF_ALL, Figure, figure
from streams.console.board.live import GAP_SECONDS, Watch, rates
from streams.console.board.query import QueryFailed, answer, guarded, table_of
from streams.console.board.scrape import Reading, parse
from streams.exceptions import StreamsError
from streams.materializer.snapshot import copy_and_rename
from streams.materializer.store import Store
from streams.operations.dead_letters import reading, replay
from streams.operations.dead_letters.reading import Found, Listing, NoSuchLetter
from streams.operations.dead_letters.replay import Hindrance, Letter, Plan
from streams.settings import Settings
from tests.analytics_world import SUNDAY, published
from tests.builders import a_position
from tests.console_metrics import Processes, worker
from tests.patience import until
from tests.unit.analytics.test_analytics_confined import ended
from tests.unit.console.browserless import Visitor
from tests.unit.http.http_world import Served

OPERATE = ("/live", "/letters", "/letters/one?id=x", "/shifts", "/costs")
ANALYSE = ("/learning", "/lines", "/arms", "/calibration", "/query")
POSTS = {"/letters/plan": "operate", "/letters/replay": "operate", "/query": "read-all", "/query/file": "read-all"}
FIGURES = [name for names in (*OF_A_DOMAIN.values(), *OF_ALL.values()) for name in names]
EVIL = '<script>alert(1)</script>" onload="x'
TAKEN = ("sager_records_taken_total", (("topic", "items"),))


@pytest.fixture(scope="module")
def served(file):
    shutil.copy(published(), file.path.parent / "sager.duckdb")
    rate = {"http_rate": 1_000, "http_burst": 1_000}
    with Processes() as there:
        settings = Settings(data_dir=file.path.parent, http_tokens=file.path, console_metrics=there.urls, **rate)
        with Served(settings, console=True) as api:
            yield api


@pytest.fixture
def kafka(monkeypatch):
    """Dead letters without a broker: the filters that are asked for, and what they give."""

    def letter(value: bytes, n: int) -> Found:
        made = DeadLetter.of("contrast", a_position(n), "not-json", EVIL, b"ann", value)
        return Found(made, 1_767_614_400_000, 0, n)

    asked: list[object] = []
    there = [letter(b"no json", 0), letter(f"{EVIL}\u202e".encode() + b"\n\x1b", 1), letter(b"\xff\x00" * 9, 2)]

    def listing(settings, chosen, limit):
        known = {"reason": {EVIL}, "stage": {"contrast"}}
        return Listing(there, Counter({EVIL: 3}), {there[2].letter.event_id}, there=known)

    def one(settings, name):
        for found in there:
            if found.letter.event_id == name:
                return found, [EVIL]
        raise NoSuchLetter("there is none")

    def plan(settings, chosen):
        ids = sorted(chosen.ids)
        ready = {ids[0]: Letter(there[0].letter.source, 0, 0, None)}
        return Plan(ready, dict.fromkeys(ids[1:], Hindrance.DONE), unknown=[EVIL])

    def send(settings, planned):
        asked.append(tuple(planned.ready))
        return len(planned.ready)

    for module, name, made in (
        (reading, "listing", listing), (reading, "one", one), (replay, "plan", plan), (replay, "replay", send),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, made)
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
def test_a_token_opens_the_pages_of_its_scopes_and_sees_no_others(signed_in, kafka, scopes, user, may):
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


# --- figures


def column(found: Figure, name: str) -> list:
    return [row[list(found.names).index(name)] for row in found.rows]


def bounds(text: str) -> list[float]:
    return [float(part) for part in text.split(" to ")]


@pytest.fixture(scope="module")
def con():
    with duckdb.connect(str(published()), read_only=True) as opened:
        yield opened


def test_every_figure_has_rows_and_names_no_person(con):
    for name in FIGURES:
        found = figure(con, name, domain="films", week=None)
        assert found.rows, name
        assert "person-0" not in str(found)


def test_intervals_hold_their_means(con):
    curve = figure(con, "learning-curve", domain="films")
    for hit, interval in zip(column(curve, "at the top, %"), column(curve, "95 % interval"), strict=True):
        low, high = bounds(interval)
        assert low - 0.05 <= hit <= high + 0.05
    arms = figure(con, "arms", domain="films")
    means = dict(con.execute("SELECT arm, avg(ndcg_at_5) FROM outcomes WHERE domain = 'films' GROUP BY arm").fetchall())
    for arm, interval, mean in zip(
        column(arms, "arm"), column(arms, "95 % interval"), column(arms, "NDCG@5"), strict=True
    ):
        low, high = bounds(interval)
        assert low < mean < high
        assert mean == pytest.approx(means[arm])


def test_figures_add_up(con):
    cold = figure(con, "cold-start", domain="books")
    [(skills,)] = con.execute("SELECT count(*) FROM skills WHERE domain = 'books'").fetchall()
    assert (sum(column(cold, "skills")), column(cold, "so far, %")[-1]) == (skills, 100)
    flow = figure(con, "tier-flow", domain="films", week=None)
    weeks = [week for (week,) in con.execute("SELECT DISTINCT week FROM tier_flow WHERE domain = 'films'").fetchall()]
    weekly = [figure(con, "tier-flow", domain="films", week=week) for week in weeks]
    assert sum(column(flow, "lines")) == sum(sum(column(each, "lines")) for each in weekly)
    [(dollars,)] = con.execute("SELECT sum(cost_dollars) FROM llm_calls").fetchall()
    assert sum(column(figure(con, "llm-prompts"), "cost, US$")) == pytest.approx(dollars)


def test_an_empty_snapshot_and_none_at_all_are_pages(file, tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        store.checkpoint(SUNDAY, SUNDAY)
        copy_and_rename(store.path, tmp_path / "sager.duckdb")
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


def test_a_domain_and_a_week_are_chosen_by_the_address(signed_in):
    browser = signed_in("read-all")
    films = browser.get("/console/lines?domain=films&week=2026-01-12").text
    assert '<option value="2026-01-12" selected>' in films
    assert 'aria-current="true">films<' in films
    other = browser.get("/console/lines?domain=%3Cscript%3Ealert").text
    assert 'aria-current="true">books<' in other
    harmless(other)
    assert browser.get("/console/lines?week=soon").status == 400


# --- dead letters


def test_dead_letters_are_shown_so_that_they_do_nothing(signed_in, kafka):
    there, _ = kafka
    browser = signed_in("operate")
    listed = browser.get("/console/letters").text
    text, binary = (browser.get(f"/console/letters/one?id={each.letter.event_id}").text for each in there[1:])
    harmless(listed + text + binary)
    assert "\\u202e" in text
    assert "\\x1b" in text
    assert r"b&#39;\xff\x00" in binary
    assert browser.get("/console/letters/one?id=nothing").status == 404
    assert browser.get("/console/letters?since=yesterday").status == 400


def test_letters_are_sent_again_only_after_a_look_at_what_would_be(signed_in, kafka):
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


def test_without_kafka_the_page_says_so(signed_in, monkeypatch):
    def gone(*_):
        raise StreamsError("Kafka does not answer")

    monkeypatch.setattr(reading, "listing", gone)
    reply = signed_in("operate").get("/console/letters")
    assert (reply.status, "Kafka does not answer" in reply.text) == (503, True)


# --- live


class Clock:
    """Seconds, and readings of one process that counts."""

    def __init__(self) -> None:
        self.seconds, self.looks = 0.0, 0
        self.watch = Watch(self.fetch, lambda: self.seconds)

    async def fetch(self) -> list[Reading]:
        self.looks += 1
        return [Reading("worker", parse(worker(self.looks))), Reading("gone", away="nothing listens there")]


def test_counters_of_a_process_that_began_again_count_from_zero_and_one_that_was_away_not_at_all():
    here, away = Reading("a", {TAKEN: 100.0}), Reading("a", away="it did not answer")
    assert rates([here], [Reading("a", {TAKEN: 8.0})], 4).samples == {TAKEN: 2.0}
    for before, after in (([], [here]), ([away], [here]), ([here], [away])):
        assert rates(before, after, 1).samples == {}


async def test_looks_are_shared_and_rates_come_with_the_second_until_there_is_a_pause():
    clock = Clock()
    watch = clock.watch
    await watch.look()
    assert watch.rates is None
    clock.seconds = 3.0
    await asyncio.gather(*(watch.look() for _ in range(5)))
    assert clock.looks == 2
    by_agent = {row[0]: row for row in live.by_agent(watch).rows}
    assert by_agent["rank"][1] == pytest.approx(13 * 11 / 3, rel=0.15)
    clock.seconds += GAP_SECONDS + 1
    await watch.look()
    assert watch.rates is None


async def test_a_process_that_is_away_is_shown_with_its_reason_beside_the_others():
    watch = Clock().watch
    await watch.look()
    assert [live.process(each)[:3] for each in watch.readings] == [("worker", "worker", "ready"), ("gone", "?", "away")]
    assert live.tiles(watch)[0][1] == "1 of 2"
    assert ("dead letter", "not-json, contrast", 3) in live.errors(watch).rows


async def test_processes_are_asked_with_the_token_and_only_when_a_page_is_open(signed_in):
    with Processes() as there:
        watch = live.watch_of(Settings(console_metrics=there.urls))
        assert there.asked == {"worker": 0, "materializer": 0}
        await watch.look()
        assert [bool(each.away) for each in watch.readings] == [False, False, True, False]
        there.wants = "sager_secret"
        [refused, *_] = await scrape.fetch(there.urls.split(","), None)
        assert "SAGER_CONSOLE_METRICS_TOKEN" in refused.away
        [accepted, *_] = await scrape.fetch(there.urls.split(","), "sager_secret")
        assert not accepted.away
    page, still = (signed_in("operate").get(f"/console/live{query}").text for query in ("", "?still=1"))
    assert (page.count(">ready<"), page.count(">away<")) == (3, 1)
    assert ("every 3s" in page, "every 3s" in still) == (True, False)


# --- queries


@pytest.fixture
def snapshot(tmp_path):
    return shutil.copy(published(), tmp_path / "sager.duckdb")


async def test_a_result_has_names_and_values_as_they_are(snapshot, monkeypatch):
    monkeypatch.setenv("SAGER_CHAIN_KEY", "secret" * 6)
    assert "secret" not in str(query.environment("sager."))
    found = table_of(
        await answer(snapshot, "sager.", "SELECT 1 AS a, 'x\ny' AS a, 1.25 AS b, DATE '2026-01-01' AS day, NULL AS z")
    )
    assert found["headings"][:3] == [("a", True), ("a", False), ("b", True)]
    assert found["cells"] == [["1", "x y", "1.25", "2026-01-01", ""]]
    assert not found["more"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("FROM nothing", "does not exist"),
        ("COPY (SELECT 1) TO 'x'", "disabled"),
        ("UPDATE meta SET prefix = ''", "read-only"),
        ("FROM read_text('/etc/hostname')", "disabled"),
        (" ", "is empty"),
        ("SELECT length(repeat('x', 4000000000))", "memory"),
    ],
)
async def test_a_refused_query_states_the_reason(snapshot, query, reason):
    with pytest.raises(QueryFailed, match=reason):
        await answer(snapshot, "sager.", query)


async def test_a_query_that_sleeps_is_ended_with_its_process_while_others_are_answered(snapshot, monkeypatch):
    pids: list[int] = []
    start = asyncio.create_subprocess_exec

    async def noted(*args, **more):
        process = await start(*args, **more)
        pids.append(process.pid)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    slow, quick, left = await asyncio.gather(
        answer(snapshot, "sager.", "SELECT pg_sleep(3600)", seconds=1),
        answer(snapshot, "sager.", "SELECT 1"),
        asyncio.wait_for(answer(snapshot, "sager.", "SELECT pg_sleep(3600)"), 1),
        return_exceptions=True,
    )
    assert "1 s" in str(slow)
    assert isinstance(quick, str)
    assert isinstance(left, TimeoutError)
    until(lambda: all(ended(pid) for pid in pids), "the queries' processes to end")


def test_what_a_query_gives_is_shown_so_that_it_does_nothing(signed_in):
    browser = signed_in("read-all")
    csrf = browser.csrf("/console/query")
    evil = EVIL.replace("'", "''")
    sql = f"""SELECT '{evil}' AS "{EVIL.replace('"', '""')}", n FROM range(3) t(n)"""
    reply = browser.post("/console/query", {"csrf": csrf, "query": sql})
    assert (reply.status, "3 rows" in reply.text, "data-chart=" in reply.text) == (200, True, True)
    wrong = browser.post("/console/query", {"csrf": csrf, "query": f"SELECT '{evil}'::INT"})
    assert (wrong.status, "It was not answered" in wrong.text) == (400, True)
    harmless(reply.text + wrong.text)


@pytest.mark.parametrize("sign", ["<", "\U0001f600", "\u0007"], ids=["escaped", "four bytes", "not printable"])
def test_a_page_of_a_large_result_is_bounded_and_states_the_omitted_rows(signed_in, sign):
    browser = signed_in("read-all")
    columns = ", ".join(f"repeat('{sign}', 100) AS c{place}" for place in range(60))
    fields = {"csrf": browser.csrf("/console/query"), "query": f"SELECT n, {columns} FROM range(2000) t(n)"}

    reply = browser.post("/console/query", fields)

    assert reply.status == 200
    assert len(reply.text.encode()) < 1_500_000
    assert "and there are more: a page holds 1 MB, the CSV file has them" in reply.text
    assert "1 more columns are in the file" in reply.text


def test_a_query_comes_as_a_file_without_formulas_and_a_failed_one_as_a_page(signed_in):
    browser = signed_in("read-all")
    csrf = browser.csrf("/console/query")
    reply = browser.post("/console/query/file", {"csrf": csrf, "query": "SELECT n, '=x' AS s FROM range(12000) t(n)"})
    assert reply.headers["content-disposition"] == 'attachment; filename="sager-query.csv"'
    assert reply.headers["cache-control"] == "no-store"
    lines = reply.text.splitlines()
    assert (len(lines), lines[0], lines[-1]) == (12_001, "n,s", "11999,'=x")
    failed = browser.post("/console/query/file", {"csrf": csrf, "query": "FROM nothing"})
    assert (failed.status, failed.headers["content-type"].partition(";")[0]) == (400, "text/html")
    assert guarded('"@x",-1.5,-a\n') == "'@x,-1.5,'-a\r\n"


async def test_few_queries_run_at_once_and_one_of_each_token(signed_in, monkeypatch):
    browser = signed_in("read-all")
    csrf = browser.csrf("/console/query")
    asked = {"csrf": csrf, "query": "SELECT 1"}
    _, token = browser.served.console.sessions.find(browser.cookie.partition("=")[2])
    monkeypatch.setattr(query, "_running", [token.sha256])
    assert browser.post("/console/query", asked).status == 429
    monkeypatch.setattr(query, "_running", ["a", "b"])
    assert browser.post("/console/query", asked).status == 503
    monkeypatch.setattr(query, "_running", ["a"])
    assert browser.post("/console/query", asked).status == 200


def test_every_view_and_table_of_the_list_can_be_read(served):
    named = served.api.snapshot.ask(lambda con: con.execute(query._NAMES).fetchall())
    assert {kind for kind, *_ in named} == {"Views", "Macros", "Tables"}
    for kind, name, comment, _, columns in named:
        assert comment
        if kind != "Macros":
            assert columns
            served.api.snapshot.ask(lambda con, name=name: con.execute(f"FROM {name} LIMIT 1").fetchall())

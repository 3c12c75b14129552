"""Receipts in DuckDB: whose rows go, whose stay, and that what comes late is not let in again."""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from operators.admission import event_id_of
from operators.erasure import with_known, with_scope
from schemas import TOPICS, ErasedScope, ForgetRequest, Position, Receipt, Selection
from schemas.codec import BadRecord, DeadLetter, decode, encode, event_digest, line_digest, subject_digest
from streams.analytics import erasure
from streams.analytics.erasure import ErasureFilter
from streams.analytics.records import ChangeSet, KafkaRecord
from streams.analytics.rows import read
from streams.analytics.snapshot import Publisher
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.analytics_world import build
from tests.builders import a_command, a_rank_request, a_ranking, a_selection, an_interaction
from tests.shared_files import empty_store

WHO = "person-003"


def user_tables(store):
    query = "SELECT DISTINCT table_name FROM duckdb_columns() WHERE column_name = 'user_id' ORDER BY 1"
    return [name for (name,) in store._db.execute(query).fetchall()]


def count(store, table, condition):
    return store._db.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchall()[0][0]


def receipt_of(domain, until, who=WHO, line=None):
    request = ForgetRequest(event_id="r", occurred_at=until, user_id=who, domain=domain, line=line, actor="advocate")
    empty = Receipt(event_id="r", occurred_at=until, subject=subject_digest(who))
    return with_scope(empty, request, ErasedScope(event_id="r", until=until, actor="advocate", done=True))


def take(store, records, barrier):
    batch, receipts = ChangeSet(), []
    for record in records:
        change = read(record, barrier=barrier, privacy=PRIVACY)
        if change is not None:
            batch.add(change)
        if record.topic.base == Receipt.TOPIC:
            receipts.append(decode(Receipt, record.value))
            barrier.add(receipts[-1])
    store.write(batch, {}, receipts)


def as_record(receipt):
    return KafkaRecord(TOPICS["receipts"], 0, 0, 0, receipt.subject.encode(), encode(receipt))


def happened(record):
    event: Any = decode(record.topic.model, record.value)
    return event.occurred_at


@pytest.fixture(scope="module")
def some():
    """The records of a quarter of the people, and of nobody."""
    others = [f'"user_id":"person-{number:03}"'.encode() for number in range(28) if number % 4 != 3]
    return [record for record in build().records if not any(person in (record.value or b"") for person in others)]


@pytest.fixture(scope="module")
def whole(some, tmp_path_factory):
    """Whose rows there are by table where nobody is forgotten: everybody else's, and their own of another domain."""
    with empty_store(tmp_path_factory.mktemp("whole") / "whole.duckdb") as store:
        take(store, some, ErasureFilter())
        store.checkpoint(max(happened(r) for r in some).replace(tzinfo=None), None)
        assert count(store, "outcomes", f"user_id = '{WHO}'")
        others = {t: count(store, t, f"user_id <> '{WHO}'") for t in user_tables(store)}
        own = {t: count(store, t, f"user_id = '{WHO}' AND domain <> 'films'") for t in ("rankings", "skill_diffs")}
    assert all(own.values())
    return others, own


# Whatever the order, a receipt's scope is read by the same code.
@pytest.mark.parametrize(
    ("order", "domain"),
    [("receipt last", None), ("receipt first", None), ("receipt between", None), ("receipt between", "films")],
)
def test_erasure_removes_older_rows_for_good_and_no_others(tmp_path, some, whole, domain, order):
    others, own = whole
    until = max(happened(r) for r in some if r.topic.base == "selections")
    record = as_record(receipt_of(domain, until + timedelta(days=1)))
    middle = {"receipt last": len(some), "receipt first": 0, "receipt between": len(some) // 2}[order]
    with empty_store(tmp_path / "forgotten.duckdb") as store:
        barrier = ErasureFilter()
        take(store, some[:middle], barrier)
        take(store, [record], barrier)
        # A process that starts again knows its receipts from the file.
        take(store, some[middle:] + some[:50], ErasureFilter(store.receipts()))
        Publisher(store, tmp_path / "sager.duckdb", 5.0).publish()
        for table in user_tables(store):
            assert count(store, table, f"user_id <> '{WHO}'") == others[table], table
            if domain is None:
                assert count(store, table, f"user_id = '{WHO}'") == 0, table
        if domain:
            assert {t: count(store, t, f"user_id = '{WHO}' AND domain <> 'films'") for t in own} == own
            assert count(store, "rankings", f"user_id = '{WHO}' AND domain = 'films'") == 0
            assert count(store, "skills", f"user_id = '{WHO}' AND domain = 'films'") == 0
    if domain is None:
        for file in ("forgotten.duckdb", "sager.duckdb"):
            assert WHO.encode() not in (tmp_path / file).read_bytes()


def letters_left(tmp_path, letters, who, first):
    """The dead letters, each with a name, a key and a value, that are left where `who` is forgotten."""
    at, records = datetime(2026, 1, 1, tzinfo=UTC), []
    for number, (name, key, value) in enumerate(letters):
        source = Position(topic="sager.selections", partition=0, offset=number, timestamp_ms=1_000)
        letter = DeadLetter.of("contrast", source, "invalid", name, key, value)
        records.append(KafkaRecord(TOPICS["dead-letters"], 0, number, 0, key, encode(letter)))
    receipt = as_record(receipt_of(None, at, who))
    with empty_store(tmp_path / "live.duckdb") as store:
        barrier = ErasureFilter()
        for part in (records, [receipt]) if first == "letters" else ([receipt], records):
            take(store, part, barrier)
        return {name for (name,) in store._db.execute("SELECT detail FROM dead_letters").fetchall()}


@pytest.mark.parametrize("first", ["letters", "receipt"])
@pytest.mark.parametrize("who", ["ann", "2", 'änn "the" \\ marsh', "it's"])
def test_dead_letters_match_by_key_or_by_the_id_in_their_bytes(tmp_path, who, first):
    quoted = json.dumps(who, ensure_ascii=False).encode()
    values = {
        "own, by key": (who.encode(), b"\xff broken"),
        "own, by a compound key": (b"[" + quoted + b',"films"]', b"\xff broken"),
        "another's, by a compound key": (b"[" + json.dumps(who + "2").encode() + b',"films"]', b"\xff broken"),
        "own, by value": (b"\xff", b'{"user_id":' + quoted + b"} \xff"),
        "another's": ((who + "2").encode(), b'{"user_id":' + json.dumps(who + "2").encode() + b"}"),
        "of an item of that name": (b"2x", b'{"item_id":' + quoted + b',"user_id":"x' + quoted[1:] + b"}"),
        "nobody's": (None, b"\xff\xfe"),
    }
    letters = [(name, *letter) for name, letter in values.items()]
    left = {"another's", "another's, by a compound key", "nobody's", "of an item of that name"}
    assert letters_left(tmp_path, letters, who, first) == left


NAMING_ANN = (
    b'{ "user_id" :\n\t"ann" }',
    b'{"user_id"  :  "ann", broken',
    b'{"user\\u005fid":"ann"}',
    b'{"\\u0075ser_id":"\\u0061n\\u006E"} \xff',
    b'[{"deep":[{"user_id":"ann"}]}]',
    b'{"user_id":"bob","user_id":"ann"}',
    b"{'user_id': 'ann'}",
    b'{"userId":"ann"}',
    b"user_id=ann&item_id=i",
    b"user_id: ann\n",
    '{"user_id":"ann"}'.encode("utf-16"),
    b'[["ann","films"]]',
)
"""Refused for their shape, and with no key or that of somebody else: still hers, but for the last one."""


@pytest.mark.parametrize("first", ["letters", "receipt"])
def test_dead_letters_match_any_spelling_of_the_id(tmp_path, monkeypatch, first):
    monkeypatch.setattr(erasure, "_LETTERS_BYTES", 2_500)  # a few at once
    letters = [(str(n), None if n % 2 else b"bob", value) for n, value in enumerate(NAMING_ANN)]
    assert letters_left(tmp_path, letters, "ann", first) == {str(len(NAMING_ANN) - 1)}


@pytest.mark.parametrize("first", ["rows", "receipt"])
def test_erased_line_is_blank_in_older_rows_in_any_order(tmp_path, first):
    topics = ("rank-requests", "rankings", "skill-commands", "contrasts")
    records = [record for record in build().records if record.topic.base in topics]
    until = max(happened(r) for r in records)
    line = line_digest(WHO, "films", "preference:genre:noir")
    receipt = as_record(receipt_of("films", until, line=line))
    with empty_store(tmp_path / "live.duckdb") as store:
        barrier = ErasureFilter()
        for part in (records, [receipt]) if first == "rows" else ([receipt], records):
            take(store, part, barrier)
        has_words = "slim_skill <> '' OR facets IS NOT NULL OR injected IS NOT NULL"
        assert count(store, "rankings", f"user_id = '{WHO}'") > 0
        assert count(store, "rankings", f"user_id = '{WHO}' AND ({has_words})") == 0
        for table in ("rank_requests", "rankings", "contrasts"):
            assert count(store, table, f"user_id = '{WHO}' AND instruction <> ''") == 0
            assert count(store, table, f"user_id <> '{WHO}' AND instruction <> ''") > 0, table
        assert count(store, "ranking_facets", f"user_id = '{WHO}'") == 0
        assert count(store, "contrasts", f"(user_id = '{WHO}') = (items IS NULL)") == count(store, "contrasts", "true")
        assert count(store, "rankings", f"user_id <> '{WHO}' AND ({has_words})") > 0


@pytest.mark.parametrize("minutes", [3, 30, 60 * 24 * 365 * 500])
def test_fast_producer_clock_does_not_escape_erasure(tmp_path, minutes):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    claimed = at + timedelta(minutes=minutes)
    ahead = Selection(event_id="s", occurred_at=claimed, user_id=WHO, ranking_id="r", item_id="i")
    logged = int(at.timestamp() * 1_000) - 60_000
    record = KafkaRecord(TOPICS["selections"], 0, 0, logged, WHO.encode(), encode(ahead))
    for order in ([record, as_record(receipt_of(None, at))], [as_record(receipt_of(None, at)), record]):
        with empty_store(tmp_path / f"{order[0].topic.base}.duckdb") as store:
            barrier = ErasureFilter()
            for each in order:
                with suppress(BadRecord):  # from the future, and of nobody who was forgotten yet
                    take(store, [each], barrier)
            assert count(store, "selections", "true") == 0


@pytest.mark.parametrize("again", [timedelta(0), timedelta(days=300)], ids=["as it was", "with another time"])
def test_erased_event_gets_no_new_row(tmp_path, again):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    sent = [
        a_ranking("r1", user_id=WHO, occurred_at=at),
        a_selection("r1", user_id=WHO, occurred_at=at),
        an_interaction(user_id=WHO, occurred_at=at),
        a_command(user_id=WHO, occurred_at=at),
        a_rank_request(event_id="r1", user_id=WHO, occurred_at=at),
    ]
    known = [event_digest(WHO, name, b"secret") for event in sent if (name := event_id_of(event))]
    receipt = with_known(receipt_of(None, at + timedelta(hours=1)), known)
    after = int((at + again + timedelta(hours=2)).timestamp() * 1_000)
    with empty_store(tmp_path / "live.duckdb") as store:
        barrier = ErasureFilter([encode(receipt).decode()], b"secret")
        new = [each.model_copy(update={"event_id": "new"}) for each in sent[2:4]]
        moved = [each.model_copy(update={"occurred_at": at + again + timedelta(hours=2)}) for each in (*sent, *new)]
        for number, event in enumerate(moved):
            topic = TOPICS[event.TOPIC]
            take(store, [KafkaRecord(topic, 0, number, after, topic.key_of(event), encode(event))], barrier)
        tables = ("rankings", "selections", "rank_requests", "interactions", "skill_commands")
        assert [count(store, table, "true") for table in tables] == [0, 0, 0, 1, 1], "what is new gets one"


def test_receipt_applies_by_its_scope_not_its_request_time():
    now = datetime(2026, 1, 1, tzinfo=UTC)
    barrier = ErasureFilter()
    barrier.add(receipt_of(None, now).model_copy(update={"occurred_at": datetime(9999, 1, 1, tzinfo=UTC)}))
    second = receipt_of(None, now + timedelta(days=2)).model_copy(update={"occurred_at": now - timedelta(hours=1)})
    barrier.add(second)
    event = a_selection(user_id=WHO, occurred_at=now + timedelta(days=1))

    assert barrier.covers(event, event.occurred_at)


@pytest.mark.parametrize("order", ["letter first", "receipt first"])
def test_dead_letter_with_a_future_timestamp_is_erased(tmp_path, order):
    refused_at = datetime(2026, 1, 1, tzinfo=UTC)
    source = Position(topic="sager.selections", partition=0, offset=1, timestamp_ms=250_000_000_000_000)
    letter = DeadLetter.of("contrast", source, "from-the-future", "", WHO.encode(), b"{}", refused_at)
    stamp = int(refused_at.timestamp() * 1_000)
    records = [KafkaRecord(TOPICS["dead-letters"], 0, 0, stamp, letter.key, encode(letter))]
    records.insert(order == "letter first", as_record(receipt_of(None, refused_at + timedelta(hours=1))))
    with empty_store(tmp_path / "live.duckdb") as store:
        barrier = ErasureFilter()
        for record in records:
            take(store, [record], barrier)
        assert count(store, "dead_letters", "true") == 0

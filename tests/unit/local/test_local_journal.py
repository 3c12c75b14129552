"""The journal's files and what they keep, without a broker."""

import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka.record.util import calc_crc32c
from pydantic import SecretStr

from operators.admission import contrast_id
from schemas import ErasedScope, Receipt, Selection, decode, encode, event_digest, subject_digest
from streams.local import batches
from streams.local.batches import BatchRecord, bounds, build_batches, rebased, records, split, without_producer
from streams.local.journal import Journal, JournalContents, JournalUnusable, compact, install, path_of, read, write
from streams.settings import Settings
from tests.builders import a_contrast

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SKILLS, SELECTIONS, CONTRASTS = ("sager.skills", 0), ("sager.selections", 0), ("sager.contrasts", 0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def record(offset: int, key: str = "k", value: str | None = "v", at: datetime = NOW) -> BatchRecord:
    return BatchRecord(offset, int(at.timestamp() * 1_000), key.encode(), value.encode() if value is not None else None)


def selected(offset: int, user: str, at: datetime = NOW) -> BatchRecord:
    event = Selection(event_id=f"{user}{offset}", occurred_at=at, user_id=user, ranking_id="r", item_id="i")
    return BatchRecord(offset, int(at.timestamp() * 1_000), user.encode(), encode(event))


def log_of(*held: tuple[tuple[str, int], list[BatchRecord]], **more: object) -> JournalContents:
    return JournalContents(records=dict(held), ends={name: rows[-1].offset + 1 for name, rows in held}, **more)


def journal(settings: Settings, *held: tuple[tuple[str, int], list[BatchRecord]]) -> Journal:
    install(write(settings, JournalContents()))
    made = Journal(settings)
    for partition, rows in held:
        made.append(
            [
                (partition, batch)
                for row in rows
                for batch in rebased(next(build_batches([row._replace(offset=0)])), row.offset)
            ]
        )
    return made


def forgotten(user: str) -> BatchRecord:
    scope = ErasedScope(event_id="f", until=NOW, actor="her", done=True)
    receipt = Receipt(event_id="f", occurred_at=NOW, subject=subject_digest(user), person=scope)
    return BatchRecord(0, int(NOW.timestamp() * 1_000), receipt.subject.encode(), encode(receipt))


def offsets(log: JournalContents, partition: tuple[str, int]) -> list[int]:
    return [each.offset for each in log.records.get(partition, [])]


def test_batches_keep_offsets_times_keys_and_headers_across_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_RECORDS", 2)
    rows = [
        BatchRecord(at, 1_000 + at, b"k", None if at == 9 else b"v", (("h", b"x"),)) for at in (5, 9, 30, 31, 90, 400)
    ]

    made = list(build_batches(rows))

    assert [each for batch in made for each in records(batch)] == rows
    assert [bounds(batch) for batch in made] == [(0, 30), (30, 90), (90, 400), (400, 401)]
    assert list(split(b"".join(made) + made[0][:-1])) == made


@pytest.mark.parametrize(
    ("offsets", "end", "spans"),
    [
        ([], 0, []),
        ([], 1, [(0, 1)]),
        ([], 9, [(0, 8), (8, 9)]),
        ([7], 0, [(0, 7), (7, 8)]),
        ([0, 4], 9, [(0, 8), (8, 9)]),
        ([7], 9, [(0, 8), (8, 9)]),
        ([8], 9, [(0, 8), (8, 9)]),
    ],
)
def test_batches_span_all_offsets_and_the_last_has_no_gap(
    offsets: list[int], end: int, spans: list[tuple[int, int]]
) -> None:
    made = list(build_batches([record(at) for at in offsets], end))

    assert [bounds(batch) for batch in made] == spans
    assert [each.offset for batch in made for each in records(batch)] == offsets


def test_batches_lose_their_producer_and_get_the_offsets_of_the_broker() -> None:
    first = bytearray(next(build_batches([record(0)])))
    struct.pack_into(">qhi", first, 43, 7, 0, 5)
    struct.pack_into(">I", first, 17, calc_crc32c(bytes(first[21:])))

    sent = without_producer(bytes(first) + b"".join(build_batches([record(0), record(1)])))

    assert [struct.unpack_from(">qhi", each, 43) for each in split(sent)] == [(-1, -1, -1)] * 3
    assert [each.offset for batch in rebased(sent, 40) for each in records(batch)] == [40, 41, 42]


@pytest.mark.parametrize("at", [16, 17, 70])
def test_an_unreadable_batch_is_refused(at: int) -> None:
    batch = bytearray(next(build_batches([record(0)])))
    batch[at] ^= 1

    with pytest.raises(ValueError, match="record batch"):
        without_producer(bytes(batch))


def test_batches_are_read_in_the_order_of_offsets(
    settings: Settings,
) -> None:
    journal(settings, (SKILLS, [record(1)]), (SKILLS, [record(0)]))

    log = read(settings)

    assert (offsets(log, SKILLS), log.ends) == ([0, 1], {SKILLS: 2})


def test_a_journal_is_read_as_written(settings: Settings) -> None:
    held = log_of((SKILLS, [record(0), record(1)]), (SELECTIONS, [selected(3, "ann")]), commits={SELECTIONS: 3})
    held.ends[SELECTIONS] = 9
    install(write(settings, held))
    Journal(settings).commit({SKILLS: 1})

    assert read(settings) == JournalContents(held.records, {SELECTIONS: 3, SKILLS: 1}, {SKILLS: 2, SELECTIONS: 9})


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-90], lambda data: data[:-3] + b"xyz"])
def test_a_damaged_end_is_ignored(settings: Settings, damage: Callable[[bytes], bytes]) -> None:
    journal(settings, (SKILLS, [record(0)]), (SELECTIONS, [record(0, value="torn")]))
    path_of(settings).write_bytes(damage(path_of(settings).read_bytes()))

    log = read(settings)

    assert log.records == {SKILLS: [record(0)]}


def test_a_compacted_file_gets_the_batches_that_were_appended_meanwhile(settings: Settings) -> None:
    made = journal(settings, (SKILLS, [record(0), record(1)]))
    begun_at = made.size
    made.append([(SKILLS, next(rebased(next(build_batches([record(0)])), 2)))])
    log = read(settings, begun_at)
    write(settings, compact(log, settings, NOW)[0])
    assert offsets(read(settings), SKILLS) == [0, 1, 2], "it does not count before it is in place"

    made.switch_to_compacted(begun_at)
    made.append([(SKILLS, next(rebased(next(build_batches([record(0)])), 3)))])

    assert offsets(read(settings), SKILLS) == [1, 2, 3]
    assert [path.name for path in path_of(settings).parent.iterdir()] == ["log"]


@pytest.mark.parametrize(
    ("changed", "advice"),
    [({"partitions": 8}, "SAGER_PARTITIONS=4"), ({"prefix": "x."}, "SAGER_PREFIX=sager."), ({"app_id": "y"}, "APP_ID")],
)
def test_a_journal_of_another_deployment_is_refused(
    settings: Settings, changed: dict[str, object], advice: str
) -> None:
    journal(settings)

    with pytest.raises(JournalUnusable, match=advice):
        read(settings.model_copy(update=changed))


def test_compaction_keeps_what_kafka_would(settings: Settings) -> None:
    old = NOW - timedelta(days=40)
    log = JournalContents(
        records={
            SKILLS: [record(0, "a"), record(1, "b"), record(2, "a", "new"), record(3, "c"), record(4, "c", None)],
            SELECTIONS: [selected(0, "ann", old), selected(1, "ann"), selected(2, "bob", old), selected(3, "bob", old)],
        },
        commits={SELECTIONS: 2},
        ends={SKILLS: 5, SELECTIONS: 4},
    )

    rest, _ = compact(log, settings, NOW)

    assert (offsets(rest, SKILLS), rest.ends) == ([1, 2], {SKILLS: 3, SELECTIONS: 4})
    assert offsets(rest, SELECTIONS) == [1, 2, 3], "what no worker has done stays, however old it is"


def test_compaction_drops_erased_events_after_the_worker_has_processed_them(settings: Settings) -> None:
    held = [selected(0, "ann"), selected(1, "bob"), selected(2, "ann"), selected(3, "ann", NOW + timedelta(hours=1))]
    log = JournalContents(
        records={SELECTIONS: held, ("sager.receipts", 0): [forgotten("ann")]},
        commits={SELECTIONS: 2},
        ends={SELECTIONS: 4, ("sager.receipts", 0): 1},
    )

    first = compact(log, settings, NOW)
    log.commits[SELECTIONS] = 4
    second = compact(log, settings, NOW)

    assert (offsets(first[0], SELECTIONS), first[1]) == ([1, 2, 3], 1)
    assert (offsets(second[0], SELECTIONS), second[1]) == ([1, 3], 0)


def test_compaction_drops_contrasts_of_erased_users(settings: Settings) -> None:
    contrasts = [
        record(at)._replace(value=encode(a_contrast(user_id=user, occurred_at=NOW, ranking_id=f"r{at}")))
        for at, user in enumerate(("ann", "bob"))
    ]
    log = JournalContents(
        records={CONTRASTS: contrasts, ("sager.receipts", 0): [forgotten("ann")]},
        commits={CONTRASTS: 2},
        ends={CONTRASTS: 2, ("sager.receipts", 0): 1},
    )

    assert offsets(compact(log, settings, NOW)[0], CONTRASTS) == [1]


def test_compaction_accepts_any_timestamp_and_bytes(settings: Settings) -> None:
    ahead = selected(0, "bob", datetime.now(UTC) + timedelta(days=3))
    held = [ahead, *(selected(at, "bob")._replace(timestamp_ms=ms) for at, ms in enumerate((-1, 0, 2**62), start=1))]
    receipts = [BatchRecord(0, 1, b"x", b"{}"), forgotten("ann")._replace(offset=1), BatchRecord(2, 1, b"y", b"\xff")]
    log = JournalContents(
        records={SELECTIONS: held, ("sager.receipts", 0): receipts},
        commits={SELECTIONS: 4},
        ends={SELECTIONS: 4, ("sager.receipts", 0): 3},
    )

    rest, _ = compact(log, settings, datetime(1971, 1, 1, tzinfo=UTC))

    assert offsets(rest, SELECTIONS) == [0, 3], "two are too old by their timestamps"


def test_compaction_drops_events_that_a_receipt_lists_by_id(settings: Settings) -> None:
    settings = settings.model_copy(update={"chain_key": SecretStr("a secret of the deployment, long enough")})
    again = selected(0, "ann", NOW + timedelta(hours=1))
    receipt = decode(Receipt, forgotten("ann").value or b"")
    name = event_digest("ann", contrast_id("ann", "r"), settings.event_key_bytes)
    known = receipt.model_copy(update={"known": (name,)})
    log = JournalContents(
        records={SELECTIONS: [again], ("sager.receipts", 0): [forgotten("ann")._replace(value=encode(known))]},
        commits={SELECTIONS: 1},
        ends={SELECTIONS: 1, ("sager.receipts", 0): 1},
    )

    assert offsets(compact(log, settings, NOW)[0], SELECTIONS) == []


def test_compaction_keeps_offsets_except_the_end_of_a_changelog(settings: Settings) -> None:
    profiles, touches = ("sager.profiles", 0), ("sager.item-touches", 0)
    log = JournalContents(
        records={profiles: [record(6), record(7, "x"), record(8, "x", None)], touches: [record(0), record(1)]},
        commits={touches: 2, profiles: 9},
        ends={profiles: 9, touches: 5},
    )

    rest, _ = compact(log, settings, NOW)

    assert (offsets(rest, profiles), offsets(rest, touches)) == ([6], [])
    assert (rest.ends, rest.commits) == ({profiles: 7, touches: 5}, {touches: 2, profiles: 7})

"""The journal's files and what they keep, without a broker."""

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka.record.util import calc_crc32c
from pydantic import SecretStr

from operators.contrast import contrast_id
from schemas import Forgotten, Receipt, Selection, decode, encode, known_as, subject_of
from streams.kafka.packed import pack
from streams.local import batches
from streams.local import journal as journals
from streams.local.batches import Record, anonymize, based, bounds, built, records, split
from streams.local.compaction import compacted, placed
from streams.local.journal import JournalUnusable, Log, Segment, folder_of, read
from streams.settings import Settings
from tests.builders import a_contrast

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SKILLS, SELECTIONS, CONTRASTS = ("sager.skills", 0), ("sager.selections", 0), ("sager.contrasts", 0)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


def record(offset: int, key: str = "k", value: str | None = "v", at: datetime = NOW) -> Record:
    return Record(offset, int(at.timestamp() * 1_000), key.encode(), value.encode() if value is not None else None)


def selected(offset: int, user: str, at: datetime = NOW) -> Record:
    event = Selection(event_id=f"{user}{offset}", occurred_at=at, user_id=user, ranking_id="r", item_id="i")
    return Record(offset, int(at.timestamp() * 1_000), user.encode(), encode(event))


def journal(settings: Settings, *held: tuple[tuple[str, int], list[Record]]) -> Segment:
    segment = Segment(settings)
    for partition, rows in held:
        for batch in built(rows, contiguous=False):
            segment.batch(partition, batch)
    return segment


def forgotten(user: str) -> Record:
    scope = Forgotten(event_id="f", until=NOW, actor="her", done=True)
    receipt = Receipt(event_id="f", occurred_at=NOW, subject=subject_of(user), person=scope)
    return Record(0, int(NOW.timestamp() * 1_000), receipt.subject.encode(), encode(receipt))


def offsets(log: Log, partition: tuple[str, int]) -> list[int]:
    return [each.offset for each in log.records.get(partition, [])]


def test_batches_keep_offsets_times_keys_and_headers_across_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "RECORDS", 2)
    rows = [Record(at, 1_000 + at, b"k", None if at == 9 else b"v", (("h", b"x"),)) for at in (5, 9, 30, 31, 90, 400)]

    made = list(built(rows))

    assert [each for batch in made for each in records(batch)] == rows
    assert [bounds(batch) for batch in made] == [(0, 30), (30, 90), (90, 400), (400, 401)]
    assert list(split(b"".join(made) + made[0][:-1])) == made


def test_batches_lose_their_producer_and_take_the_offsets_that_the_broker_gave() -> None:
    frame = bytearray(b"xx" + next(built([record(0), record(1), record(2)])) + next(built([record(0)])))
    struct.pack_into(">qhi", frame, 2 + 43, 7, 0, 5)
    struct.pack_into(">I", frame, 2 + 17, calc_crc32c(bytes(frame[2 + 21 : 2 + bounds_of_first(frame[2:])])))

    anonymize(frame, 2, len(frame))

    assert [struct.unpack_from(">qhi", each, 43) for each in split(bytes(frame[2:]))] == [(-1, -1, -1)] * 2
    assert [each.offset for batch in based(frame[2:], 40) for each in records(batch)] == [40, 41, 42]


@pytest.mark.parametrize("at", [16, 17, 70])
def test_a_batch_that_no_reader_could_read_is_refused(at: int) -> None:
    frame = bytearray(next(built([record(0)])))
    frame[at] ^= 1

    with pytest.raises(ValueError, match="record batch"):
        anonymize(frame, 0, len(frame))


def bounds_of_first(data: bytes | bytearray) -> int:
    return len(next(split(bytes(data))))


def test_batches_of_two_producers_that_come_in_another_order_are_read_in_the_order_of_their_offsets(
    settings: Settings,
) -> None:
    journal(settings, (SKILLS, [record(1)]), (SKILLS, [record(0)])).finish()

    log = read(settings)

    assert log is not None
    assert (offsets(log, SKILLS), log.ends) == ([0, 1], {SKILLS: 2})


def test_the_last_batch_for_a_broker_has_no_gap() -> None:
    with pytest.raises(ValueError, match="offset 7"):
        list(built([record(7)]))


def test_a_journal_comes_back_as_it_was(settings: Settings) -> None:
    segment = journal(settings, (SKILLS, [record(0), record(1)]), (SELECTIONS, [selected(3, "ann")]))
    segment.commits({SELECTIONS: 3})
    segment.finish()

    log = read(settings)

    assert log is not None
    assert log.records == {SKILLS: [record(0), record(1)], SELECTIONS: [selected(3, "ann")]}
    assert (log.commits, log.ends) == ({SELECTIONS: 3}, {SKILLS: 2, SELECTIONS: 4})


@pytest.mark.parametrize("lost", [1, 20, 90])
def test_a_torn_end_counts_as_never_written(settings: Settings, lost: int) -> None:
    segment = journal(settings, (SKILLS, [record(0)]))
    segment.batch(SELECTIONS, next(built([record(0, value="torn")])))
    segment.finish()
    whole = segment.path.read_bytes()
    segment.path.write_bytes(whole[:-lost])
    journal(settings, (SKILLS, [record(1)])).finish()

    log = read(settings)

    assert log is not None
    assert log.records == {SKILLS: [record(0), record(1)]}


def test_a_flipped_bit_counts_as_a_torn_end(settings: Settings) -> None:
    segment = journal(settings, (SKILLS, [record(0)]), (SELECTIONS, [record(0)]))
    segment.finish()
    data = bytearray(segment.path.read_bytes())
    data[-3] ^= 1
    segment.path.write_bytes(data)

    log = read(settings)

    assert log is not None
    assert list(log.records) == [SKILLS]


def test_a_complete_segment_replaces_those_before_it_also_where_they_could_not_be_removed(settings: Settings) -> None:
    first = journal(settings, (SKILLS, [record(0), record(1)]))
    first.finish()
    old = first.path.read_bytes()
    again = Segment(settings, complete=True)
    again.batch(SKILLS, next(built([record(1)], contiguous=False)))
    assert not again.path.exists(), "it has no name before it is whole"
    again.finish()
    assert not first.path.exists()
    first.path.write_bytes(old)

    log = read(settings)

    assert log is not None
    assert offsets(log, SKILLS) == [1]


def test_a_segment_that_is_replaced_while_it_is_read_is_looked_for_anew(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal(settings, (SKILLS, [record(0)])).finish()
    listed, found = journals.segments, []

    def with_one_that_goes(folder: Path) -> list[Path]:
        found.append(folder)
        gone = [folder / "00000000.segment"] if len(found) == 1 else []
        return [*gone, *listed(folder)]

    monkeypatch.setattr(journals, "segments", with_one_that_goes)

    log = read(settings)

    assert log is not None
    assert (offsets(log, SKILLS), len(found)) == ([0], 2)


@pytest.mark.parametrize(
    ("changed", "advice"),
    [({"partitions": 8}, "SAGER_PARTITIONS=4"), ({"prefix": "x."}, "SAGER_PREFIX=sager."), ({"app_id": "y"}, "APP_ID")],
)
def test_another_deployments_journal_is_refused(settings: Settings, changed: dict[str, object], advice: str) -> None:
    journal(settings).finish()

    with pytest.raises(JournalUnusable, match=advice):
        read(settings.model_copy(update=changed))


def test_another_releases_journal_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.local.journal.VERSION", 9)
    journal(settings).finish()
    monkeypatch.undo()

    with pytest.raises(JournalUnusable, match="another release"):
        read(settings)


def test_files_are_private(settings: Settings) -> None:
    segment = journal(settings)
    segment.finish()

    assert segment.path.stat().st_mode & 0o777 == 0o600
    assert folder_of(settings).stat().st_mode & 0o777 == 0o700


def test_compaction_keeps_what_kafka_would(settings: Settings) -> None:
    old = NOW - timedelta(days=40)
    log = Log(
        records={
            SKILLS: [record(0, "a"), record(1, "b"), record(2, "a", "new"), record(3, "c"), record(4, "c", None)],
            SELECTIONS: [selected(0, "ann", old), selected(1, "ann"), selected(2, "bob", old), selected(3, "bob", old)],
        },
        commits={SELECTIONS: 2},
        ends={SKILLS: 5, SELECTIONS: 4},
    )

    rest = compacted(log, settings, NOW).log

    assert offsets(rest, SKILLS) == [1, 2]
    assert offsets(rest, SELECTIONS) == [1, 2, 3], "what no worker has done stays, however old it is"


def test_compaction_forgets_whom_a_receipt_covers_but_not_before_the_worker_has_done_it(settings: Settings) -> None:
    held = [selected(0, "ann"), selected(1, "bob"), selected(2, "ann"), selected(3, "ann", NOW + timedelta(hours=1))]
    log = Log(
        records={SELECTIONS: held, ("sager.receipts", 0): [forgotten("ann")]},
        commits={SELECTIONS: 2},
        ends={SELECTIONS: 4, ("sager.receipts", 0): 1},
    )

    first = compacted(log, settings, NOW)
    log.commits[SELECTIONS] = 4
    second = compacted(log, settings, NOW)

    assert (offsets(first.log, SELECTIONS), first.waiting) == ([1, 2, 3], 1)
    assert (offsets(second.log, SELECTIONS), second.waiting) == ([1, 3], 0)


def test_compaction_tells_whose_a_packed_record_is(settings: Settings) -> None:
    packed = [
        record(at)._replace(value=pack(encode(a_contrast(user_id=user, occurred_at=NOW, ranking_id=f"r{at}"))))
        for at, user in enumerate(("ann", "bob"))
    ]
    log = Log(
        records={CONTRASTS: packed, ("sager.receipts", 0): [forgotten("ann")]},
        commits={CONTRASTS: 2},
        ends={CONTRASTS: 2, ("sager.receipts", 0): 1},
    )

    assert offsets(compacted(log, settings, NOW).log, CONTRASTS) == [1]


def test_compaction_takes_whatever_time_or_bytes_a_record_has(settings: Settings) -> None:
    ahead = selected(0, "bob", datetime.now(UTC) + timedelta(days=3))
    held = [ahead, *(selected(at, "bob")._replace(timestamp_ms=ms) for at, ms in enumerate((-1, 0, 2**62), start=1))]
    receipts = [Record(0, 1, b"x", b"{}"), forgotten("ann")._replace(offset=1), Record(2, 1, b"y", b"\xff")]
    log = Log(
        records={SELECTIONS: held, ("sager.receipts", 0): receipts},
        commits={SELECTIONS: 4},
        ends={SELECTIONS: 4, ("sager.receipts", 0): 3},
    )

    rest = compacted(log, settings, datetime(1971, 1, 1, tzinfo=UTC)).log

    assert offsets(rest, SELECTIONS) == [0, 3], "two are too old by their timestamps"


def test_compaction_forgets_what_a_receipt_knows_by_its_id(settings: Settings) -> None:
    settings = settings.model_copy(update={"chain_key": SecretStr("a secret of the deployment, long enough")})
    again = selected(0, "ann", NOW + timedelta(hours=1))
    receipt = decode(Receipt, forgotten("ann").value or b"")
    name = known_as("ann", contrast_id("ann", "r"), settings.event_key_bytes)
    known = receipt.model_copy(update={"known": (name,)})
    log = Log(
        records={SELECTIONS: [again], ("sager.receipts", 0): [forgotten("ann")._replace(value=encode(known))]},
        commits={SELECTIONS: 1},
        ends={SELECTIONS: 1, ("sager.receipts", 0): 1},
    )

    assert offsets(compacted(log, settings, NOW).log, SELECTIONS) == []


def test_positions_stay_right_where_the_end_or_all_but_one_is_gone() -> None:
    log = Log(records={SKILLS: [record(7)], SELECTIONS: [record(2), record(4)]}, ends={SKILLS: 9, SELECTIONS: 9})

    moved, place = placed(log)

    assert (offsets(moved, SKILLS), offsets(moved, SELECTIONS)) == ([0], [2, 4])
    assert [place(SKILLS, at) for at in (3, 7, 8, 9)] == [0, 0, 1, 1]
    assert [place(SELECTIONS, at) for at in (3, 9)] == [3, 5]
    assert place(("sager.items", 0), 5) == 0


def test_one_pending_record_keeps_its_offset(settings: Settings) -> None:
    """A worker knows by offset and time whether it has done it."""
    touches = ("sager.item-touches", 0)
    log = Log(records={touches: [record(at) for at in range(5)]}, commits={touches: 4}, ends={touches: 5})

    moved, _ = placed(compacted(log, settings, NOW).log)

    assert offsets(moved, touches) == [3, 4]

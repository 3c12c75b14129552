"""Events become rows, and no bytes stop the stream."""

import json
from dataclasses import replace

import pytest

from operators.seals import sealed
from schemas import TOPICS, Action, GlobalSkill, ItemFacts, Position, SkillCommand, compound_key
from schemas.codec import BadRecord, DeadLetter, encode
from schemas.events import Contrast, RankedBy, RankRequest
from streams.kafka.packed import pack
from streams.materializer.dead_letters import dead_letter
from streams.materializer.forgetting import Barrier
from streams.materializer.records import Put
from streams.materializer.rows import PUBLIC_TOPICS, read
from streams.privacy import DEFAULT as PRIVACY
from tests.unit.materializer.materializer_builders import (
    BOOKS,
    MS,
    NOON,
    attribute,
    diff,
    interaction,
    item,
    ranking,
    raw,
    reason_of,
    receipt,
    record,
    selection,
    skill,
    slim,
)
from tests.unit.materializer.said_builders import abstention, correction, eves_log, eves_skill, rated

OF_ANN = BOOKS | {"user_id": "ann"}
RANK_REQUEST = RankRequest(event_id="q", request_id="r1", candidates=ranking().candidates, **OF_ANN)
LEFT = (ItemFacts(item_id="c"), ItemFacts(item_id="a"))
CONTRAST = Contrast(
    event_id="c", ranking_id="r1", chosen=ItemFacts(item_id="b"), chosen_rank=2, unchosen=LEFT, **OF_ANN
)
COMMAND = SkillCommand(event_id="k", action=Action.PIN, attribute_id="preference:genre:sf", actor="ann", **OF_ANN)
GLOBAL = GlobalSkill(event_id="g", users=9, attributes=(attribute(),), **BOOKS)
EVERY_EVENT = (
    *(item(), interaction(), RANK_REQUEST, ranking(), selection(), CONTRAST, rated(), correction(), abstention()),
    *(diff().model_copy(update={"stated": eves_log()[1].stated}), eves_skill(), slim(), COMMAND, GLOBAL),
)


def put_of(event, **position) -> Put:
    put = read(record(event, **position), privacy=PRIVACY)
    assert isinstance(put, Put)
    return put


def test_every_public_topic_of_the_registry_becomes_rows():
    """But commands, and turns as they were sent; receipts show the effect of requests to erase."""
    public = {t.base for t in TOPICS.values() if not t.internal}
    private = {"forget-requests", "weight-commands", "utterances", "card-commands"}
    assert {t.base for t in PUBLIC_TOPICS} == public - private


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda e: e.TOPIC)
def test_every_event_fills_every_column_of_its_table_and_of_the_long_ones(event):
    put = put_of(event, offset=7, partition=3)
    assert (put.row["kafka_offset"], put.row["kafka_partition"]) == (7, 3)
    for table, found in put.tables():
        assert found
        assert {tuple(row) for row in map(sorted, found)} == {tuple(sorted(table.names))}
        assert {tuple(row[name] for name in put.table.key) for row in found} == {put.key}


def test_a_diff_counts_its_changes_with_the_seed_first_and_keeps_the_exact_bytes():
    put = put_of(diff(1))
    names = ("seeded", "reinforced", "discovered", "weakened", "refused")
    assert [put.row[name] for name in names] == [1, 1, 1, 0, 1]
    assert put.row["document"].encode() == record(diff(1)).value
    assert [(row["seq"], row["kind"]) for row in put.children[0]] == [*enumerate(names[:3], 1)]


@pytest.mark.parametrize("key", [None, b"", b"ann", b'["ann"]', b'["ann",1]', b'"ab"', b"\xff", b'{"a":1,"b":2}'])
def test_a_tombstone_whose_key_names_no_row_is_a_bad_record(key):
    assert reason_of(raw("skills", None, key)) == "invalid"


def test_no_value_on_a_topic_that_is_not_compacted_is_a_bad_record():
    assert reason_of(raw("skill-commands", None)) == "empty"
    assert reason_of(raw("skills", b"", compound_key("ann", "books"))) == "empty"


def changed(event, **fields) -> bytes:
    return json.dumps(json.loads(record(event).value or b"") | fields).encode()


@pytest.mark.parametrize(
    "value",
    [
        b"\x00\xff\xfe",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        changed(skill(), version=2**63),
        changed(skill(), contrasts=10**400),
        changed(skill(), occurred_at="9999-12-31T23:59:59-05:00"),
        changed(skill(), schema_version=2),
        changed(skill(), user_id="\ud800"),
    ],
    ids=["binary", "null", "deep list", "deep object", "64 bits", "400 digits", "year 9999", "version", "surrogate"],
)
def test_hostile_bytes_are_a_bad_record_and_nothing_worse(value):
    assert reason_of(raw("skills", value)) in ("not-json", "invalid", "unknown-version")


@pytest.mark.parametrize("number", [b"1" * 40, b"1e999"])
def test_a_number_that_readers_of_json_lack_is_refused(number: bytes):
    value = (record(item(a="HUGE")).value or b"").replace(b'"HUGE"', number)
    with pytest.raises(ValueError, match="64 bits"):
        read(raw("items", value), privacy=PRIVACY)


def test_a_dead_letter_holds_the_original_and_has_the_same_id_each_time():
    refused = raw("skills", b"\xffgarbage", key=b"\x00k", offset=5)
    with pytest.raises(ValueError, match="not-json") as caught:
        read(refused, privacy=PRIVACY)
    letter, again = (dead_letter(refused, caught.value, "sager.", NOON) for _ in range(2))
    assert letter == again
    assert (letter.key, letter.value, letter.stage) == (b"\x00k", b"\xffgarbage", "materialize")
    assert letter.source == Position(topic="sager.skills", partition=0, offset=5, timestamp_ms=MS)
    row = read(raw("dead-letters", letter.model_dump_json().encode()), privacy=PRIVACY).row
    assert (row["key"], row["value"], row["source_offset"]) == (b"\x00k", b"\xffgarbage", 5)


def test_a_dead_letter_of_a_huge_record_fits_into_its_topic():
    refused = raw("skills", b"x" * 5_000_000, key=b"k" * 5_000_000)
    with pytest.raises(ValueError, match="not-json") as caught:
        read(refused, privacy=PRIVACY)
    letter = dead_letter(refused, caught.value, "sager.", NOON)
    size = len(letter.model_dump_json()) + len(letter.key or b"")
    assert size < TOPICS[DeadLetter.TOPIC].max_message_bytes
    assert "clipped" in letter.detail


def test_a_dead_letter_of_a_packed_record_names_whom_it_tells_of() -> None:
    """Whoever that is may have it forgotten, whatever its key."""
    text = json.dumps({"user_id": "ann", "domain": "books", "version": "none", "attributes": [], "more": "x" * 99})
    refused = replace(raw("skills", pack(text.encode())), key=b"somebody")
    assert refused.value != text.encode()
    with pytest.raises(BadRecord) as caught:
        read(refused, privacy=PRIVACY)
    letter = dead_letter(refused, caught.value, "sager.", NOON)
    assert letter.value == text.encode()
    erased = receipt("ann")
    assert Barrier([encode(erased).decode()]).covers(letter)


def test_a_ranking_with_a_forged_seal_is_a_row_of_the_apps_own() -> None:
    ours = sealed(ranking().model_copy(update={"ranked_by": RankedBy.SAGER}), b"hush")
    forged = ours.model_copy(update={"ranking_id": "r2"})

    made = [read(record(each), ranking_key=b"hush", privacy=PRIVACY) for each in (ours, forged)]

    found = [(put.row["ranked_by"], len(put.row["facets"])) for put in made if isinstance(put, Put)]
    assert found == [("sager", 1), ("app", 0)]

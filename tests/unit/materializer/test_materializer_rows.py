"""Events become rows, and no bytes stop the stream."""

import json
from dataclasses import replace

import pytest

from operators.forget import with_scope
from operators.seals import sealed
from operators.weigh import learned, start
from schemas import (
    TOPICS,
    Action,
    BadRecord,
    Change,
    ChangeKind,
    Contrast,
    DeadLetter,
    ForgetRequest,
    Forgotten,
    GlobalSkill,
    ItemFacts,
    Mix,
    Position,
    RankedBy,
    RankRequest,
    Receipt,
    Selection,
    SkillCommand,
    Tier,
    Weights,
    compound_key,
    encode,
    subject_of,
)
from streams.kafka.packed import pack
from streams.materializer.columns import COLUMNS, ITEMS
from streams.materializer.dead_letters import OWNED, dead_letter
from streams.materializer.forgetting import Barrier
from streams.materializer.records import Drop, Put
from streams.materializer.rows import PUBLIC_TOPICS, RECORD, read
from streams.materializer.schema import all_tables, table_of, tables
from streams.privacy import DEFAULT as PRIVACY
from tests.unit.materializer.materializer_builders import (
    MS,
    NOON,
    attribute,
    diff,
    interaction,
    item,
    ranking,
    raw,
    reason_of,
    record,
    rows,
    selection,
    skill,
    slim,
    tombstone,
    write,
)
from tests.unit.materializer.said_builders import abstention, correction, eves_log, eves_skill, fitted, rated
from tests.unit.weigh.weigh_builders import an_outcome

RANK_REQUEST = RankRequest(
    event_id="q", occurred_at=NOON, request_id="r1", user_id="ann", domain="books", candidates=ranking().candidates
)
CONTRAST = Contrast(
    event_id="c",
    occurred_at=NOON,
    user_id="ann",
    domain="books",
    ranking_id="r1",
    chosen=ItemFacts(item_id="b"),
    chosen_rank=2,
    unchosen=(ItemFacts(item_id="c"), ItemFacts(item_id="a")),
)
COMMAND = SkillCommand(
    event_id="k",
    occurred_at=NOON,
    user_id="ann",
    domain="books",
    action=Action.PIN,
    attribute_id="preference:genre:sf",
    actor="ann",
)
GLOBAL = GlobalSkill(event_id="g", occurred_at=NOON, domain="books", users=9, attributes=(attribute(),))
EVERY_EVENT = (
    item(),
    interaction(),
    RANK_REQUEST,
    ranking(),
    selection(),
    CONTRAST,
    rated(),
    correction(),
    abstention(),
    diff().model_copy(update={"stated": eves_log()[1].stated}),
    eves_skill(),
    slim(),
    COMMAND,
    GLOBAL,
)


def put_of(event, **position) -> Put:
    put = read(record(event, **position), privacy=PRIVACY)
    assert isinstance(put, Put)
    return put


def test_every_public_topic_of_the_registry_becomes_rows():
    """But commands, and turns as they were sent; receipts show the effect of requests to erase."""
    public = {t.base for t in TOPICS.values() if not t.internal}
    assert {t.base for t in PUBLIC_TOPICS} == public - {
        "forget-requests",
        "weight-commands",
        "utterances",
        "card-commands",
    }


def test_every_column_is_a_field_of_its_model_or_declared():
    for topic in PUBLIC_TOPICS:
        table = table_of(topic)
        given = {*RECORD, *COLUMNS.get(table.name, {})}
        assert set(table.names) - given <= set(topic.model.model_fields), table.name
    for name, columns in COLUMNS.items():
        assert set(columns) <= set(all_tables()[name].names), f"{name} declares a column that it has not"
    assert set(ITEMS) == {child.name for table in tables() for child in table.children}


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
    assert [(row["seq"], row["kind"]) for row in put.children[0]] == [
        (1, "seeded"),
        (2, "reinforced"),
        (3, "discovered"),
    ]


def test_changes_and_lines_have_their_counts_in_choices():
    noir = attribute("noir").model_copy(update={"taken": 1536, "expected": 512, "gained": -2048})
    asked = Change(kind=ChangeKind.SET, attribute_id=noir.attribute_id, before=Tier.LOW, counts=(2048, 0))
    put = put_of(diff(1).model_copy(update={"seed": (noir,), "changes": (*diff(1).changes, asked)}))
    assert [(row["kind"], row["taken"], row["expected"]) for row in put.children[0]] == [
        ("seeded", 1.5, 0.5), ("reinforced", 1.0, 0.25), ("discovered", 0.0, 0.0), ("set", 2.0, 0.0)
    ]  # fmt: skip
    assert [(row["attribute_id"], row["places"]) for row in put.children[2]] == [("preference:genre:sf", 0.0625)]
    lines = put_of(skill().model_copy(update={"attributes": (noir,)})).children[0]
    assert [(row["taken"], row["expected"], row["gained"]) for row in lines] == [(1.5, 0.5, -2.0)]
    without = put_of(diff(2).model_copy(update={"tally": None}))
    assert [(row["kind"], row["taken"]) for row in without.children[0]] == [("reinforced", None), ("discovered", 0.0)]
    assert without.children[2] == []


def test_a_skill_counts_its_tiers():
    row = put_of(skill(values=("sf", "noir", "crime"))).row
    assert (row["attributes"], row["high"], row["medium"], row["low"], row["silent"]) == (3, 1, 0, 2, 0)


def test_a_contrast_and_a_selection_have_all_that_was_taken_in_order():
    several = {"others": ("c",), "in_order": True, "session_id": "s1"}
    none = Selection(event_id="s", occurred_at=NOON, user_id="ann", ranking_id="r", none_taken=True)
    names = ("item_id", "others", "in_order", "none_taken", "session_id")
    found = [put_of(each).row for each in (selection().model_copy(update=several), none)]
    assert [[row[name] for name in names] for row in found] == [
        ["b", ["c"], True, False, "s1"],
        [None, [], False, True, None],
    ]
    row = put_of(CONTRAST.model_copy(update={"also": CONTRAST.unchosen[:1]})).row
    assert (row["chosen_item_id"], row["chosen_rank"], row["unchosen_item_ids"]) == ("b", 2, ["c", "a"])
    assert row["also_item_ids"] == ["c"]


def test_a_ranking_has_its_fit_and_its_question():
    row = put_of(fitted()).row
    names = ("chances", "nothing", "suits", "question_id", "question_dimension", "question", "session_id")
    assert [row[name] for name in names] == [
        [0.75, 0.02], 0.25, True, "q1", "genre", "Do you prefer horror or noir?", "s1"
    ]  # fmt: skip


def weighed(choices: int) -> Weights:
    choice = an_outcome({Mix.SKILL: (1_500, 900)}, genre=(900, 500))
    weights = start("films", choice)
    for _ in range(choices):
        weights = learned(weights, choice)
    return weights


def test_the_newest_weights_of_a_domain_are_kept_with_a_row_per_part_and_dimension(store):
    write(store, weighed(1), weighed(5))
    assert rows(store, "SELECT domain, choices, frozen FROM weights") == [("films", 5, False)]
    found = rows(store, "SELECT part, name, round(weight, 3), round(spread, 3) FROM learned_weights ORDER BY 1")
    genre, mixed = weighed(5).dimensions["genre"], weighed(5).mix[Mix.SKILL]
    assert found == [
        (part, name, round(each.weight / 2**20, 3), round((1024 / each.precision) ** 0.5, 3))
        for part, name, each in (("dimension", "genre", genre), ("mix", "skill", mixed))
    ]


def test_a_tombstone_drops_the_row_of_its_key():
    assert read(tombstone(skill()), privacy=PRIVACY) == Drop(all_tables()["skills"], ("ann", "books"))
    assert read(tombstone(item()), privacy=PRIVACY) == Drop(all_tables()["items"], ("dune",))


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


def test_the_materializer_owns_the_topics_that_no_agent_reads():
    of_people = {"items", "global-skills", "slim-skills", "skill-diffs", "skills", "card-diffs", "cards"}
    assert set(OWNED) == of_people | {"receipts", "weights"}


def test_a_dead_letter_of_a_packed_record_names_whom_it_tells_of() -> None:
    """Whoever that is may have it forgotten, whatever its key."""
    text = json.dumps({"user_id": "ann", "domain": "books", "version": "none", "attributes": [], "more": "x" * 99})
    refused = replace(raw("skills", pack(text.encode())), key=b"somebody")
    assert refused.value != text.encode()
    with pytest.raises(BadRecord) as caught:
        read(refused, privacy=PRIVACY)
    letter = dead_letter(refused, caught.value, "sager.", NOON)
    assert letter.value == text.encode()
    request = ForgetRequest(event_id="r", occurred_at=NOON, user_id="ann", actor="advocate")
    empty = Receipt(event_id="r", occurred_at=NOON, subject=subject_of("ann"))
    receipt = with_scope(empty, request, Forgotten(event_id="r", until=NOON, actor="advocate", done=True))
    assert Barrier([encode(receipt).decode()]).covers(letter)


def test_a_ranking_with_a_forged_seal_is_a_row_of_the_apps_own() -> None:
    ours = sealed(ranking().model_copy(update={"ranked_by": RankedBy.SAGER}), b"hush")
    forged = ours.model_copy(update={"ranking_id": "r2"})

    made = [read(record(each), ranking_key=b"hush", privacy=PRIVACY) for each in (ours, forged)]

    assert [
        (put.row["ranked_by"], put.row["model"], len(put.row["facets"])) for put in made if isinstance(put, Put)
    ] == [
        ("sager", None, 1),
        ("app", None, 0),
    ]

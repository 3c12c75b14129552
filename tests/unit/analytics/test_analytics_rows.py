"""Events become rows, and no bytes stop the stream."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from operators.cards.fold import fold_cards
from operators.learning.commands import resolve_command
from operators.seals import seal_record
from schemas import BadRecord, Card, CardDiff, Contrast, DeadLetter, ItemFacts, Position, RankedBy, RankRequest, encode
from schemas.base import Provenance
from schemas.commands import Action, Receipt, SkillCommand, SkillLineInput
from schemas.skills import GlobalSkill, Persona, PersonaName
from schemas.topics import TOPICS, compound_key
from streams.analytics.erasure import ErasureFilter
from streams.analytics.records import ChangeSet, Put
from streams.analytics.rows import PUBLIC_TOPICS, read
from streams.analytics.run import dead_letter
from streams.analytics.store import DuckDBStore
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.analytics_talks import talks
from tests.builders import a_skill
from tests.shared_files import empty_store
from tests.unit.analytics.analytics_builders import (
    BOOKS,
    MS,
    NOON,
    abstention,
    attribute,
    batch_of,
    correction,
    diff,
    eves_log,
    eves_skill,
    interaction,
    item,
    ranking,
    rated,
    raw,
    reason_of,
    receipt,
    record,
    rows,
    selection,
    slim,
    write,
)

OF_ANN = BOOKS | {"user_id": "ann"}
RANK_REQUEST = RankRequest(event_id="q", request_id="r1", candidates=ranking().candidates, **OF_ANN)
LEFT = (ItemFacts(item_id="c"), ItemFacts(item_id="a"))
CONTRAST = Contrast(
    event_id="c", ranking_id="r1", chosen=ItemFacts(item_id="b"), chosen_rank=2, unchosen=LEFT, **OF_ANN
)
COMMAND = SkillCommand(event_id="k", action=Action.PIN, attribute_id="preference:genre:sf", actor="ann", **OF_ANN)
LIGHT = Persona(name=PersonaName.LIGHT, users=6, share=0.6667, strategy="guided discovery")
GLOBAL = GlobalSkill(event_id="g", users=9, attributes=(attribute(),), personas=(LIGHT,), **BOOKS)
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


def test_a_models_selection_of_slim_lines_is_a_call_of_its_own(tmp_path):
    by = Provenance(reasoner="llm", model="m", prompt="slim.v1", calls=1, prompt_tokens=7)
    with empty_store(tmp_path / "s.duckdb") as store:
        write(store, diff(1).model_copy(update={"slim_by": by}), diff(2))
        found = rows(store, "SELECT part, model, prompt, calls, prompt_tokens, event_id FROM llm_calls")
    assert found == [("slim", "m", "slim.v1", 1, 7, "c1")]


@pytest.mark.parametrize("key", [None, b"", b"ann", b'["ann"]', b'["ann",1]', b'"ab"', b"\xff", b'{"a":1,"b":2}'])
def test_a_tombstone_whose_key_names_no_row_is_a_bad_record(key):
    assert reason_of(raw("skills", None, key)) == "invalid"


def test_no_value_on_a_topic_that_is_not_compacted_is_a_bad_record():
    assert reason_of(raw("skill-commands", None)) == "empty"
    assert reason_of(raw("skills", b"", compound_key("ann", "books"))) == "empty"


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


def test_a_dead_letter_of_a_skill_names_its_user() -> None:
    """Whoever that is may have it forgotten, whatever its key."""
    text = json.dumps({"user_id": "ann", "domain": "books", "version": "none", "attributes": [], "more": "x" * 99})
    refused = replace(raw("skills", text.encode()), key=b"somebody")
    with pytest.raises(BadRecord) as caught:
        read(refused, privacy=PRIVACY)
    letter = dead_letter(refused, caught.value, "sager.", NOON)
    assert letter.value == text.encode()
    erased = receipt("ann")
    assert ErasureFilter([encode(erased).decode()]).covers(letter)


def test_a_ranking_with_a_forged_seal_is_a_row_of_the_apps_own() -> None:
    ours = seal_record(ranking().model_copy(update={"ranked_by": RankedBy.SAGER}), b"hush")
    forged = ours.model_copy(update={"ranking_id": "r2"})

    made = [read(record(each), ranking_key=b"hush", privacy=PRIVACY) for each in (ours, forged)]

    found = [(put.row["ranked_by"], len(put.row["facets"])) for put in made if isinstance(put, Put)]
    assert found == [("sager", 1), ("app", 0)]


PEOPLE = ("ann", "bob", "cem")


def log_of(user: str) -> list[CardDiff]:
    return [diff for diff, _ in talks(PEOPLE, NOON) if diff.user_id == user]


def card_of(user: str) -> Card:
    return fold_cards(log_of(user))[user]


def naive(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=None)


LINES = (
    "place, line_id, stance, dimension, value, domain, words, weight, since, confirmed_at, times, evidence, is_past, "
    "overtaken_by, overtaken_at"
)


def as_rows(card: Card) -> list[tuple[Any, ...]]:
    return [
        (
            place, line.line_id, line.stance.value, line.dimension, line.value, line.domain, line.words,
            line.weight / 1024, naive(line.since), naive(line.confirmed_at), line.times, list(line.evidence),
            line in card.past, line.overtaken_by, naive(line.overtaken_at),
        )
        for place, line in enumerate((*card.lines, *card.past), start=1)
    ]  # fmt: skip


@pytest.mark.parametrize("user", PEOPLE)
def test_card_lines_are_the_fold_of_the_log_and_name_their_successors(store: DuckDBStore, user: str) -> None:
    card = card_of(user)
    write(store, card, *log_of(user))

    assert rows(store, f"SELECT {LINES} FROM card_lines ORDER BY place") == as_rows(card)
    assert rows(store, "SELECT version, lines, past FROM cards") == [(card.version, len(card.lines), len(card.past))]
    [(document,)] = rows(store, "SELECT document FROM cards")
    assert document.encode() == encode(card)


def test_personas_are_rows(store: DuckDBStore) -> None:
    write(store, GLOBAL)
    assert rows(store, "FROM personas") == [("books", "light", 6, 0.6667, None, "guided discovery", "rules")]


def test_a_version_rewritten_by_an_erasure_replaces_the_first(store: DuckDBStore) -> None:
    first = log_of("cem")[0]
    kept = [change for change in first.changes if "quiet" not in change.line_id]
    write(store, first)
    write(store, first.model_copy(update={"changes": tuple(kept)}))

    assert rows(store, "SELECT line_id FROM card_changes") == [(kept[0].line_id,)]
    assert rows(store, "SELECT changes, document LIKE '%quiet%' FROM card_diffs") == [(1, False)]


def erased(user: str, **scope: Any) -> Receipt:
    return receipt(user, log_of(user)[-1].occurred_at, **scope)


@pytest.mark.parametrize("first", ["rows", "receipt"])
def test_an_erasure_removes_the_whole_card(store: DuckDBStore, first: str) -> None:
    events = [*log_of("ann"), card_of("ann")]
    if first == "rows":
        write(store, *events)
        store.write(ChangeSet(), {}, [erased("ann")])
    else:
        barrier = ErasureFilter([encode(erased("ann")).decode()])
        assert [read(record(event), barrier=barrier, privacy=PRIVACY) for event in events] == [None] * len(events)

    for table in ("cards", "card_lines", "card_diffs", "card_changes", "card_receipts"):
        assert rows(store, f"FROM {table}") == [], table


def test_a_forgotten_domain_leaves_the_rest_of_a_card_to_the_worker(store: DuckDBStore) -> None:
    """It writes card and log anew; a card is across domains."""
    write(store, card_of("ann"), *log_of("ann"))
    store.write(ChangeSet(), {}, [erased("ann", domain="books")])

    assert rows(store, "SELECT count(*) FROM card_lines") == [(len(card_of("ann").lines) + len(card_of("ann").past),)]


PHONE, DIGITS = "call +49 151 23456789", b"23456789"
REFUSED: list[dict[str, Any]] = [
    {"action": Action.ADD, "line": SkillLineInput(dimension="contact", value=PHONE)},
    {
        "action": Action.ADD,
        "line": SkillLineInput(dimension="ring 23456789 or +49 151 23456789", value="in the evening"),
    },
    {"action": Action.REWORD, "attribute_id": "preference:genre:noir", "value": PHONE},
    {"action": Action.PIN, "attribute_id": "preference:contact:+49-151-23456789"},
    {"action": Action.FREEZE, "reason": PHONE},
]
PUBLISHED = NOON.replace(tzinfo=None)


def command(number: int, about: dict[str, Any]) -> SkillCommand:
    return SkillCommand(
        event_id=f"command-{number}", occurred_at=NOON, user_id="ann", domain="films", actor="ann", **about
    )


def values(store: DuckDBStore) -> list[Any]:
    return store._db.execute("SELECT attribute_id, value FROM skill_commands ORDER BY event_id").fetchall()


@pytest.mark.parametrize("about", REFUSED, ids=lambda about: about["action"])
def test_a_refused_value_is_in_no_byte_of_the_file(tmp_path, about):
    said = command(1, about)
    assert DIGITS in encode(said)
    diff = resolve_command(a_skill(user_id="ann", domain="films"), said, privacy=PRIVACY, gate=OUTPUT_GATE)

    with empty_store(tmp_path / "live.duckdb") as store:
        store.write(batch_of(said, diff), {})
        store.checkpoint(PUBLISHED, None)
        [(_, value)] = values(store)
        refusals = store._db.execute("SELECT attribute_id, why FROM skill_refusals").fetchall()
    assert DIGITS not in encode(diff)
    assert DIGITS not in (tmp_path / "live.duckdb").read_bytes()
    if about["action"] is not Action.FREEZE:
        assert refusals == [("private:phone", "private")], "reason and kind are kept"
    if "value" in about or "line" in about:
        assert value in ("private:phone", "in the evening")

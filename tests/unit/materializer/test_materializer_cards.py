"""Cards in DuckDB: as the log folds, without what is forgotten, and without a turn as it was said."""

from datetime import datetime
from typing import Any

import pytest

from operators.cards.fold import fold
from schemas import Card, CardDiff, Receipt, encode
from streams.materializer.forgetting import Barrier
from streams.materializer.records import Batch
from streams.materializer.rows import read
from streams.materializer.store import Store
from streams.privacy import DEFAULT as PRIVACY
from tests.analytics_talks import talks
from tests.unit.materializer.materializer_builders import NOON, receipt, record, rows, write

PEOPLE = ("ann", "bob", "cem")


def log_of(user: str) -> list[CardDiff]:
    return [diff for diff, _ in talks(PEOPLE, NOON) if diff.user_id == user]


def card_of(user: str) -> Card:
    return fold(log_of(user))[user]


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
def test_the_lines_of_a_card_are_the_fold_of_its_log_and_what_was_overtaken_names_its_successor(
    store: Store, user: str
) -> None:
    card = card_of(user)
    write(store, card, *log_of(user))

    assert rows(store, f"SELECT {LINES} FROM card_lines ORDER BY place") == as_rows(card)
    assert rows(store, "SELECT version, lines, past FROM cards") == [(card.version, len(card.lines), len(card.past))]
    [(document,)] = rows(store, "SELECT document FROM cards")
    assert document.encode() == encode(card)


def test_a_version_that_was_written_anew_to_forget_a_line_takes_the_place_of_the_first(store: Store) -> None:
    first = log_of("cem")[0]
    kept = [change for change in first.changes if "quiet" not in change.line_id]
    write(store, first)
    write(store, first.model_copy(update={"changes": tuple(kept)}))

    assert rows(store, "SELECT line_id FROM card_changes") == [(kept[0].line_id,)]
    assert rows(store, "SELECT changes, document LIKE '%quiet%' FROM card_diffs") == [(1, False)]


def erased(user: str, **scope: Any) -> Receipt:
    return receipt(user, log_of(user)[-1].occurred_at, **scope)


@pytest.mark.parametrize("first", ["rows", "receipt"])
def test_nothing_is_left_of_the_card_of_who_is_forgotten(store: Store, first: str) -> None:
    events = [*log_of("ann"), card_of("ann")]
    if first == "rows":
        write(store, *events)
        store.write(Batch(), {}, [erased("ann")])
    else:
        barrier = Barrier([encode(erased("ann")).decode()])
        assert [read(record(event), barrier=barrier, privacy=PRIVACY) for event in events] == [None] * len(events)

    for table in ("cards", "card_lines", "card_diffs", "card_changes", "card_receipts"):
        assert rows(store, f"FROM {table}") == [], table


def test_a_forgotten_domain_leaves_the_rest_of_a_card_to_the_worker(store: Store) -> None:
    """It writes card and log anew; a card is across domains."""
    write(store, card_of("ann"), *log_of("ann"))
    store.write(Batch(), {}, [erased("ann", domain="books")])

    assert rows(store, "SELECT count(*) FROM card_lines") == [(len(card_of("ann").lines) + len(card_of("ann").past),)]

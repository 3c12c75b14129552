"""What an item knows of a taker is what it has heard so far, not only what the last touch told."""

from datetime import UTC, datetime, timedelta

from operators.propagate import GraphLimits, on_touch, takers_of, touches, with_taken
from schemas import MAX_NEWEST, MAX_OTHERS, ItemFacts, ItemMemory, Memory


def after(choices: int) -> dict[str, ItemMemory]:
    """The items after somebody took so many, one after another."""
    memory: Memory | None = None
    items: dict[str, ItemMemory] = {}
    for place in range(choices):
        item_id = f"i{place:03}"
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=place)
        memory = with_taken(memory, "ann", "films", ItemFacts(item_id=item_id), at, f"event-{place}")
        for name, taker in takers_of(touches(memory, item_id, GraphLimits())):
            items[name] = on_touch(items.get(name), "films", name, taker) or items[name]
    return items


def test_what_was_taken_next_to_an_item_stays_known_when_it_hears_of_later_choices() -> None:
    [taker] = after(80)["i040"].takers

    # Told of at its own choice, and 1, 2, 4, 8 and 16 choices later, each time with the newest ones.
    near = {f"i{place:03}" for place in range(40 - 12, 40 + 17)} - {"i040"}
    assert near <= set(taker.others)
    assert len(taker.others) <= MAX_OTHERS


def test_the_newest_hearing_comes_first_and_only_as_much_stays_as_there_is_room_for() -> None:
    [taker] = after(60)["i040"].takers

    assert taker.others[:MAX_NEWEST] == tuple(f"i{place:03}" for place in range(56, 56 - MAX_NEWEST, -1))
    assert len(set(taker.others)) == len(taker.others)


def test_a_touch_that_comes_again_changes_nothing() -> None:
    memory = with_taken(None, "ann", "films", ItemFacts(item_id="a"), datetime(2026, 1, 1, tzinfo=UTC), "e1")
    memory = with_taken(memory, "ann", "films", ItemFacts(item_id="b"), datetime(2026, 1, 2, tzinfo=UTC), "e2")
    [(_, taker), *_] = takers_of(touches(memory, "b"))
    item = on_touch(None, "films", "b", taker)

    assert item is not None
    assert on_touch(item, "films", "b", taker) is None

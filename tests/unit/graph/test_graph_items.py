"""A choice through the user-item graph: memory, touches, items, what these tell a reader (paper 2.2)."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.graph.facets import retrieve
from operators.graph.items import (
    GraphLimits,
    add_taken,
    add_touch,
    neighbour_of,
    split_by_partition,
    takers_of,
    touch_items,
)
from operators.graph.neighbours import ItemSummary, account_weights, neighbourhood_of
from schemas import Fact, ItemFacts, Position, decode, encode
from schemas.state import MAX_TAKEN, MAX_TAKERS, ItemMemory, Memory, Taker, epoch_of
from streams.policies import DEFAULT_GATE as OUTPUT_GATE

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)
PAIR = GraphLimits(floor=2)


def item(name: str, *genres: str) -> ItemFacts:
    return ItemFacts(item_id=name, title=name.title(), facts=tuple(Fact(dimension="genre", value=g) for g in genres))


def memory_of(user: str, *names: str) -> Memory:
    memory = None
    for number, name in enumerate(names):
        memory = add_taken(memory, user, "books", item(name, "noir"), START + number * DAY, f"{user}-{number}")
    assert memory is not None
    return memory


def of(item_id: str, memory: Memory) -> tuple[str, str, Taker]:
    return memory.domain, item_id, dict(takers_of(touch_items(memory, item_id)))[item_id]


def gathered(*memories: Memory, item_id: str) -> ItemMemory:
    known = None
    for memory in memories:
        known = add_touch(known, *of(item_id, memory))
        assert known is not None
    assert known is not None
    return known


CHOICES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 12)), min_size=1, max_size=60)
"""Who takes what."""


def made_of(choices: list[tuple[int, int]]) -> list[Taker]:
    """What one item hears of these choices, all of which take it too: more than it has room for."""
    memories: dict[str, Memory] = {}
    heard = []
    for number, (user, other) in enumerate(choices):
        name = f"u{user}-{other}" if other > 6 else f"u{user}"
        memory = memories.get(name)
        for place, taken in enumerate((f"i{other}", "dune")):
            at = START + timedelta(hours=number)
            memory = add_taken(memory, name, "books", item(taken, "noir"), at, f"{number}-{place}")
        assert memory is not None
        memories[name] = memory
        heard.append(of("dune", memory)[2])
    return heard


def owned(known: ItemMemory | None, heard: list[Taker]) -> ItemMemory | None:
    for taker in heard:
        known = add_touch(known, "books", "dune", taker) or known
    return known


class TestMemory:
    def test_active_days_use_kafkas_time(self) -> None:
        memory = None
        for number in range(8):
            logged_at = START + (number // 4) * DAY + timedelta(minutes=number)
            source = Position(topic="t", partition=0, offset=number, timestamp_ms=int(logged_at.timestamp() * 1_000))
            claimed = logged_at - 100 * number * DAY
            memory = add_taken(memory, "ann", "books", item(f"i{number}"), claimed, f"e{number}", source)

        assert memory is not None
        assert memory.days == 2

    def test_repeated_event_only_moves_the_fence(self) -> None:
        memory = memory_of("ann", "dune")
        position = Position(topic="t", partition=0, offset=9, timestamp_ms=1)

        again = add_taken(memory, "ann", "books", item("dune"), START, "ann-0", position)

        assert again == memory.model_copy(update={"applied": (position,)})

    @given(st.lists(st.integers(0, 60), min_size=1, max_size=80))
    def test_memory_is_bounded(self, numbers: list[int]) -> None:
        memory = memory_of("ann", *(f"item-{number}" for number in numbers))

        assert len(memory.taken) == min(MAX_TAKEN, len({*numbers}))
        assert memory.interactions == len(numbers)
        assert len(encode(memory)) < 16_384


class TestTouches:
    def test_touch_contains_no_user_id(self) -> None:
        touch = touch_items(memory_of("ann@example.org", "dune"), "dune", GraphLimits(secret=b"secret"))

        assert "@" not in encode(touch).decode()
        assert touch.taker == neighbour_of("ann@example.org", b"secret")

    def test_touch_is_split_by_partition_without_loss(self) -> None:
        touch = touch_items(memory_of("ann", *(f"i{n}" for n in range(20))), "i3")

        parts = split_by_partition(touch, lambda name: int(name[1:]) % 3)

        heard = [(each, part.newest) for part in parts.values() for each in part.items]
        assert sorted(heard, key=str) == sorted(((each, touch.newest) for each in touch.items), key=str)
        assert all(int(each.item_id[1:]) % 3 == p for p, part in parts.items() for each in part.items)

    def test_a_choice_reaches_older_items_at_growing_distances(self) -> None:
        touch = touch_items(memory_of("ann", *(f"i{n}" for n in range(20))), "i19", GraphLimits(fan_out=4))

        assert [each.item_id for each in touch.items] == ["i19", "i18", "i17", "i15", "i11"]

    def test_repeated_and_older_touches_change_nothing(self) -> None:
        old, new = memory_of("ann", "dune"), memory_of("ann", "dune", "emma")
        known = gathered(new, item_id="dune")

        assert add_touch(known, *of("dune", new)) is None
        assert add_touch(known, *of("dune", old)) is None

    @given(CHOICES, st.randoms(use_true_random=False), st.integers(0, 200))
    def test_item_state_is_independent_of_order_and_repeats(
        self, choices: list[tuple[int, int]], rng: Random, cut: int
    ) -> None:
        """The second owner starts from anything that the first has written, and is given again what was not acked."""
        told = made_of(choices)
        in_order = owned(None, told)
        first = list(told)
        rng.shuffle(first)
        written = owned(None, first[:cut])
        again = [*first[max(0, cut - rng.randrange(6)) :], *rng.choices(first, k=5)]
        rng.shuffle(again)

        after = owned(written, again)

        assert after is not None
        assert in_order is not None
        assert after.takers == in_order.takers


class TestSignals:
    def test_companions_and_tastes_need_the_floor(self) -> None:
        known = gathered(
            memory_of("bea", "emma", "dune"),
            memory_of("cas", "emma", "dune"),
            memory_of("dan", "solo", "dune"),
            item_id="dune",
        )

        signal = ItemSummary(known, PAIR).signal_for(neighbour_of("ann"))

        assert signal is not None
        assert signal.companions == {"emma": 2}
        assert [(taste.attribute_id, taste.supporters) for taste in signal.tastes] == [("preference:genre:noir", 3)]

    def test_takers_are_shown_with_days_only(self) -> None:
        late = add_taken(memory_of("bea", "dune"), "bea", "books", item("dune"), START + timedelta(hours=7), "x")
        known = gathered(late, memory_of("cas", "dune"), item_id="dune")

        signal = ItemSummary(known, PAIR).signal_for(neighbour_of("ann"))

        assert signal is not None
        assert {one.at for one in signal.crowd} == {START}

    @given(CHOICES, st.integers(1, 4), st.integers(0, 11))
    def test_every_signal_has_the_floor_without_the_reader(
        self, choices: list[tuple[int, int]], floor: int, reader: int
    ) -> None:
        known = owned(None, made_of(choices))
        assert known is not None
        name = neighbour_of(f"u{reader}")
        others = [taker for taker in known.takers if taker.neighbour != name]

        signal = ItemSummary(known, GraphLimits(floor=floor)).signal_for(name)

        if signal is None:
            assert len(others) < floor
            return
        assert signal.takers == len(others) >= floor
        everything = {other for taker in others for other in taker.others}
        counts = {other: sum(other in taker.others for taker in others) for other in everything}
        assert set(signal.companions) == {other for other, count in counts.items() if count >= floor}
        assert all(0 < weight <= signal.effective + 1e-9 for weight in signal.companions.values())
        for taste in signal.tastes:
            assert taste.supporters == sum(taste.attribute_id in taker.tastes for taker in others) >= floor
            assert name not in taste.neighbours
        assert name not in {one.neighbour for one in signal.crowd}


@given(CHOICES)
def test_item_memory_round_trips(choices: list[tuple[int, int]]) -> None:
    known = owned(None, made_of(choices))
    assert known is not None
    raw = encode(known)

    assert decode(ItemMemory, raw) == known
    assert epoch_of(raw) == known.epoch
    for number in range(12):
        name = neighbour_of(f"u{number}")
        assert (name.encode() in raw) is any(taker.neighbour == name for taker in known.takers)


def account(name: str, days: int, *items: str) -> Memory:
    """An account that took these items on so many days, `dune` last."""
    memory = None
    for number, each in enumerate((*items, "dune")):
        at = START + (number % days) * DAY
        memory = add_taken(memory, name, "books", item(each, "noir"), at, f"{name}-{number}")
    assert memory is not None
    return memory


REAL = [
    account(f"real-{n}", 6, *(f"own-{n}-{k}" for k in range(6)), "emma" if n % 2 else "gormenghast") for n in range(20)
]


def knowing(*accounts: Memory) -> ItemMemory:
    """The memory of `dune` after these accounts took it, in this order."""
    known = None
    for each in accounts:
        known = add_touch(known, *of("dune", each)) or known
    assert known is not None
    return known


class TestManyAccountsOfOnePerson:
    def test_forty_new_accounts_do_not_displace_twenty_real_takers(self) -> None:
        known = knowing(*REAL, *(account(f"sybil-{n}", 1, "spam") for n in range(40)))

        real = {neighbour_of(memory.user_id) for memory in REAL}
        assert len(known.takers) == MAX_TAKERS
        assert len(real & {taker.neighbour for taker in known.takers}) >= 14

    def test_sixteen_new_accounts_do_not_outrank_twenty_real_takers(self) -> None:
        known = knowing(*REAL, *(account(f"sybil-{n}", 1, "spam") for n in range(16)))
        reader = account("ann", 6, "solo")

        heard = neighbourhood_of([ItemSummary(known, PAIR)], neighbour_of("ann"))
        found = retrieve(
            reader,
            heard,
            "books",
            START + 9 * DAY,
            popularity={"emma": 60, "gormenghast": 60, "spam": 16},
            gate=OUTPUT_GATE,
        )

        assert found.companions["spam"] < min(found.companions[name] for name in ("emma", "gormenghast"))
        [signal] = heard.signals
        assert {one.neighbour for one in signal.crowd} <= {neighbour_of(memory.user_id) for memory in REAL}

    def test_account_that_takes_everything_weighs_less(self) -> None:
        eager = replace(dict(takers_of(touch_items(REAL[0], "dune")))["dune"], version=6_400)
        usual = dict(takers_of(touch_items(REAL[1], "dune")))["dune"]

        weights = account_weights([eager, usual])

        assert weights[eager.neighbour] == pytest.approx(weights[usual.neighbour] / 100)

"""A choice through the user-item graph: memory, touches, what items tell, what users hear (paper 2.2)."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from operators.propagate import (
    GraphLimits,
    hear,
    neighbour_of,
    on_touch,
    signal_to,
    tastes,
    touches,
    with_taken,
)
from schemas import MAX_SIGNALS, MAX_TAKEN, MAX_TAKERS, Fact, ItemFacts, ItemMemory, Memory, Position, encode

DAY = timedelta(days=1)
START = datetime(2026, 3, 1, tzinfo=UTC)
PAIR = GraphLimits(floor=2)


def item(name: str, *genres: str) -> ItemFacts:
    return ItemFacts(item_id=name, title=name.title(), facts=tuple(Fact(dimension="genre", value=g) for g in genres))


def memory_of(user: str, *names: str) -> Memory:
    memory = None
    for number, name in enumerate(names):
        memory = with_taken(memory, user, "books", item(name, "noir"), START + number * DAY, f"{user}-{number}")
    assert memory is not None
    return memory


def gathered(*memories: Memory, item_id: str, limits: GraphLimits = PAIR) -> ItemMemory:
    known = None
    for memory in memories:
        told = on_touch(known, touches(memory, item_id, limits)[0], limits)
        assert told is not None
        known = told.item
    assert known is not None
    return known


class TestMemory:
    def test_an_item_taken_again_counts_and_moves_to_the_newest_place(self) -> None:
        memory = memory_of("ann", "dune", "emma", "dune")

        assert [(taken.item_id, taken.times) for taken in memory.taken] == [("emma", 1), ("dune", 2)]
        assert (memory.version, memory.interactions) == (3, 3)

    def test_a_late_event_keeps_its_own_place_in_time(self) -> None:
        memory = memory_of("ann", "dune", "emma")

        late = with_taken(memory, "ann", "books", item("gormenghast"), START - DAY, "late")

        assert [taken.item_id for taken in late.taken] == ["gormenghast", "dune", "emma"]

    def test_a_repeated_event_moves_the_fence_and_nothing_else(self) -> None:
        memory = memory_of("ann", "dune")
        position = Position(topic="t", partition=0, offset=9, timestamp_ms=1)

        again = with_taken(memory, "ann", "books", item("dune"), START, "ann-0", position)

        assert again == memory.model_copy(update={"applied": (position,)})

    @given(st.lists(st.integers(0, 60), min_size=1, max_size=80))
    def test_it_is_bounded_whatever_is_taken(self, numbers: list[int]) -> None:
        memory = memory_of("ann", *(f"item-{number}" for number in numbers))

        assert len(memory.taken) == min(MAX_TAKEN, len({*numbers}))
        assert memory.interactions == len(numbers)
        assert len(encode(memory)) < 16_384

    def test_tastes_are_what_at_least_two_items_share(self) -> None:
        memory = with_taken(memory_of("ann", "dune", "emma"), "ann", "books", item("solo", "saga"), START, "x")

        assert tastes(memory.taken) == ("preference:genre:noir",)


class TestTouches:
    def test_the_chosen_item_hears_first_then_the_newest_others(self) -> None:
        memory = memory_of("ann", "a", "b", "c", "d")

        told = touches(memory, "b", GraphLimits(fan_out=2))

        assert [touch.item_id for touch in told] == ["b", "d", "c"]
        assert told[0].taker.others == ("d", "c", "a")
        assert {touch.taker.degree for touch in told} == {4}

    def test_the_same_touch_again_and_an_older_one_change_nothing(self) -> None:
        old, new = memory_of("ann", "dune"), memory_of("ann", "dune", "emma")
        known = gathered(new, item_id="dune")

        assert on_touch(known, touches(new, "dune")[0]) is None
        assert on_touch(known, touches(old, "dune")[0]) is None

    def test_an_items_memory_keeps_the_newest_takers(self) -> None:
        memories = [memory_of(f"user-{number}", "dune") for number in range(MAX_TAKERS + 5)]

        known = gathered(*memories, item_id="dune")

        assert len(known.takers) == MAX_TAKERS
        assert known.epoch == MAX_TAKERS + 5


class TestSignals:
    def test_below_the_floor_nothing_is_told(self) -> None:
        known = gathered(memory_of("ann", "dune"), memory_of("bea", "dune"), item_id="dune")

        assert signal_to(known, "ann", GraphLimits(floor=2)) is None
        assert signal_to(known, "cas", GraphLimits(floor=2)) is not None

    def test_companions_and_tastes_need_the_floor_each(self) -> None:
        known = gathered(
            memory_of("bea", "emma", "dune"),
            memory_of("cas", "emma", "dune"),
            memory_of("dan", "solo", "dune"),
            item_id="dune",
        )

        signal = signal_to(known, "ann", PAIR)

        assert signal is not None
        assert signal.companions == {"emma": 2}
        assert [(taste.attribute_id, taste.supporters) for taste in signal.tastes] == [("preference:genre:noir", 3)]

    def test_no_users_id_leaves_an_item(self) -> None:
        users = ["bea@example.org", "cas@example.org", "dan@example.org"]
        known = gathered(*(memory_of(user, "emma", "dune") for user in users), item_id="dune")

        signal = signal_to(known, "ann", PAIR)

        assert signal is not None
        assert "@" not in encode(signal).decode()
        assert {one.neighbour for one in signal.crowd} == {neighbour_of(user) for user in users}

    def test_a_new_taker_is_told_and_others_only_after_a_share_has_changed(self) -> None:
        limits = GraphLimits(floor=2, fan_out=2, renewal=0.5)
        known, heard = None, []
        for number in range(8):
            told = on_touch(known, touches(memory_of(f"user-{number}", "dune"), "dune")[0], limits)
            assert told is not None
            known = told.item
            heard.append([signal.user_id for signal in told.signals])

        # The first two are too few; from then on the new one hears, and two others whenever half have changed.
        assert heard[:3] == [[], [], ["user-2"]]
        assert [len(listeners) for listeners in heard[3:]] == [3, 1, 1, 1, 3]

    @given(
        st.lists(st.tuples(st.integers(0, 9), st.lists(st.integers(0, 12), min_size=1, max_size=6)), max_size=30),
        st.integers(1, 4),
    )
    def test_whatever_is_told_has_the_floor_behind_it(self, choices: list[tuple[int, list[int]]], floor: int) -> None:
        limits = GraphLimits(floor=floor)
        memories: dict[str, Memory] = {}
        known: ItemMemory | None = None
        for number, (user, names) in enumerate(choices):
            memory = memories.get(f"u{user}")
            for place, name in enumerate([*(f"i{n}" for n in names), "dune"]):
                event = f"{number}-{place}"
                memory = with_taken(memory, f"u{user}", "books", item(name, "noir"), START + number * DAY, event)
            assert memory is not None
            memories[f"u{user}"] = memory
            told = on_touch(known, touches(memory, "dune", limits)[0], limits)
            assert told is not None
            known = told.item
            for signal in told.signals:
                others = [t for t in known.takers if t.user_id != signal.user_id]
                for companion, count in signal.companions.items():
                    assert count == sum(companion in t.others for t in others) >= floor
                for taste in signal.tastes:
                    assert taste.supporters == sum(taste.attribute_id in t.tastes for t in others) >= floor
                assert neighbour_of(signal.user_id) not in {one.neighbour for one in signal.crowd}


class TestNeighbourhood:
    def test_the_newest_signal_of_an_item_replaces_the_older(self) -> None:
        known = gathered(memory_of("bea", "emma", "dune"), memory_of("cas", "emma", "dune"), item_id="dune")
        old = signal_to(known, "ann", GraphLimits(floor=1))
        new = signal_to(known.model_copy(update={"epoch": known.epoch + 1}), "ann", GraphLimits(floor=1))
        assert old is not None
        assert new is not None

        heard = hear(hear(None, old), new)

        assert heard is not None
        assert (heard.epoch, heard.signals) == (2, (new,))
        assert hear(heard, old) is None
        assert hear(heard, new) is None

    def test_it_is_bounded(self) -> None:
        neighbourhood = None
        for number in range(MAX_SIGNALS + 3):
            known = gathered(memory_of("bea", f"item-{number}"), item_id=f"item-{number}")
            signal = signal_to(known, "ann", GraphLimits(floor=1))
            assert signal is not None
            neighbourhood = hear(neighbourhood, signal)

        assert neighbourhood is not None
        assert len(neighbourhood.signals) == MAX_SIGNALS
        assert neighbourhood.signals[-1].item_id == f"item-{MAX_SIGNALS + 2}"


def test_a_touch_older_than_all_that_there_is_room_for_changes_nothing_however_often_it_comes() -> None:
    known = gathered(*(memory_of(f"user-{number}", "dune") for number in range(MAX_TAKERS)), item_id="dune")
    early = with_taken(None, "early", "books", item("dune"), START - DAY, "e")

    assert on_touch(known, touches(early, "dune")[0], PAIR) is None
    assert on_touch(known, touches(early, "dune")[0], PAIR) is None

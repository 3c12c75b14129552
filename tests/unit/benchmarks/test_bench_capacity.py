"""The capacity model: what grows with what, and how long choices wait in its queues."""

from dataclasses import replace

import pytest

from benchmarks.capacity.constants import Constants, TopicSize
from benchmarks.capacity.model import Size, needs
from benchmarks.capacity.queueing import Scene, simulated
from benchmarks.capacity.tables import written
from benchmarks.capacity.talks import Talks, measured, talk_needs

KNOWN = Constants(
    measured_on="2026-01-01",
    users=10,
    items=50,
    choices=100,
    worker_cpu_ms=2.0,
    worker_cpu_ms_without_graph=1.0,
    worker_cpu_ms_with_llm=8.0,
    materializer_cpu_ms=1.0,
    broker_cpu_ms=0.5,
    worker_mib=200,
    materializer_mib=300,
    api_mib=100,
    held_bytes=200,
    topics={
        "selections": TopicSize(bytes_per_choice=200, stored_per_choice=100, keys=10, bytes_per_key=200),
        "skills": TopicSize(bytes_per_choice=4_000, stored_per_choice=1_000, keys=10, bytes_per_key=4_000),
        "skill-diffs": TopicSize(bytes_per_choice=2_000, stored_per_choice=1_000, keys=100, bytes_per_key=2_000),
        "item-memories": TopicSize(bytes_per_choice=300, stored_per_choice=200, keys=50, bytes_per_key=750),
    },
)
TALKS = Talks(
    measured_on="2026-01-01",
    people=2,
    turns=20,
    chunks=10,
    worker_cpu_ms=2.0,
    bytes_per_turn={"utterances": 300, "conversations": 500, "cards": 1_000, "card-diffs": 200},
    card_bytes=6_000,
)
SIZE = Size(users=1_000_000, choices_per_day=86_400_000, items=1_000, replication=3)
SCENE = Scene("test", users=10_000, partitions=12, seconds_each=0.01, seconds=60)


def test_a_thousand_choices_a_second_of_two_milliseconds_keep_two_cores_busy() -> None:
    found = needs(SIZE, KNOWN)

    assert found.worker_cores == pytest.approx(2.0)
    assert found.workers == 10, "three times as many at the peak, and each at 60%"
    assert found.network_in == pytest.approx(1_000 * 2_300 * 3), "what is written, three times"


def test_disks_hold_all_copies_of_a_month_of_selections_and_of_the_log_for_ever() -> None:
    found = needs(SIZE, KNOWN)

    assert found.events_disk == pytest.approx(3 * 86.4e6 * 100 * 30)
    assert found.log_disk == pytest.approx(3 * 86.4e6 * 1_000 * 365)


def test_states_follow_users_and_items_and_cores_follow_choices() -> None:
    one, ten = needs(SIZE, KNOWN), needs(replace(SIZE, users=10 * SIZE.users), KNOWN)

    assert ten.tables == pytest.approx(10 * one.tables)
    assert ten.worker_cores == one.worker_cores
    assert one.items_each == pytest.approx(1_000 * (750 + 250)), "items are every worker's, and in no partition's table"
    assert needs(replace(SIZE, items=2_000), KNOWN).items_each == pytest.approx(2 * one.items_each)


def test_an_api_holds_the_skills_of_all_users() -> None:
    found = needs(SIZE, KNOWN)

    assert found.api == pytest.approx(1_000_000 * (4_000 + 200)), "skills; in this run there are no slim skills"


def test_a_thousand_turns_a_second_keep_two_cores_busy_whoever_says_them() -> None:
    few, many = (talk_needs(people, 86.4e6, TALKS, KNOWN) for people in (1_000, 1_000_000))

    assert few.worker_cores == many.worker_cores == pytest.approx(2.0)
    assert few.network_in == pytest.approx(3 * 1_000 * 2_000), "what is written, three times"
    assert few.turns_disk == pytest.approx(3 * 86.4e6 * 300 * 7), "a week of turns"
    assert few.log_disk == pytest.approx(3 * 86.4e6 * 200 * 365)


def test_cards_take_memory_by_people_and_not_by_turns() -> None:
    silent, talking = (talk_needs(1_000_000, turns, TALKS, KNOWN) for turns in (0, 86.4e6))

    assert silent.tables_memory == talking.tables_memory == pytest.approx(1_000_000 * (6_000 + 250))
    assert silent.api == pytest.approx(1_000_000 * (6_000 + 200))
    assert silent.states_disk == pytest.approx(3 * 1_000_000 * 6_000)
    assert talking.states_disk - silent.states_disk == pytest.approx(3 * 86.4e6 * 1_500), "a day of writes"


def test_what_is_measured_of_conversations_is_of_the_topics_that_listen_writes() -> None:
    found = measured(people=1)

    assert set(found.bytes_per_turn) == {"utterances", "conversations", "cards", "card-diffs"}
    assert found.turns > found.chunks > 0
    assert found.card_bytes > 0


def test_the_same_seed_gives_the_same_waits() -> None:
    assert simulated(SCENE) == simulated(SCENE) != simulated(SCENE, seed=2)


def test_little_is_waited_for_at_a_tenth_of_the_load_and_much_near_all_of_it() -> None:
    idle, busy = simulated(replace(SCENE, load=0.1)), simulated(replace(SCENE, load=0.97))

    assert idle.p50 == 0.0
    assert busy.p50 > SCENE.seconds_each


def test_partitions_that_do_not_divide_make_one_worker_wait_longer() -> None:
    even, uneven = simulated(replace(SCENE, skewed=False)), simulated(replace(SCENE, skewed=False, partitions=10))

    assert uneven.busiest > 1.15 > even.busiest
    assert uneven.p99 > even.p99


def test_a_robot_that_chooses_faster_than_it_is_answered_takes_all_places() -> None:
    asked = replace(SCENE, seconds_each=1.0, places=16, partitions=12, seconds=240)
    rare, often = (replace(asked, hot=rate / asked.per_second) for rate in (0.5, 3.0))

    assert simulated(rare).p99 < 5
    assert simulated(often).p99 > 30


def test_catching_up_takes_longer_the_later_the_takeover() -> None:
    soon = simulated(replace(SCENE, lost_at=0.2, takeover_seconds=2)).catch_up
    late = simulated(replace(SCENE, lost_at=0.2, takeover_seconds=10)).catch_up

    assert soon is not None
    assert late is not None
    assert 0 < soon < late
    assert simulated(SCENE).catch_up is None


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for"):
        written("# Capacity\n", KNOWN)

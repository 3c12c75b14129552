"""What the scale-out benchmark makes of the diffs that it sees."""

from collections import defaultdict

from benchmarks.scaleout.rebalance import Progress


def seen(times: dict[int, list[float]], versions: dict[str, list[int]] | None = None) -> Progress:
    progress = Progress.__new__(Progress)  # without a broker
    progress.times, progress._versions = times, defaultdict(list, versions or {})
    return progress


def test_the_longest_gap_of_a_partition_counts_that_has_a_part_in_the_time() -> None:
    progress = seen({0: [0.0, 30.0, 31.0, 36.5, 37.0, 60.0], 1: [29.0, 39.5, 41.0]})

    assert progress.gaps(32.0, 40.0) == [23.0, 10.5], "of 37 to 60, and of 29 to 39.5"
    assert progress.gaps(32.0, 36.8) == [5.5, 10.5]


def test_a_partition_without_progress_stood_still_all_the_time() -> None:
    assert seen({0: []}).gaps(10.0, 35.0) == [25.0]


def test_a_version_that_is_missing_or_twice_is_seen() -> None:
    assert seen({}, {"ann": [1, 2, 3], "bob": [1]}).is_each_version_once
    assert not seen({}, {"ann": [1, 3]}).is_each_version_once
    assert not seen({}, {"ann": [1, 2, 2]}).is_each_version_once

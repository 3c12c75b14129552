"""Token buckets: never more than agreed, never less, and no more memory than agreed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streams.http.limits import Buckets, network_of


@given(
    rate=st.floats(0.1, 100),
    burst=st.integers(1, 50),
    pauses=st.lists(st.floats(0, 20) | st.just(0.0), min_size=1, max_size=80),
)
def test_in_no_stretch_of_time_more_come_through_than_the_burst_and_the_rate_allow(rate, burst, pauses):
    now = [0.0]
    buckets = Buckets(rate, burst, clock=lambda: now[0])
    through = []
    for pause in pauses:
        now[0] += pause
        if buckets.take("ann") == 0.0:
            through.append(now[0])

    for first in range(len(through)):
        for last in range(first, len(through)):
            assert last - first + 1 <= burst + rate * (through[last] - through[first]) + 1e-6


@given(rate=st.floats(0.1, 100), burst=st.integers(1, 50), tries=st.integers(1, 100))
def test_whoever_waits_as_long_as_told_gets_through(rate, burst, tries):
    now = [0.0]
    buckets = Buckets(rate, burst, clock=lambda: now[0])
    told = [buckets.take("ann") for _ in range(tries)]

    assert [wait == 0.0 for wait in told] == [number < burst for number in range(tries)]
    if told[-1]:
        now[0] += told[-1] * (1 + 1e-9)
        assert buckets.take("ann") == 0.0


def test_each_has_a_bucket_of_its_own():
    buckets = Buckets(1, 1, clock=lambda: 0.0)

    assert [buckets.take(key) == 0.0 for key in ("ann", "bob", "ann", "bob")] == [True, True, False, False]


def test_no_more_are_remembered_than_there_is_room_for():
    buckets = Buckets(1, 1, most=3, clock=lambda: 0.0)
    for number in range(100):
        buckets.take(f"address-{number}")
        buckets.take("the one who keeps coming")

    assert len(buckets) == 3
    assert buckets.take("the one who keeps coming") > 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:0:0:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("fe80::1%eth0", "fe80::1", True),
    ],
)
def test_who_is_counted_as_one(one, other, same):
    assert (network_of(one) == network_of(other)) is same

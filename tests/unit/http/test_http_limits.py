"""Rates and shares: one token or one address leaves room for others."""

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.http.limits import Buckets, Busy, Limiter, RateLimited, network_of


class Clock:
    """A monotonic clock that a test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@given(st.floats(0.1, 100), st.integers(1, 50), st.lists(st.floats(0, 5), max_size=100))
def test_in_no_stretch_of_time_more_come_through_than_the_burst_and_the_rate_allow(rate, burst, pauses):
    clock = Clock()
    buckets = Buckets(rate, burst, clock=clock)
    passed = []
    for pause in pauses:
        clock.now += pause
        if not buckets.take("a"):
            passed.append(clock.now)

    for first, begin in enumerate(passed):
        for last, end in enumerate(passed[first:], first):
            assert last - first + 1 <= burst + rate * (end - begin) + 1e-6


@given(st.floats(0.1, 100), st.integers(1, 50))
def test_a_client_that_waits_as_long_as_it_is_asked_to_gets_through(rate, burst):
    clock = Clock()
    buckets = Buckets(rate, burst, clock=clock)
    for _ in range(60):
        if wait := buckets.take("a"):
            clock.now += wait + 1e-6
            assert not buckets.take("a")
    assert not buckets.take("b"), "each key has a bucket of its own"


def test_buckets_are_bounded():
    buckets = Buckets(1, 1, most=3)
    for n in range(100):
        buckets.take(str(n))
    assert len(buckets._used) == 3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_clients_are_counted_by_network(one, other, same):
    assert (network_of(one) == network_of(other)) is same


def held(clients, places=16):
    """Return how many places each client got where nothing ends, and the errors of the others."""
    limiter, got, errors = Limiter(places), {}, []
    with ExitStack() as held:
        for client in clients:
            try:
                held.enter_context(limiter.hold(client))
                got[client] = got.get(client, 0) + 1
            except (Busy, RateLimited) as error:
                errors.append(type(error))
    assert (limiter._free, limiter._used) == (places, {}), "all places are free again"
    return got, errors


def test_one_client_takes_half_and_all_together_all():
    assert held(["backend"] * 40) == ({"backend": 8}, [RateLimited] * 32)
    assert held([f"token {n}" for n in range(17)])[1] == [Busy]


@given(st.lists(st.integers(0, 3), max_size=60))
def test_a_client_after_four_greedy_ones_finds_room(wishes):
    assert held([*(f"token {n}" for n in wishes), "new token"])[0]["new token"] == 1

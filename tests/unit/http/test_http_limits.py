"""Rates and shares: one token or one address leaves room for others."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.http.answers import Awaited, Sender
from streams.http.limits import Buckets, Busy, Limiter, RateLimited, network_of
from streams.settings import Settings
from tests.patience import until
from tests.unit.http.http_world import Served, Tokens, published

FREEZE = json.dumps({"action": "freeze", "domain": "films"}).encode()


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
    assert len(buckets) == 3


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
    assert (limiter._free, limiter._held) == (places, {}), "all places are free again"
    return got, errors


def test_one_client_takes_half_and_all_together_all():
    assert held(["backend"] * 40) == ({"backend": 8}, [RateLimited] * 32)
    assert held([f"token {n}" for n in range(17)])[1] == [Busy]


@given(st.lists(st.integers(0, 3), max_size=60))
def test_a_client_after_four_greedy_ones_finds_room(wishes):
    assert held([*(f"token {n}" for n in wishes), "new token"])[0]["new token"] == 1


def test_one_token_leaves_room_for_another_while_no_worker_runs(tmp_path, monkeypatch):
    file, stop, waiting = Tokens(tmp_path), threading.Event(), []

    async def wait(self, seconds):
        waiting.append(self)
        await asyncio.to_thread(stop.wait)

    async def send(self, records):
        pass

    monkeypatch.setattr(Awaited, "within", wait)
    monkeypatch.setattr(Sender, "send", send)
    monkeypatch.setattr("streams.http.limits.WAITING", 16)
    anns, bobs = (file.make("change-user", user=user) for user in ("ann", "bob"))
    limits = Settings(duckdb=published(), http_tokens=file.path, data_dir=tmp_path, http_rate=1e3, http_burst=1_000)
    with Served(limits) as api, ThreadPoolExecutor(40) as clients:
        api.api.live._ready.set()

        def freeze(user, token):
            return clients.submit(api.ask, f"/v1/users/{user}/commands", token, "POST", FREEZE)

        try:
            for_ann = [freeze("ann", anns) for _ in range(30)]
            until(lambda: sum(each.done() for each in for_ann) == 22, "all but eight to be refused")
            for_bob = freeze("bob", bobs)
            until(lambda: len(waiting) == 9, "bob's command to be sent")
        finally:
            stop.set()
        refused = [each.result() for each in for_ann if each.result().status != 202]

    assert len(refused) == 22
    assert {(reply.status, reply.headers["retry-after"]) for reply in refused} == {(429, "1")}
    assert for_bob.result().status == 202

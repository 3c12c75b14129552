"""The lease: certain within the session, waited for after it, gone when the group says so."""

import asyncio

import pytest

from streams.worker.runtime import fence
from streams.worker.runtime.fence import Membership
from tests.waiting import WAIT_SECONDS


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1_000.0
        monkeypatch.setattr(fence, "now", lambda: self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def joined(clock: Clock, session: float = 10.0, rebalance: float = 60.0) -> Membership:
    member = Membership(session, rebalance)
    member.confirm(clock.at)
    return member


async def test_it_is_certain_within_the_session(clock: Clock) -> None:
    member = joined(clock)
    clock.at += 9.9

    assert member.is_sure
    assert await member.wait_confirmed()


async def test_after_a_pause_the_next_heartbeat_is_waited_for(clock: Clock) -> None:
    member = joined(clock)
    clock.at += 10.1
    asked = asyncio.create_task(member.wait_confirmed())
    await asyncio.sleep(0.1)
    assert not asked.done()

    member.confirm(clock.at)

    assert await asyncio.wait_for(asked, WAIT_SECONDS)


async def test_who_is_forgotten_is_told_so(clock: Clock) -> None:
    member = joined(clock)
    clock.at += 10.1
    asked = asyncio.create_task(member.wait_confirmed())
    await asyncio.sleep(0.1)

    member.lose()

    assert not await asyncio.wait_for(asked, WAIT_SECONDS)
    member.confirm(clock.at)
    assert await member.wait_confirmed()


async def test_heartbeats_do_not_keep_alive_a_member_that_does_not_join_the_rebalance(clock: Clock) -> None:
    member = joined(clock, session=10, rebalance=30)
    for _ in range(7):
        clock.at += 5
        member.confirm(clock.at, rebalancing=True)

    assert not member.is_sure
    assert not await asyncio.wait_for(member.wait_confirmed(), WAIT_SECONDS), "the rebalance waits for us: give up"


async def test_what_is_sent_has_arrived_or_is_given_up_before_the_lease_ends(clock: Clock) -> None:
    member = Membership(10, 60, delivery_seconds=7)
    member.confirm(clock.at)
    clock.at += 2.9
    assert member.may_send

    clock.at += 0.2

    assert not member.may_send
    assert member.is_sure

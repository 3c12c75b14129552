"""The one loop: turns in order, questions answered first, tests that teach nothing, errors that stop all of it."""

import asyncio
from dataclasses import replace

import pytest

from evaluation.simulation import Retry, Turn, side_by_side, simulate


class Parrot:
    """Answers with the last word it learned; asks where it may."""

    def __init__(self):
        self.learned = []

    async def answer(self, turn):
        return "what?" if turn.asks else (self.learned or ["nothing"])[-1]

    async def learn(self, turn, answer, reply):
        self.learned.append(reply)


def user(turn, answer):
    if answer == "what?":
        return Retry(f"hint {turn.shown}", replace(turn, asks=False))
    return turn.shown


async def test_an_arm_learns_from_each_reply_before_the_next_turn_and_never_from_a_test():
    arm, seen, stages = Parrot(), [], []
    turns = [Turn("ann", "a"), Turn("ann", "b", learns=False), Turn("ben", "c")]

    await simulate(
        turns, arm, user, lambda turn, *said: seen.append((turn.shown, *said)), lambda *at: stages.append(at)
    )

    assert seen == [("a", "nothing", "a"), ("b", "a", "b"), ("c", "a", "c")]
    assert arm.learned == ["a", "c"]
    assert stages == [("choices", done, 3) for done in range(4)]


async def test_work_side_by_side_is_bounded_and_its_first_error_is_raised_unchanged():
    under_way, most, done = 0, 0, []

    async def work(number):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        if number == 5:
            raise KeyError("five")
        done.append(number)

    with pytest.raises(KeyError, match="five"):
        await side_by_side(range(100), work, 3)

    assert most == 3
    assert len(done) < 10

"""The one loop: turns in order, questions answered first, tests that teach nothing, errors that stop all of it."""

from dataclasses import replace

from evaluation.simulation import Retry, Turn, simulate


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

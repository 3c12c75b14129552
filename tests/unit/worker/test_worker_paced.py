"""How often the embedded broker is asked."""

import asyncio

import pytest

from streams.worker.runtime.repairs import LONGEST_PAUSE_SECONDS, SHORTEST_PAUSE_SECONDS, Paced


def test_pauses_grow_while_nothing_comes_and_are_short_again_once_something_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    answers = iter([*[False] * 20, True, False, False])

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    async def fetch(node: int) -> bool:
        return next(answers)

    async def run() -> list[bool]:
        paced = Paced(fetch)
        return [await paced(1) for _ in range(23)]

    monkeypatch.setattr(asyncio, "sleep", sleep)
    came = asyncio.run(run())

    assert came == [*[False] * 20, True, False, False]
    assert (pauses[0], pauses[19]) == (SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    assert pauses[:20] == sorted(pauses[:20])
    assert (len(pauses), pauses[20]) == (22, SHORTEST_PAUSE_SECONDS), "no pause after records"


async def test_a_fetch_that_is_cancelled_in_its_pause_answers_as_aiokafkas_own_does() -> None:
    """When a consumer stops, aiokafka cancels its fetches and awaits them. An error there stalls its end."""

    async def nothing(node: int) -> bool:
        return False

    async def paced() -> bool:
        return await Paced(nothing)(1)

    asked = asyncio.create_task(paced())
    await asyncio.sleep(0)
    asked.cancel()

    assert await asked is False

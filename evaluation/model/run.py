"""Runs arms over a plan's users against the configured endpoint, and says what came of it as plain values."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from evaluation.arms.llm import client_of
from evaluation.model.arms import ARMS
from evaluation.model.play import Counted, Player, Ranked
from evaluation.replies import Desk, Replies
from evaluation.stream.plan import Plan
from streams.settings import Settings

Tell = Callable[[int, int], None]


async def run(
    plan: Plan,
    settings: Settings,
    replies: Replies,
    *,
    arms: Sequence[str] = tuple(ARMS),
    swept: int = 0,
    users: Sequence[str] | None = None,
    concurrency: int = 16,
    tell: Tell = lambda *_: None,
) -> dict[str, Any]:
    """Plays users, several at a time; what they have been asked before comes from the kept replies.

    Args:
        plan: the choices.
        settings: the endpoint.
        replies: keeps what it answers.
        arms: names of arms.
        swept: how many of the plan's first users play the sweeps too.
        users: only these; by default all of the plan.
        concurrency: how many users play at once.
        tell: receives how many users are done, and how many there are.

    Raises:
        QualityError: the endpoint does not answer; all replies so far are kept.
    """
    everybody = list(plan.choices)
    sweeping = set(everybody[:swept])
    mine = everybody if users is None else list(users)
    client, counted = client_of(settings, replies), Counted()
    desk = Desk(client, replies, f"sizes={settings.llm_sizes_in_schema}")
    gate, ranked = asyncio.Semaphore(concurrency), list[Ranked]()

    async def play(user_id: str) -> None:
        async with gate:
            player = Player(plan, desk, arms, sweeps=user_id in sweeping, counted=counted)
            ranked.extend(await player.play(user_id))
            done.append(user_id)
            tell(len(done), len(mine))

    done: list[str] = []
    try:
        async with asyncio.TaskGroup() as group:
            for user_id in mine:
                group.create_task(play(user_id))
    finally:
        await client.aclose()
    spent = desk.spent
    return {
        "data": plan.data,
        "lists": plan.lists.value,
        "history": plan.history,
        "model": settings.llm_model,
        "users": mine,
        "swept": [user_id for user_id in mine if user_id in sweeping],
        "ranked": [asdict(each) for each in ranked],
        "verdicts": _by_arm(counted.verdicts),
        "changes": _by_arm(counted.changes),
        "learned": dict(counted.learned),
        "unusable": dict(counted.unusable),
        "calls": spent.calls,
        "cached_calls": spent.cached_calls,
        "prompt_tokens": spent.prompt_tokens,
        "completion_tokens": spent.completion_tokens,
    }


def _by_arm(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (arm, what), times in sorted(counts.items()):
        found.setdefault(arm, {})[what] = times
    return found

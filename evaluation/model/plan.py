"""Whose choices are played with a model: users with as many choices as are played, so that all have the same weight."""

from dataclasses import replace
from pathlib import Path

from evaluation.arms.arm import Progress
from evaluation.exceptions import QualityError
from evaluation.stream.lists import Lists
from evaluation.stream.plan import Plan, plans


def full_plan(
    path: Path,
    users: int,
    choices: int,
    *,
    lists: Lists = Lists.POPULAR,
    history: int = 3,
    pool: int = 700,
    seed: int = 0,
    domain: str | None = None,
    progress: Progress = lambda *_, **__: None,
) -> Plan:
    """A plan of users who choose at least so often, and of so many choices of each.

    Args:
        path: a folder in any layout that `sager import` reads.
        users: how many; the first ones by id of those drawn.
        choices: of each user, the first ones.
        lists: how lists come about.
        history: how many of a user's first visits are history.
        pool: how many users are drawn, from whom those with enough choices are taken.
        seed: the seed of the sample, the draws and the presentation.
        domain: the items' domain, overriding their own.
        progress: receives the number of users done.

    Raises:
        DataSetError: the folder cannot be read.
        QualityError: fewer than two of those drawn choose so often.
    """
    [plan] = plans(path, [lists], [history], pool, most=choices, seed=seed, domain=domain, progress=progress)
    able = [user_id for user_id, of_user in plan.choices.items() if len(of_user) == choices][:users]
    if len(able) < 2:
        raise QualityError(f"of {len(plan.choices)} users of {path}, {len(able)} have {choices} choices: 2 are needed")
    return replace(
        plan,
        past={user_id: plan.past[user_id] for user_id in able},
        choices={user_id: plan.choices[user_id] for user_id in able},
        populations={user_id: plan.populations[user_id] for user_id in able},
    )

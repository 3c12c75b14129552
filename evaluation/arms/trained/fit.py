"""Early stopping: training ends when each training user's last training visit is no longer ranked better."""

import copy
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation.arms.arm import Progress
from evaluation.arms.trained.visits import Visits, without_last

THREADS = 1
"""The matrices are small: synchronising a second thread costs more than it saves, above all on a busy machine."""
CHECKED = 1_000
"""Maximum number of users in the stopping check."""
AGAINST = 20
"""Negatives per user in the check, half of them drawn uniformly and half by popularity."""
Vectors = NDArray[np.float32]


class Learner(Protocol):
    """A network under training.

    Attributes:
        steps: maximum number of steps.
        between: steps between two checks.
        patience: checks without improvement after which training ends.
    """

    network: torch.nn.Module
    steps: int
    between: int
    patience: int

    def step(self) -> None:
        """Trains on one batch."""
        ...

    def vectors(self, visits: Visits, users: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The current vectors of these users and of all items, given these visits."""
        ...


def fit(learner: Callable[[Visits], Learner], visits: Visits, seed: int, progress: Progress) -> tuple[Vectors, Vectors]:
    """Trains and returns the vectors of users and items at the best check.

    The users' last visits are left out of training, but not out of the vectors' input.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            known, last = without_last(visits)
            check = _Check(known, last, seed)
            trained = learner(known)
            _train(trained, check, progress)
            of_user, of_item = trained.vectors(visits, range(len(visits.users)))
            return of_user.numpy(), of_item.numpy()
    finally:
        torch.set_num_threads(threads)


def _train(learner: Learner, check: "_Check", progress: Progress) -> None:
    best, since, weights = -1.0, 0, learner.network.state_dict()
    for step in range(1, learner.steps + 1):
        learner.step()
        progress(step, learner.steps)
        if step % learner.between:
            continue
        quality, since = check(learner), since + 1
        if quality > best:
            best, since, weights = quality, 0, copy.deepcopy(learner.network.state_dict())
        if since == learner.patience:
            break
    learner.network.load_state_dict(weights)
    progress(learner.steps, learner.steps)


class _Check:
    """The stopping check: the mean reciprocal rank of users' last training visits among other items."""

    def __init__(self, known: Visits, last: dict[int, int], seed: int) -> None:
        chance = np.random.default_rng(seed)
        users: list[int] = chance.permutation(sorted(last))[:CHECKED].tolist()
        met: Sequence[int] = [item for history in known.histories for item in history]
        evenly = chance.integers(len(known.items), size=(len(users), AGAINST // 2))
        as_met = chance.choice(met, size=(len(users), AGAINST - AGAINST // 2))
        items = np.column_stack([[last[user] for user in users], evenly, as_met]).astype(np.int64)
        met_by = [{*known.histories[user], last[user]} for user in users]
        own = [[item in mine for item in row[1:]] for mine, row in zip(met_by, items.tolist(), strict=True)]
        self._known, self._users = known, users
        self._items, self._own = torch.from_numpy(items), torch.tensor(own, dtype=torch.bool).reshape(-1, AGAINST)

    def __call__(self, learner: Learner) -> float:
        of_user, of_item = learner.vectors(self._known, self._users)
        scores = (of_item[self._items] @ of_user[:, :, None])[:, :, 0]
        ahead = (scores[:, 1:] >= scores[:, :1]) & ~self._own
        return float((1 / (1 + ahead.sum(dim=1))).mean())

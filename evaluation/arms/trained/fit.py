"""Training until it no longer helps: told by each training user's last training visit, never by what is tested."""

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
"""The matrices are small: waiting for a second thread costs more than it does, many times more on a busy machine."""
CHECKED = 1_000
"""At most so many users tell when to stop."""
AGAINST = 20
"""So many items stand beside each one's last, half of them drawn evenly and half as they are met."""
Vectors = NDArray[np.float32]


class Learner(Protocol):
    """A network under training.

    Attributes:
        steps: how many steps it takes at most.
        between: so many steps are between two checks.
        patience: so many checks without a better one end it.
    """

    network: torch.nn.Module
    steps: int
    between: int
    patience: int

    def step(self) -> None:
        """Learn from one batch."""
        ...

    def vectors(self, visits: Visits, users: Sequence[int]) -> tuple[Tensor, Tensor]:
        """The vectors of these users and of all items when these are the visits, as far as it has learned."""
        ...


def fit(learner: Callable[[Visits], Learner], visits: Visits, seed: int, progress: Progress) -> tuple[Vectors, Vectors]:
    """Train and give the vectors of users and items, at the best check.

    The users' last visits are left out of training and not of what the vectors are made from.
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
    """How well users' last training visits are told from other items: the mean reciprocal rank."""

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

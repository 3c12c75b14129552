"""Training histories as a matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evaluation.case import Split


@dataclass(frozen=True)
class Histories:
    """Which users visited which items in training.

    Attributes:
        users, items: the rows and columns by id.
        met: sparse (users, items), 1 where the user visited the item.
    """

    users: dict[str, int]
    items: dict[str, int]
    met: Any


def histories(split: Split) -> Histories:
    """The training part of a split; repeated visits count once."""
    users = {user_id: row for row, user_id in enumerate(split.training)}
    items = {item_id: column for column, item_id in enumerate(split.items)}
    pairs = {(users[u], items[visit.item_id]) for u, visits in split.training.items() for visit in visits}
    rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    met = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(users), len(items)))
    return Histories(users, items, met)

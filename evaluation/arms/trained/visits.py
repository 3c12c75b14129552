"""Training visits as numbers, and the part held out for early stopping."""

from dataclasses import dataclass

from evaluation.case import Split


@dataclass(frozen=True)
class Visits:
    """Users' visits, in order.

    Attributes:
        users, items: row numbers by id; only users and items with training visits.
        histories: each user's items, oldest first.
    """

    users: dict[str, int]
    items: dict[str, int]
    histories: list[list[int]]

    def pairs(self) -> list[tuple[int, int]]:
        """Each user-item pair once, in order."""
        return sorted({(user, item) for user, history in enumerate(self.histories) for item in history})


def indexed(split: Split) -> Visits:
    """The training part of a split."""
    training = {user_id: visits for user_id, visits in split.training.items() if visits}
    users = {user_id: row for row, user_id in enumerate(training)}
    ids = sorted({visit.item_id for visits in training.values() for visit in visits})
    items = {item_id: row for row, item_id in enumerate(ids)}
    return Visits(users, items, [[items[visit.item_id] for visit in visits] for visits in training.values()])


def without_last(visits: Visits, at_least: int = 3) -> tuple[Visits, dict[int, int]]:
    """The same without the last visit of each user with `at_least` visits, and those visits' items."""
    last = {user: history[-1] for user, history in enumerate(visits.histories) if len(history) >= at_least}
    kept = [history[:-1] if user in last else history for user, history in enumerate(visits.histories)]
    return Visits(visits.users, visits.items, kept), last

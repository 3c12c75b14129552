"""Selects the results of a report: the newest of each kind, and those that are compared."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from evaluation.arms import ARMS, ArmOptions
from evaluation.draw import Negatives
from evaluation.kept import Row
from evaluation.measures import averages
from evaluation.report import paper
from evaluation.report.document import Point
from evaluation.report.uncertainty import Difference, difference, interval
from evaluation.store import Store

DEFAULTS = ArmOptions()
LISTS = tuple(Negatives)


def tau(row: Row) -> int:
    """Of a run's settings."""
    return int(row.settings.get("tau", DEFAULTS.tau))


def slim_tokens(row: Row) -> int:
    """Of a run's settings."""
    return int(row.settings.get("slim_tokens", DEFAULTS.slim_tokens))


def by_default(row: Row) -> bool:
    """Whether it ran with the paper's tau and budget, the defaults."""
    return (tau(row), slim_tokens(row)) == (DEFAULTS.tau, DEFAULTS.slim_tokens)


def label(row: Row) -> str:
    """The arm, with its settings that differ from the defaults."""
    told = [f"tau {tau(row)}"] if tau(row) != DEFAULTS.tau else []
    told += [f"{slim_tokens(row)} tokens"] if slim_tokens(row) != DEFAULTS.slim_tokens else []
    return f"{row.arm} ({', '.join(told)})" if told else row.arm


class Results:
    """The newest run of every data set, candidates, arm, tau, slim budget, number of users and seed.

    Attributes:
        rows: in the order of data set, candidates and arm.
        data: the data sets' names: those that the paper has in its order, then the others.
        curves: the newest of each arm.
    """

    def __init__(self, store: Store) -> None:
        newest: dict[tuple[object, ...], Row] = {}
        for row in store.rows():  # oldest first
            newest[row.data, row.candidates, row.arm, tau(row), slim_tokens(row), row.users, row.seed] = row
        self.rows = sorted(newest.values(), key=_order)
        self.curves = store.curves()
        self.data = list(dict.fromkeys(row.data for row in self.rows))
        self._places = store.places(row.run_id for row in self.rows)

    def chosen(self, data: str, candidates: str) -> dict[str, Row]:
        """One run per arm to compare: of the seed with the most arms and, within it, with the most users.

        Among several budgets or tau, the defaults are preferred.
        """
        found = [row for row in self.rows if (row.data, row.candidates) == (data, candidates)]
        if not found:
            return {}
        seed = _fullest(found)
        best = sorted(
            (row for row in found if row.seed == seed),
            key=lambda row: (row.users, by_default(row), row.finished_at),
        )
        by_arm = {row.arm: row for row in best}
        return {row.arm: by_arm[row.arm] for row in found if by_arm.get(row.arm) is row}

    def level(self, rows: Sequence[Row]) -> list[Row]:
        """The same runs, each measured on the users common to all; unchanged if there are none."""
        common = set.intersection(*(set(self._places[row.run_id]) for row in rows)) if rows else set()
        return [self._narrowed(row, common) for row in rows] if len(common) > 1 else list(rows)

    def _narrowed(self, row: Row, users: set[str]) -> Row:
        """The run as if only these users had been tested, with its full cost."""
        if len(users) == row.users:
            return row
        places = {user: place for user, place in self._places[row.run_id].items() if user in users}
        run_id = f"{row.run_id}, {len(users)} users"
        self._places[run_id] = places
        numbers = list(places.values())
        narrowed = replace(row, run_id=run_id, users=len(users), measures=averages(numbers))
        return replace(narrowed, ci95_hit_at_1=interval(numbers, "hit_at_1"))

    def difference(self, one: Row, other: Row | None) -> Difference | None:
        """The difference in Hit@1; None if they are the same or cannot be compared."""
        if other is None or one.run_id == other.run_id or not _comparable(one, other):
            return None
        return difference(self._places[one.run_id], self._places[other.run_id])

    def point(self, row: Row, measure: str, at: float | str) -> Point:
        """A measure of a run with its interval, as a point of a chart."""
        value = row.measures[measure]
        if measure == "hit_at_1":
            return Point(at, value, *row.ci95_hit_at_1)
        places = self._places[row.run_id]
        return Point(at, value, *(interval(places.values(), measure) if places else (value, value)))


def _comparable(one: Row, other: Row) -> bool:
    """Whether both ranked the same cases after the same training."""
    cases = [(row.data, row.candidates, row.seed, row.fingerprint) for row in (one, other)]
    return cases[0] == cases[1]


def _fullest(rows: Iterable[Row]) -> int:
    """The seed with the most arms; the lowest on a tie."""
    arms: dict[int, set[str]] = {}
    for row in rows:
        arms.setdefault(row.seed, set()).add(row.arm)
    return min(arms, key=lambda seed: (-len(arms[seed]), seed))


def _order(row: Row) -> tuple[object, ...]:
    sets, arms, lists = list(paper.SETS), list(ARMS), list(LISTS)
    return (
        *(sets.index(row.data) if row.data in sets else len(sets), row.data),
        lists.index(Negatives(row.candidates)) if row.candidates in lists else len(lists),
        *(arms.index(row.arm) if row.arm in arms else len(arms), row.arm),
        *(row.seed, row.users, tau(row), slim_tokens(row)),
    )

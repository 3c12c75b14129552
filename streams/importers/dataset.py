"""A data set in memory, and its events."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, islice

import orjson

from schemas import Candidate, Interaction, Item, derived_id
from schemas.events import Ranking, Selection
from streams.kafka.scanner import Scanner
from streams.settings import Settings

# The first synthetic time, for data that has only an order; also the catalogue's time.
BEGINNING = datetime(2000, 1, 1, tzinfo=UTC)
APART = timedelta(hours=1)  # the interval between two synthetic times


@dataclass(frozen=True, slots=True)
class Visit:
    """A user's visit to an item. `at` is in UTC."""

    item_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LoggedList:
    """A list that a user saw, as shown, with the taken items; none taken is an abstention."""

    list_id: str
    at: datetime
    candidates: tuple[Candidate, ...]
    taken: tuple[str, ...]
    request: str = ""


@dataclass(frozen=True)
class Dataset:
    """A data set; `skipped` counts left-out rows by reason, `errors` has the first broken rows.

    Items and users are in file order, visits and lists oldest first.
    """

    domain: str
    items: dict[str, Candidate]
    histories: dict[str, list[Visit]] = field(default_factory=dict)
    lists: dict[str, list[LoggedList]] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    @property
    def has_times(self) -> bool:
        """False if the times of visits and lists are synthetic."""
        firsts = [visits[0].at for visits in self.histories.values()]
        firsts += [lists[0].at for lists in self.lists.values()]
        return any(at != BEGINNING for at in firsts)

    @property
    def visits(self) -> int:
        """The total number of visits."""
        return sum(map(len, self.histories.values()))

    @property
    def shown(self) -> int:
        """The total number of lists."""
        return sum(map(len, self.lists.values()))

    @property
    def users(self) -> int:
        """The number of users with visits or lists."""
        return len(self.histories.keys() | self.lists.keys())

    def some_items(self, most: int = 1_000) -> list[Candidate]:
        """Return the first items of the catalogue and of the lists."""
        shown = (item for lists in self.lists.values() for each in lists for item in each.candidates)
        return list(islice(chain(self.items.values(), shown), most))


def catalogue(data: Dataset) -> Iterator[Item]:
    """Yield all items."""
    for item in data.items.values():
        event_id = derived_id("import-item", data.domain, item.item_id)
        yield Item.model_validate({"event_id": event_id, "occurred_at": BEGINNING, "domain": data.domain, "item": item})


def interactions(data: Dataset) -> Iterator[Interaction]:
    """Yield every user's visits, user by user."""
    for user_id, visits in data.histories.items():
        for visit in visits:
            event_id = derived_id("import-interaction", data.domain, user_id, visit.item_id, visit.at.isoformat())
            base = {"event_id": event_id, "occurred_at": visit.at, "user_id": user_id}
            yield Interaction.model_validate(base | {"domain": data.domain, "item": data.items[visit.item_id]})


def rankings(data: Dataset) -> Iterator[Ranking | Selection]:
    """Yield every user's lists and taken items, each list before its selection."""
    for user_id, lists in data.lists.items():
        for shown in lists:
            ranking_id = derived_id("import-ranking", data.domain, user_id, shown.list_id)
            base = {"occurred_at": shown.at, "user_id": user_id, "ranking_id": ranking_id}
            yield Ranking.model_validate(
                base
                | {
                    "event_id": ranking_id,
                    "domain": data.domain,
                    "instruction": shown.request,
                    "candidates": shown.candidates,
                }
            )
            first, *others = shown.taken or (None,)
            event_id = derived_id("import-selection", data.domain, user_id, shown.list_id)
            taken = {"item_id": first, "others": others, "none_taken": first is None}
            yield Selection.model_validate(base | taken | {"event_id": event_id})


def existing_event_ids(settings: Settings, *topics: str) -> set[str]:
    """Return the event ids of all records on these topics."""
    with Scanner(settings) as scanner:
        found = set()
        for message in scanner.read([place for topic in topics for place in scanner.partitions(topic)]):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                found.add(str(orjson.loads(message.value() or b"{}")["event_id"]))
        return found

"""Events of a data set, with ids derived from the data: importing it again gives the same events."""

from collections.abc import Iterator
from contextlib import suppress

import orjson

from schemas import Interaction, Item, derived_id
from streams.importers.dataset import BEGINNING, Dataset
from streams.kafka.scanner import Scanner
from streams.settings import Settings


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


def held_ids(settings: Settings, base: str) -> set[str]:
    """Return the event ids of all records on a topic, which a repeated import does not send again.

    Raises:
        BrokerUnreachable: the topic could not be read to its end.
    """
    with Scanner(settings) as scanner:
        found = set()
        for message in scanner.read(scanner.partitions(base)):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                found.add(str(orjson.loads(message.value() or b"{}")["event_id"]))
        return found

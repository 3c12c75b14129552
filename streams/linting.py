"""The linter as the settings have it, and what it says of a batch; the HTTP API and the command line share it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from operators.lint import Lesson, Linter
from operators.lint.lesson import listed, shown
from schemas import Candidate, Event, Model
from streams.language import RULES
from streams.settings import Settings
from streams.steps import evolve_of, limits_of

_ITEMS = ("item",)
_LISTS = ("candidates", "items")


def linter_of(settings: Settings, now: datetime, chars: int | None = None) -> Linter:
    """A linter for one batch, with what this deployment learns and keeps; `chars` bounds what it reads of words."""
    return Linter(evolve_of(settings, limits_of(settings)), settings.parsers, now, RULES, RULES, chars)


def lessons(linter: Linter, events: Sequence[Event | None], records: Sequence[Any]) -> list[Lesson]:
    """What each event will teach, and which of its fields are dropped.

    Args:
        linter: a new one.
        events: as they were accepted; None where one is refused.
        records: the JSON that each of them was read from.
    """
    found = linter.lint(events)
    for event, record, lesson in zip(events, records, found, strict=True):
        if event is not None and (unknown := _unknown(type(event), record)):
            lesson.warnings.append(
                f"the contract does not know {listed(shown(unknown))}: dropped. What describes an item goes into its "
                "metadata"
            )
    return found


def _unknown(model: type[Model], record: Mapping[str, Any]) -> set[str]:
    """The names of fields that an event or its items have and the contract does not."""
    found = {str(name) for name in record.keys() - model.model_fields.keys()}
    items = [record[name] for name in _ITEMS if name in record]
    for name in _LISTS:
        # Where the contract has no such list, anything may be there.
        items += record[name] if name in model.model_fields and isinstance(record.get(name), list) else ()
    for item in items:
        if isinstance(item, dict):
            found |= {str(name) for name in item.keys() - Candidate.model_fields.keys()}
    return found

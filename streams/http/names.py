"""The names of fields that an error may say: all of ours, and none that a client made up."""

from functools import cache
from typing import Any, Final, get_args

from schemas import CardCommand, CardStated, Model, SkillCommand, Stated
from schemas.topics import FROM_APPS, TOPICS

_OF_QUERIES: Final = frozenset(
    {"after", "limit", "last", "user", "request", "from", "budget_tokens", "as_of", "format"}
)
_OF_BODIES: Final = frozenset({"events", "event", "topic"})


@cache
def names() -> frozenset[str]:
    """All fields of what clients send, as deep as they go."""
    found = set(_OF_QUERIES | _OF_BODIES)
    waiting: list[Any] = [SkillCommand, Stated, CardCommand, CardStated, *(TOPICS[base].model for base in FROM_APPS)]
    met: set[Any] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, Model) and kind not in met:
            met.add(kind)
            found.update(kind.model_fields)
            waiting += [field.annotation for field in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return frozenset(found)

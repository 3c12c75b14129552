"""What is committed: per partition the offset before which every endpoint was told everything, and where each one is.

The metadata of a committed offset says where each endpoint is and since when it has had nothing older to wait for, so
that after a restart each goes on from its own place, and one that was away too long begins anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson


@dataclass(frozen=True)
class Place:
    """Where an endpoint is on a partition.

    Attributes:
        offset: it was told everything before it.
        at_ms: when the oldest that it was not told was first read; or when this was noted, where there was none.
    """

    offset: int
    at_ms: int


def note(places: Mapping[str, Place]) -> str:
    """As metadata of an offset."""
    return orjson.dumps({name: [place.offset, place.at_ms] for name, place in places.items()}).decode()


def noted(metadata: str | None) -> dict[str, Place]:
    """The places of such metadata; none where it is missing or somebody else's.

    >>> noted(note({"shop": Place(7, 5)})), noted("x"), noted(None)
    ({'shop': Place(offset=7, at_ms=5)}, {}, {})
    """
    try:
        match orjson.loads(metadata or ""):
            case dict() as told:
                return {
                    name: Place(each[0], each[1])
                    for name, each in told.items()
                    if isinstance(each, list) and [type(part) for part in each] == [int, int]
                }
    except orjson.JSONDecodeError:
        pass
    return {}

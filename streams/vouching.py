"""What vouches for values, as the settings have it; the worker, what-if and the command line share it."""

from functools import lru_cache
from pathlib import Path

from operators.vouch import BadList, Vouching, listed
from streams.exceptions import StreamsError
from streams.language import RULES
from streams.settings import Settings

DEFAULT = Vouching(RULES)


DEFAULT = Vouching(RULES)


class UnusableList(StreamsError, ValueError):
    """The operator's list of values cannot be read."""


def vouching_of(settings: Settings) -> Vouching:
    """What these settings let out to models. The operator's list is read once for a process.

    Raises:
        UnusableList: the list is not UTF-8, too long, or has a line that is no value.
        OSError: it cannot be read.
    """
    values = _listed(settings.vouched) if settings.vouched else frozenset()
    return Vouching(RULES, values)


@lru_cache(maxsize=8)
def _listed(file: Path) -> frozenset[str]:
    try:
        return listed(file.read_text(encoding="utf-8"))
    except (BadList, UnicodeDecodeError) as error:
        raise UnusableList(f"SAGER_VOUCHED, {file}: {error}; correct it, or unset it to have none") from None

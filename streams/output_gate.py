"""The output policy of values as the settings have it; the worker, what-if and the command line share it."""

from functools import lru_cache
from pathlib import Path

from operators.language.output_policy import InvalidAllowList, OutputGate, parse_allow_list
from streams.exceptions import StreamsError
from streams.language import RULES
from streams.settings import Settings

DEFAULT = OutputGate(RULES)


def output_gate(settings: Settings) -> OutputGate:
    """Return the values that models may receive. The operator's list is read once for a process."""
    values = _listed(settings.vouched) if settings.vouched else frozenset()
    return OutputGate(RULES, values)


@lru_cache(maxsize=8)
def _listed(file: Path) -> frozenset[str]:
    try:
        return parse_allow_list(file.read_text(encoding="utf-8"))
    except (InvalidAllowList, UnicodeDecodeError) as error:
        raise StreamsError(f"SAGER_VOUCHED, {file}: {error}; correct it, or unset it to have none") from None

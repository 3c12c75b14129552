"""The privacy filter and the output gate as configured."""

from functools import lru_cache
from pathlib import Path

from operators.language.output_policy import InvalidAllowList, OutputGate, parse_allow_list
from operators.language.privacy import PLACES, Privacy
from streams.exceptions import StreamsError
from streams.language import RULES
from streams.settings import Settings

DEFAULT_PRIVACY = Privacy(RULES)
DEFAULT_GATE = OutputGate(RULES)


def privacy_of(settings: Settings) -> Privacy:
    """Return the filter of skills, prompts and rows."""
    read_as_places = {domain for domain, parser in settings.parsers.items() if parser in PLACES}
    return Privacy(RULES if settings.privacy else None, allowed=settings.sensitive, places=PLACES | read_as_places)


def output_gate(settings: Settings) -> OutputGate:
    """Return the gate for values that models may receive."""
    return OutputGate(RULES, _allowed(settings.vouched) if settings.vouched else frozenset())


@lru_cache(maxsize=8)
def _allowed(file: Path) -> frozenset[str]:
    try:
        return parse_allow_list(file.read_text(encoding="utf-8"))
    except (InvalidAllowList, UnicodeDecodeError) as error:
        raise StreamsError(f"SAGER_VOUCHED, {file}: {error}; correct it, or unset it to have none") from None

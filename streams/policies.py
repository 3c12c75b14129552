"""The privacy filter and the output gate as configured."""

from functools import lru_cache
from pathlib import Path

from operators.attributes import normalise
from operators.habit_directions import BY_PREFIX, NUMBER_ENDING, number_words
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
    allowed = _allowed(settings.vouched) if settings.vouched else frozenset()
    # The operator vouches for the numbers that the settings name.
    own = {
        f"{normalise(BY_PREFIX + name)}: {normalise(number_words(name, more, numbers).removesuffix(NUMBER_ENDING))}"
        for numbers in settings.numbers.values()
        for name in numbers
        for more in (False, True)
    }
    return OutputGate(RULES, allowed | own)


@lru_cache(maxsize=8)
def _allowed(file: Path) -> frozenset[str]:
    try:
        return parse_allow_list(file.read_text(encoding="utf-8"))
    except (InvalidAllowList, UnicodeDecodeError) as error:
        raise StreamsError(f"SAGER_VOUCHED, {file}: {error}; correct it, or unset it to have none") from None

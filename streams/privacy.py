"""The privacy filter as the settings have it; the worker and the materializer share it."""

from operators.language.privacy import PLACES, Privacy
from streams.language import RULES
from streams.settings import Settings

DEFAULT = Privacy(RULES)


def privacy_of(settings: Settings) -> Privacy:
    """Return the filter of skills, prompts and rows."""
    read_as_places = {domain for domain, parser in settings.parsers.items() if parser in PLACES}
    return Privacy(RULES if settings.privacy else None, allowed=settings.sensitive, places=PLACES | read_as_places)

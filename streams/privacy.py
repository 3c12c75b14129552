"""The privacy filter as the settings have it; the worker and the materializer share it."""

from operators.privacy import PLACES, Privacy
from streams.language import RULES
from streams.settings import Settings

DEFAULT = Privacy(RULES)


DEFAULT = Privacy(RULES)


def privacy_of(settings: Settings) -> Privacy:
    """What these settings let into skills, prompts and rows."""
    read_as_places = {domain for domain, parser in settings.parsers.items() if parser in PLACES}
    return Privacy(
        RULES if settings.privacy else None,
        allowed={domain: frozenset(categories) for domain, categories in settings.sensitive.items()},
        places=PLACES | read_as_places,
    )

"""What the words of a habit tell of a person and those around them, besides what the privacy filter finds.

Who says what they do every week tells where they are and with whom. A taste has neither, unless it is one for people.
"""

import re
from collections.abc import Iterator
from typing import Final

from operators.attributes import normalise
from operators.cards.alike import listed
from operators.cards.people import whom
from operators.privacy.persons import given_names

_NAME, _ADDRESS, _WHEREABOUTS, _SECRET, _HEALTH, _FINANCES = (
    "name", "address", "whereabouts", "secret", "health", "finances",
)  # fmt: skip
_COMPANY: Final = re.compile(r"\b(?:with|mit|bei|zu) ([^\W\d_a-z][\w'\u2019-]+)")
_OF_WORKS: Final = re.compile(
    r"(?i)\b(?:films?|movies?|series|shows?|songs?|books?|albums?|music|podcasts?|anything|everything|filmen?|serien?"
    r"|b\u00fccher|musik|lieder|alles|krimis?|com(?:edies|edy)|kom\u00f6dien?)\b"
)
"""What people play in, write or sing is called by their names."""
_CODE: Final = re.compile(
    r"(?<![\w.,])(?!(?:1\d|20)\d\ds?\b)\d{4,}\b"
    r"(?! (?:steps|schritte|pieces|teile|words|w\u00f6rter|calories|kcal|k?m)\b)"
    r"|\b(?=\w*\d)(?=\w*[a-z])\w{8,}\b",
    re.IGNORECASE,
)
_AT_A_NUMBER: Final = re.compile(r"\b(?:at|to|from) \d{1,4}[a-zA-Z]? (?!AM\b|PM\b|Uhr\b)[A-Z]\w+")
_ON_A_STREET: Final = re.compile(
    r"\b(?:on|at|in|near|along) (?:the )?[A-Z]\w+ (?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Close|Square)\b"
    r"|\b(?:in|an|auf) (?:der|dem|die) [A-Z\u00c4\u00d6\u00dc]\w+(?:stra\u00dfe|strasse|gasse|allee|platz|weg)\b"
)
_TAKES: Final = re.compile(r"(?i)^taking (?P<en>.+)$|^(?P<de>.+) nehmen$")
_COMPOUND: Final = re.compile(
    r"(?i)\b(?:asthma|gewerkschaft|kinderwunsch|diabet|blutzucker|insulin|migr\u00e4ne|epilep|schwanger|demenz)\w*"
    r"|\b\w+(?:klinik|therapie|krankheit|tabletten?|pillen?|spritzen?)\b"
)
"""German puts into one word what a list has as two."""
_PAYS: Final = re.compile(
    r"(?i)\d ?(?:euro|eur|\u20ac|dollars?|pounds?|quid)\b.*\b(?:zahlen|kredit|loan|debts?|rent|miete)\b"
)
_GOES: Final = re.compile(r"(?i)^going to (?P<en>.+)$|^(?:zu[rm]?|ins?|im|auf|an) (?P<de>.+) gehen$")
_AGAINST: Final = re.compile(r"(?i)\bgegen meine?[nrm]?\b")
"""German for what one takes something for."""


def tells(text: str) -> Iterator[str]:
    """What the words of a habit tell of a person and those around them, by kind.

    >>> list(tells("playing squash with Tobias Wexler")), list(tells("films with Tom Hanks"))
    (['name'], [])
    """
    named = (found[1].split("-")[0] for found in _COMPANY.finditer(text))
    if _OF_WORKS.search(text) is None and not given_names().isdisjoint(named):
        yield _NAME
    if _CODE.search(text):
        yield _SECRET
    if _AGAINST.search(text) or _COMPOUND.search(text) or _is_none_of("taken", _TAKES.search(text)):
        yield _HEALTH
    if _PAYS.search(text):
        yield _FINANCES
    if _AT_A_NUMBER.search(text) or _ON_A_STREET.search(text):
        yield _ADDRESS
    if _is_none_of("places", _GOES.search(text)):
        yield _WHEREABOUTS
    yield from whom(text)


def _is_none_of(name: str, done: re.Match[str] | None) -> bool:
    """Whether something is done with what no word of a list names."""
    return done is not None and listed(name).isdisjoint(normalise(done["en"] or done["de"]).split("-"))

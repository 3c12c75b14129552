"""Finders of credentials: each yields spans of a text, in bounded time."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.glance import digits_in
from operators.privacy.words import patterns

_KEYS: Final = re.compile(
    r"(?<![\w-])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}"
    r"|sk-[\w-]{16,255}|[sr]k_(?:live|test)_\w{10,255}|xox[abeprs]-[\w-]{10,255}|AIza[\w-]{30,60}|ya29\.[\w-]{20,255}"
    r"|hf_\w{20,100}|npm_\w{30,60}|pypi-[\w-]{16,255}|SG\.[\w-]{16,64}\.[\w-]{16,64}"
    r"|eyJ[\w-]{8,2000}\.[\w-]{8,2000}(?:\.[\w-]{0,2000})?)"
    r"|-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s]{0,4000}(?:-----END[A-Z ]{0,40}PRIVATE KEY-----)?"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,2000}=*"
)
_NAMED: Final = re.compile(
    rf"(?:{'|'.join(patterns('password'))})"
    r"(?:\s?[:=]\s?|\s?(?:is|ist|est|es|è|é|jest|это|是|は|는|은)\s?[:=]?\s?)(?P<value>[^\s,;]{4,255})",
    re.IGNORECASE,
)
_CARD_CODE: Final = re.compile(
    rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{'|'.join(patterns('card-codes'))})"
    r"(?:\s(?:of (?:my|the) card|meiner karte|de (?:ma carte|mi tarjeta)))?[\s:=]{0,3}"
    r"(?:(?:is|ist|est|es|è|é|to|это|är|是|は|는|은)[\s:]{0,2})?"
    r"(?P<value>\d{3,6})(?![\w.,:/-]?\d)",
    re.IGNORECASE,
)
_RANDOM: Final = re.compile(r"(?<![\w+/=])[A-Za-z0-9_+=]{24,512}+")
_MIN_BITS: Final = 3.8
"""Per character. Words joined by hand stay below, keys of that length lie above."""


def secrets(text: str) -> Iterator[Span]:
    """Keys by their makers' prefixes, passwords by their name, and other tokens that look drawn by lot."""
    yield from (found.span() for found in _KEYS.finditer(text))
    for found in _NAMED.finditer(text):
        value = found["value"]
        if re.search(r"[\d\W_]", value.rstrip(".!?")) and not value.startswith("["):
            yield found.span("value")
    yield from (found.span("value") for found in _CARD_CODE.finditer(text)) if digits_in(text) else ()
    for found in _RANDOM.finditer(text):
        if _is_random(found[0]):
            yield found.span()


def _is_random(token: str) -> bool:
    mixed = (str.isdigit, str.isupper, str.islower)
    if not all(any(test(c) for c in token) for test in mixed):
        return False
    counts = Counter(token)
    return -sum(n / len(token) * math.log2(n / len(token)) for n in counts.values()) >= _MIN_BITS

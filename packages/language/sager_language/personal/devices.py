"""Finders of credentials: each yields spans of a text, in bounded time."""

import hashlib
import ipaddress
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

from sager_language.personal.numbers import Span, plain
from sager_language.personal.text import digits_in, patterns
from sager_language.text import Lazy

_KEYS: Final = Lazy(
    r"(?<![\w-])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}"
    r"|sk-[\w-]{16,255}|[sr]k_(?:live|test)_\w{10,255}|xox[abeprs]-[\w-]{10,255}|AIza[\w-]{30,60}|ya29\.[\w-]{20,255}"
    r"|hf_\w{20,100}|npm_\w{30,60}|pypi-[\w-]{16,255}|SG\.[\w-]{16,64}\.[\w-]{16,64}"
    r"|eyJ[\w-]{8,2000}\.[\w-]{8,2000}(?:\.[\w-]{0,2000})?)"
    r"|-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s]{0,4000}(?:-----END[A-Z ]{0,40}PRIVATE KEY-----)?"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,2000}=*"
)
_NAMED: Final = Lazy(
    rf"(?:{'|'.join(patterns('password'))})"
    r"(?:\s?[:=]\s?|\s?(?:is|ist|est|es|è|é|jest|это|是|は|는|은)\s?[:=]?\s?)(?P<value>[^\s,;]{4,255})",
    re.IGNORECASE,
)
_CARD_CODE: Final = Lazy(
    rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{'|'.join(patterns('card-codes'))})"
    r"(?:\s(?:of (?:my|the) card|meiner karte|de (?:ma carte|mi tarjeta)))?[\s:=]{0,3}"
    r"(?:(?:is|ist|est|es|è|é|to|это|är|是|は|는|은)[\s:]{0,2})?"
    r"(?P<value>\d{3,6})(?![\w.,:/-]?\d)",
    re.IGNORECASE,
)
_RANDOM: Final = Lazy(r"(?<![\w+/=])[A-Za-z0-9_+=]{24,512}+")
# Per character. Words joined by hand stay below, keys of that length lie above.
_MIN_BITS: Final = 3.8


def secrets(text: str) -> Iterator[Span]:
    """Keys by prefix, passwords by name, and other tokens that look random."""
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


_DOT: Final = r"(?:\s?[\[({]?\s?\.\s?[\])}]?\s?|\s(?:dot|punkt|point|punto|ponto)\s)"
_V4: Final = re.compile(rf"(?<![\d.])\d{{1,3}}(?:{_DOT}\d{{1,3}}){{3}}(?![\d]|\.\d)", re.IGNORECASE)
_VERSION: Final = Lazy(r"(?:\bv|version|build|release|firmware|driver|patch|§|section|kapitel)\s?\.?$", re.IGNORECASE)
_FEWEST_DIGITS: Final = 4
_HIGHEST: Final = 255
_V6: Final = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,8}[0-9A-Fa-f]{0,4}(?:/\d{1,3})?(?![\w:])")
_SHORTEST_V6: Final = 6
_HARDWARE: Final = Lazy(
    r"(?<![\w:.-])(?:[0-9A-F]{2}([:. _-]))(?:[0-9A-F]{2}\1){4}[0-9A-F]{2}(?![\w:-])"
    r"|(?<![\w.])[0-9A-F]{4}\.[0-9A-F]{4}\.[0-9A-F]{4}(?![\w.])"
    r"|(?<![\w-])[0-9A-F]{8}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{4}-?[0-9A-F]{12}(?![\w-])",
    re.IGNORECASE,
)
_HEX_WORD: Final = Lazy(r"\d")


def networks(text: str) -> Iterator[Span]:
    """Addresses of both internet protocols, but no version numbers of software."""
    if digits_in(text) < _FEWEST_DIGITS and ":" not in text:
        return
    text = plain(text)
    for found in _V4.finditer(text):
        octets = [int(octet) for octet in re.findall(r"\d+", found[0])]
        if max(octets) <= _HIGHEST and max(octets) > 9 and not _VERSION.search(text, 0, found.start()):  # noqa: PLR2004
            yield found.span()
    for found in _V6.finditer(text):
        if len(found[0].replace(":", "")) >= _SHORTEST_V6 and _is_v6(found[0].partition("/")[0]):
            yield found.span()


def _is_v6(address: str) -> bool:
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def hardware(text: str) -> Iterator[Span]:
    """Device identifiers: network addresses and 128-bit ids."""
    if digits_in(text):
        yield from (found.span() for found in _HARDWARE.finditer(text) if _HEX_WORD.search(found[0]))


# --- wallets

_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RIPPLE: Final = "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz"
_COIN: Final = Lazy(r"(?<![A-Za-z0-9])[1-9A-HJ-NP-Za-km-z]{25,36}(?![A-Za-z0-9])")
_FORMED: Final = Lazy(
    r"(?<![A-Za-z0-9])(?:0x[0-9a-fA-F]{40}|(?:bc|tb|ltc|addr|cosmos|osmo|stake|kaspa|erd|terra|juno|bitcoincash|zil)"
    r"1?:?[02-9ac-hj-np-z]{25,103}|(?:BC|TB|LTC)1[02-9AC-HJ-NP-Z]{25,87}|4[1-9A-HJ-NP-Za-km-z]{94}"
    r"|(?:EQ|UQ)[\w-]{46}|G[A-Z2-7]{55})(?![A-Za-z0-9])"
)
_KEY_BYTES: Final = 25
_LONG: Final = Lazy(r"[\w-]{25}")


def wallets(text: str) -> Iterator[Span]:
    """Addresses of cryptocurrencies, by checksum or by an unmistakable form.

    >>> [text[a:b] for text in ["to 1BoatSLRHtKNngkdXEeobR76b53LETtpyT"] for a, b in wallets(text)]
    ['1BoatSLRHtKNngkdXEeobR76b53LETtpyT']
    """
    if not digits_in(text) or not _LONG.search(text):
        return
    yield from (found.span() for found in _FORMED.finditer(text))
    for found in _COIN.finditer(text):
        if any(_checks(found[0], alphabet) for alphabet in (_BASE58, _RIPPLE)):
            yield found.span()


def _checks(address: str, alphabet: str) -> bool:
    number = 0
    for character in address:
        if (digit := alphabet.find(character)) < 0:
            return False
        number = number * 58 + digit
    if number.bit_length() > _KEY_BYTES * 8:
        return False
    raw = number.to_bytes(_KEY_BYTES)
    sha = partial(hashlib.new, "sha256", usedforsecurity=False)
    return sha(sha(raw[:-4]).digest()).digest()[:4] == raw[-4:]


# --- places on the map

_FINE: Final = r"[-+\u2212]?\d{1,3}(?:\.\d{3,12}|,\d{4,12})\s?°?\s?"
_POINTS: Final = Lazy(
    rf"(?<![\d.])(?:[NS]\s?)?{_FINE}[NS]?\s?[,;/| ]\s?(?:lon\w*\W{{0,3}}|lng\W{{0,3}}|[EWO]\s?)?{_FINE}(?:[EWO]\b)?"
    r"(?![\d.])"
    r"|\d{1,3}\s?°\s?\d{1,2}(?:[.,]\d{1,6})?\s?['\u2032\u2019](?:\s?\d{1,2}(?:[.,]\d{1,6})?\s?[\"\u2033\u201d']{1,2})?"
    r"\s?[NSEWO]?\b(?:[\s,;]{0,3}\d{1,3}\s?°\s?\d{1,2}(?:[.,]\d{1,6})?\s?['\u2032\u2019]"
    r"(?:\s?\d{1,2}(?:[.,]\d{1,6})?\s?[\"\u2033\u201d']{1,2})?\s?[NSEWO]?\b)?"
    r"|\d{1,3}[.,]\d{1,6}\s?°?\s?[NS]\b[\s,;]{0,3}\d{1,3}[.,]\d{1,6}\s?°?\s?[EWO]\b"
    r"|\b[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}\b"
    r"|(?<!\w)///[^\W\d]+\.[^\W\d]+\.[^\W\d]+"
)


def points(text: str) -> Iterator[Span]:
    """Coordinates to at least three places, in degrees, minutes, or codes."""
    if digits_in(text) >= _FEWEST_DIGITS or "///" in text or "+" in text:
        yield from (found.span() for found in _POINTS.finditer(plain(text)))

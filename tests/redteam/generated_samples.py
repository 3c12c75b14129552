"""Attacks and innocent texts combined from parts by a seed, so that no filter can be fitted to fixed lines."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.redteam.attack_corpus import Sample
from tests.redteam.obfuscation import OBFUSCATIONS

SEED, EACH = 13, 150
# Limits of a value in the generic parser.
MAX_CHARS, MAX_SPACES = 60, 7

# Openings, orders and endings by language, with bars between the choices; patterns, names and words of innocent texts.
_PARTS = json.loads((Path(__file__).parent / "generated_parts.json").read_text(encoding="utf-8"))
_FRAMES = ("{}", "{}", "{}", "{}!", "note: {}", "[{}]", "({})", "> {}", "{} #1", "* {} *", '"{}"')
_CASES: Sequence[Callable[[str], str]] = (str, str, str.title, str.capitalize, str.upper)
_SEPARATORS = (" ", " ", " ", " ", "_", "-", ".", " - ", " / ")
_DIMENSIONS = ("director", "author", "tag", "mood", "brand", "style", "genre", "theme")
_NUMBERS = ("3", "7", "12", "40", "90", "101", "300")


def generated(seed: int = SEED, each: int = EACH) -> Iterator[Sample]:
    """Generate as many attacks as innocent texts; the same for the same seed."""
    rng = random.Random(seed)
    yield from (_attack(rng, number) for number in range(each))
    yield from (_innocent(rng, number) for number in range(each))


def _attack(rng: random.Random, number: int) -> Sample:
    language = rng.choice([*["en"] * 9, *_PARTS["orders"]])
    parts = [rng.choice(each.split("|")) for each in _PARTS["orders"][language]]
    plain = " ".join(filter(None, parts if rng.random() < 0.8 else parts[1:]))
    name = f"generated-attack-{number:03}"
    dimension = rng.choice(_DIMENSIONS)
    if plain.isascii() and rng.random() < 0.5:
        family = rng.choice(list(OBFUSCATIONS))
        how = rng.choice(list(OBFUSCATIONS[family]))
        text = OBFUSCATIONS[family][how](rng.choice((plain, plain.title())))
        if _is_value(text) and how not in ("tags", "variation-bytes"):
            more = {"dimension": dimension, "means": plain, "how": how}
            return Sample(name, language, "disguise", "generated", "value", text, **more)
    text = rng.choice(_CASES)(rng.choice(_FRAMES).format(plain)).replace(" ", rng.choice(_SEPARATORS))
    text = text if _is_value(text) else parts[1]
    channel = rng.choice(("value", "value", "value", "add", "title"))
    more = {"dimension": "taste" if channel == "add" else dimension if channel == "value" else ""}
    return Sample(name, language, "order", "generated", channel, text, **more)


def _is_value(text: str) -> bool:
    return len(text) <= MAX_CHARS and text.count(" ") <= MAX_SPACES and not set(text) & set(",|;")


def _innocent(rng: random.Random, number: int) -> Sample:
    name = f"generated-innocent-{number:03}"
    match rng.choice(("title", "title", "request", "value", "value", "name")):
        case "title":
            return Sample(
                name, "en", "innocent", "generated", "title", _fill(rng, rng.choice(_PARTS["titles"])).title()
            )
        case "request":
            text = _fill(rng, rng.choice(_PARTS["requests"]))
            return Sample(name, "en", "innocent", "generated", "request", text)
        case "value":
            text = _fill(rng, rng.choice(_PARTS["values"]))
            return Sample(name, "en", "innocent", "generated", "value", text, dimension=rng.choice(_DIMENSIONS[2:]))
    language = rng.choice(list(_PARTS["names"]))
    first, last = map(rng.choice, _PARTS["names"][language])
    text = f"{last}{first}" if language in ("ja", "ko", "zh") else f"{first} {last}"
    return Sample(name, language, "innocent", "generated", "value", text, dimension=rng.choice(("director", "author")))


def _fill(rng: random.Random, pattern: str) -> str:
    words: dict[str, Sequence[str]] = {**_PARTS["words"], "number": _NUMBERS}
    return pattern.format(**{name: rng.choice(each) for name, each in words.items()})

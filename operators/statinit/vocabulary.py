"""Closed sets of labels and their keywords, from `vocabulary.toml`."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from operators.statinit.text import MAX_LABEL, flatten
from schemas import Fact

# By domain, its labels and word lists.
TABLES: Final[Mapping[str, Any]] = tomllib.loads(
    files("operators.statinit").joinpath("vocabulary.toml").read_text(encoding="utf-8")
)


class Vocabulary:
    """A closed set of labels, matched by whole keywords, longest first.

    >>> tones = Vocabulary({"funny": "comedy, laugh out loud", "dark": "noir, grim"})
    >>> tones.find("A grim, laugh-out-loud COMEDY of errors; two comedies really")
    ['funny', 'dark']
    >>> tones.find_in(["grim comedy, dark comedy", "noir"])
    ['dark', 'funny']
    """

    def __init__(self, keywords: Mapping[str, str], without: str = "") -> None:
        # Without keywords that are ambiguous in prose.
        left_out = {form for word in without.split(",") for form in _forms(word)}
        pairs = (
            (label, form) for label, words in keywords.items() for word in words.split(",") for form in _forms(word)
        )
        self._label_of: Final = {form: label for label, form in pairs if form not in left_out}
        self._longest: Final = max(form.count(" ") + 1 for form in self._label_of)
        self._rank: Final = {label: rank for rank, label in enumerate(keywords)}
        self._in_label: Final = lru_cache(maxsize=8_192)(lambda text: frozenset(self._hits(text)))

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels that it can find, in its order."""
        return tuple(self._rank)

    def find(self, text: str, labels: Iterable[str] = ()) -> list[str]:
        """Return the labels whose keywords occur in a text or in labels."""
        return self._ranked(chain(self._hits(text), *map(self._in_label, labels)), 0.0)

    def find_in(self, texts: Iterable[str], floor: float = 0.0) -> list[str]:
        """Return the labels whose keywords occur in short texts, such as genres.

        Most mentioned first, then in the vocabulary's order; those with less than `floor` times the mentions of the
        first are left out.
        """
        return self._ranked(chain.from_iterable(self._in_label(each[:MAX_LABEL]) for each in texts), floor)

    def __contains__(self, text: str) -> bool:
        return flatten(text) in self._label_of

    def _hits(self, text: str) -> Iterator[str]:
        words = flatten(text).split()
        at = 0
        while at < len(words):
            for size in range(min(self._longest, len(words) - at), 0, -1):
                if label := self._label_of.get(" ".join(words[at : at + size])):
                    yield label
                    break
            at += size

    def _ranked(self, hits: Iterable[str], floor: float) -> list[str]:
        counts = Counter(hits)
        least = floor * max(counts.values(), default=0)
        ranked = sorted(counts, key=lambda label: (-counts[label], self._rank[label]))
        return [label for label in ranked if counts[label] >= least]


def _forms(word: str) -> tuple[str, ...]:
    flat = flatten(word)
    if flat.endswith("s") or not flat:
        return (flat,) if flat else ()
    if flat.endswith("y") and flat[-2:-1] not in ("a", "e", "o"):
        return flat, f"{flat[:-1]}ies"
    return flat, f"{flat}es" if flat.endswith(("ch", "sh", "x")) else f"{flat}s"


def closed_facts(**labels: Iterable[str]) -> tuple[Fact, ...]:
    """Return the facts of closed vocabularies, by dimension."""
    return tuple(Fact(dimension=dimension, value=value) for dimension, found in labels.items() for value in found)

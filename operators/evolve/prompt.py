"""The parts of a prompt about a choice, cut to its budget."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from operators.attributes import fact_id, normalise
from operators.language.output_policy import OutputGate, facet_words
from operators.llm import CORRECTION_TOKENS
from operators.prompts import as_data
from operators.tokens import count_tokens
from schemas import Attribute, Contrast, Facet, Fact, ItemFacts

MAX_LEFT = 9
MAX_LEFT_FACTS = 6
MAX_COMMUNITY = 7
MAX_ANALYSIS_CHARS = 400

_TITLE_CHARS, _FACT_CHARS, _FACET_CHARS, _REQUEST_CHARS = 80, 72, 90, 300
_NEAR_MISSES, _FEW = 3, 12

# Returns the quotation of a dimension and a value in prompts and answers.
Quote = Callable[[str, str], str]


@dataclass
class PromptDraft:
    """A prompt's parts during cutting, most important first in each.

    `attributes` are keyed by the answer's property, `facts` by their quotation. Unchosen items start with the easy
    contrasts. Facts in `keep`, by attribute id, are cut last.
    """

    title: str
    request: str
    community: list[str]
    attributes: dict[str, Attribute]
    facts: dict[str, Fact]
    left: list[str]
    keep: list[str]

    @classmethod
    def of(
        cls, contrast: Contrast, attributes: Mapping[str, Attribute], keep: list[str], gate: OutputGate, quote: Quote
    ) -> "PromptDraft":
        """Collect all parts of a contrast and these lines of the skill."""
        facts: dict[str, Fact] = {}
        for fact in contrast.chosen.facts:
            facts.setdefault(quote(fact.dimension, fact.value), fact)
        return cls(
            title=as_data(contrast.chosen.title, _TITLE_CHARS),
            request=as_data(contrast.instruction, _REQUEST_CHARS),
            community=_community(contrast.facets, gate),
            attributes=dict(attributes),
            facts=facts,
            # The last are the near-misses, which teach most (paper 2.5, Contrastive Input Construction).
            left=[_left_line(item, quote) for item in contrast.unchosen[-MAX_LEFT:]],
            keep=keep,
        )

    @property
    def blocks(self) -> dict[str, str]:
        """The parts by their tags."""
        return {
            "request": self.request or "(none)",
            "community": block_of(self.community),
            "left": block_of(self.left),
            "chosen": "\n".join([f"title: {self.title or '(none)'}", *(f"- {quoted}" for quoted in self.facts)]),
        }

    def fit(self, write: Callable[[], str], max_tokens: int) -> str | None:
        """Cut parts until the prompt fits; None without anything to ask."""
        while prompt := write():
            if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
                return prompt
            self.shrink()
        return None

    def shrink(self) -> None:
        """Remove the least informative part."""
        if len(self.left) > _NEAR_MISSES:
            self.left.pop(0)
        elif self.community:
            self.community.pop()
        elif len(self.attributes) > _FEW:
            self.attributes.popitem()
        elif len(self.facts) > _FEW:
            self._forget_a_fact()
        elif self.left:
            self.left.pop(0)
        elif self.request:
            self.request = ""
        elif len(self.attributes) >= len(self.facts):
            self.attributes.popitem()
        else:
            # Keep the last fact longest: without one there is nothing to ask.
            self._forget_a_fact()

    def _forget_a_fact(self) -> None:
        places = {name: place for place, name in enumerate(self.keep)}
        # max() takes the first of equals; the parser's last fact must go first.
        last_first = reversed(self.facts)
        del self.facts[max(last_first, key=lambda quoted: places.get(fact_id(self.facts[quoted]), len(places)))]


def quote_fact(dimension: str, value: str) -> str:
    """Quote a fact or a line in its own words."""
    return as_data(f"{dimension}: {value}", _FACT_CHARS)


def make_quote(contrast: Contrast, lines: Iterable[Attribute], gate: OutputGate) -> Quote:
    """Return the function that quotes facts and lines.

    It numbers the values that the gate rejects. A number is the same wherever its value appears, so the model can
    compare values that it must not read.
    """

    @cache  # items of a list have much in common
    def named(dimension: str, value: str) -> tuple[str, str]:
        return normalise(dimension), normalise(value)

    items = [contrast.chosen, *contrast.unchosen]
    having = Counter(name for item in items for name in {named(fact.dimension, fact.value) for fact in item.facts})
    for line in lines:
        name = named(line.dimension, line.value)
        having[name] = max(having[name], gate.evidence_items(line))
    numbers: dict[tuple[str, str], int] = {}

    @cache
    def quote(dimension: str, value: str) -> str:
        name = named(dimension, value)
        if gate.rejection(dimension, value, having[name]) is None:
            return quote_fact(dimension, value)
        about = dimension if gate.allows_dimension(dimension) else "fact"
        return quote_fact(about, f"no. {numbers.setdefault(name, len(numbers) + 1)}")

    return quote


def block_of(lines: Iterable[str]) -> str:
    """Join the lines between two tags."""
    return "\n".join(lines) or "(nothing)"


def _community(facets: Iterable[Facet], gate: OutputGate) -> list[str]:
    surest = sorted(facets, key=lambda facet: -facet.confidence)
    worded = ((facet_words(facet, gate), facet.confidence) for facet in surest)
    lines = (f"- {as_data(words, _FACET_CHARS)} | {sure:.0%} sure" for words, sure in worded if words)
    return list(dict.fromkeys(lines))[:MAX_COMMUNITY]


def _left_line(item: ItemFacts, quote: Quote) -> str:
    facts = "; ".join(quote(fact.dimension, fact.value) for fact in item.facts[:MAX_LEFT_FACTS])
    return f"- {as_data(item.title, _TITLE_CHARS) or '(no title)'} | {facts}"

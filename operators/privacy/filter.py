"""The privacy filter: one object that a worker and a materializer ask, with what their settings allow."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from operators.options import Category
from operators.privacy import numbered
from operators.privacy.glance import words_of
from operators.privacy.personal import FINDERS
from operators.privacy.persons import USERS
from operators.privacy.reading import line
from operators.privacy.redaction import Found, Redacted, redact, redact_turn
from operators.privacy.sensitive import of_fact
from operators.privacy.version import rules
from operators.privacy.wishes import wish_of
from schemas import Facet, Injected, ItemFacts, Wish

UNREADABLE: Final = "unreadable"
"""An item that the parser or this filter fails on (`operators.items`)."""
KINDS: Final = (
    *dict.fromkeys(kind for kind, _ in FINDERS), *(category.value for category in Category), UNREADABLE
)  # fmt: skip
"""What is found, as a metric's label and as the placeholder that stands in its place."""
TAKEN_OUT: Final = re.compile(r"\[(" + "|".join(map(re.escape, KINDS)) + r")\]")
"""A placeholder, with its kind."""
PLACES: Final = frozenset({"yelp", "places", "restaurants"})
"""Domains of places, where the part of a town is what people choose by."""
_LONG_ID: Final = 5


@dataclass(frozen=True)
class Privacy:
    """What may be kept.

    Attributes:
        on: whether anything is filtered at all.
        allowed: sensitive categories that may become lines of a skill, by domain; a domain that is not named may
            have none, a domain of places its locations.
        places: domains of places.
    """

    on: bool = True
    allowed: Mapping[str, frozenset[Category]] = field(default_factory=dict)
    places: frozenset[str] = PLACES

    def allows(self, domain: str) -> frozenset[Category]:
        """The categories that this domain may learn."""
        return self.allowed.get(domain, frozenset({Category.LOCATION} if domain in self.places else ()))

    def redact(self, text: str, domain: str, most: int = 2_000) -> Redacted:
        """The text without what is personal, of at most `most` characters if anything was; else the same text.

        >>> Privacy().redact("Write to anna@example.org, I am diabetic", "books").text
        'Write to [e-mail], I am [health]'
        """
        return redact(text, self.allows(domain), most) if self.on else Redacted(text)

    def told(self, text: str, domain: str, most: int) -> str:
        """What a model wrote about a person, or they said, fit to be kept: a word of a category is enough to go."""
        if not self.on:
            return text
        return redact(text, self.allows(domain), most, of_a_person=True).text

    def asked(self, instruction: str, domain: str) -> Redacted:
        """Redact a request, which is kept and shown."""
        return self.redact(instruction, domain)

    def turn(self, text: str, domain: str | None = None, before: str = "") -> Redacted:
        """A turn of a conversation, fit to be kept until it is thought over: redacted, its lines still lines.

        Args:
            text: as it was said.
            domain: what the conversation is about, if that is known.
            before: what was said right before it, by whomever: "What is your passport number?"

        >>> Privacy().turn("C01X00T47, and I like noir", before="Your passport number?").text
        '[id-number], and I like noir'
        """
        if not self.on or not text:
            return Redacted(text)
        return redact_turn(text, before, self.allows(domain or ""))

    def refuses(self, domain: str, dimension: str, value: str) -> str | None:
        """Why a line of this dimension and value may not be learned, as one of `KINDS`; None if it may.

        >>> Privacy().refuses("books", "genre", "christian fiction"), Privacy().refuses("books", "genre", "noir")
        ('religion', None)
        """
        if not self.on:
            return None
        kind, category = _judged(dimension, value)
        if kind is None or (category is not None and category in self.allows(domain)):
            return None
        return kind

    def named(self, domain: str, attribute_id: str) -> str | None:
        """What is private in an id that somebody made up, as one of `KINDS`: its words are joined by hyphens."""
        told = attribute_id.replace(":", " ")
        words = told.replace("-", " ")
        if (kind := self.refuses(domain, "id", told) or self.refuses(domain, "id", words)) is not None:
            return kind
        # Small letters hide a name; a line that speaks of a user at length has no other use.
        is_long = self.on and len(words.split()) > _LONG_ID
        return "name" if is_long and not words_of(words).isdisjoint(USERS) else None

    def item(self, item: ItemFacts, domain: str) -> tuple[ItemFacts, Found]:
        """The item with the facts that may be learned and a title fit to be shown, and what was taken away."""
        if not self.on:
            return item, {}
        reasons = [self.refuses(domain, fact.dimension, fact.value) for fact in item.facts]
        title = _title(item.title)
        if not title.found and not any(reasons):
            return item, {}
        found = Counter(why for why in reasons if why is not None)
        found.update(title.found)
        facts = tuple(fact for fact, why in zip(item.facts, reasons, strict=True) if why is None)
        return item.model_copy(update={"title": title.text, "facts": facts}), found

    def work(self, text: str, most: int) -> str:
        """The title or description of a work, of at most `most` characters if anything had to go."""
        return _of_a_work(text, most).text if self.on else text

    def injected(self, injected: Injected, domain: str) -> Injected:
        """What an app says that it put into a ranking, without what is private."""
        if not self.on:
            return injected
        kept: dict[str, object] = {}
        if injected.facets:
            kept["facets"] = self.fit(injected.facets, domain)
        if injected.slim_skill:
            kept["slim_skill"] = redact(injected.slim_skill, self.allows(domain), of_a_person=True).text
        for name in ("rank_skill", "reasoner", "arm"):
            if (value := getattr(injected, name)) and redact(value, self.allows(domain), of_a_person=True).found:
                kept[name] = None
        return injected.model_copy(update=kept) if kept else injected

    def fit(self, facets: tuple[Facet, ...], domain: str) -> tuple[Facet, ...]:
        """The facets that hold nothing private."""
        return tuple(facet for facet in facets if self._is_fit(facet, domain)) if self.on else facets

    def _is_fit(self, facet: Facet, domain: str) -> bool:
        names = (facet.attribute_id or "").replace(":", " ")
        if redact(facet.facet, self.allows(domain), of_a_person=True).found:
            return False
        return not names or self.refuses(domain, "id", names) is None

    @property
    def version(self) -> str:
        """A mark of what this filter refuses: another one where its rules, its words or the settings changed."""
        told = f"{rules()} {sorted((d, sorted(c)) for d, c in self.allowed.items())} {sorted(self.places)}"
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def wish(self, instruction: str) -> Wish | None:
        """What a person asks us to do with the choice that answers this instruction."""
        return wish_of(instruction) if self.on else None


DEFAULT: Final = Privacy()
OFF: Final = Privacy(on=False)
"""Lets everything through."""


@lru_cache(maxsize=65_536)
def _judged(dimension: str, value: str) -> tuple[str | None, Category | None]:
    """Why no domain may learn this, or the category in which only some may."""
    name = dimension.replace("_", " ")
    if personal := _personal_in(line(value)) or _personal_in(line(name)):
        return personal, None
    category = of_fact(dimension, value)
    return (category.value, category) if category else (None, None)


@lru_cache(maxsize=1_024)
def _personal_in(said: str) -> str | None:
    """The first kind of personal data in a fact, if any."""
    for kind, find in FINDERS:
        if next(find(said), None) is not None:
            return kind
    return numbered.ID if numbered.is_bare(said) else None


def _of_a_work(text: str, most: int) -> Redacted:
    """A title speaks of its work, not of a person: "I Am Legally Blind" stays; an e-mail address in it does not."""
    return redact(text, frozenset(Category), most, of_a_work=True)


@lru_cache(maxsize=16_384)
def _title(text: str) -> Redacted:
    return _of_a_work(text, 500)

"""The privacy policy: personal data that may enter skills, prompts and rows."""

import hashlib
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self, TypeVar

from operators.attributes import MAX_ID_CHARS
from operators.language.ports import KindCounts, RedactedText, Redactor
from operators.numbers import NO_NUMBERS, Numbers
from operators.options import Category
from operators.statinit import Parser, facts_of, generic
from schemas import MAX_FACTS, Candidate, Facet, Fact, Injected, ItemFacts, OptOut
from schemas.events import MAX_RANK_REASON
from schemas.items import MAX_EXCERPT

NameT = TypeVar("NameT", bound=str)
# The kind of an item that fails in `read_item`.
UNREADABLE: Final = "unreadable"
# Domains where users choose by the part of a town.
PLACES: Final = frozenset({"yelp", "places", "restaurants"})
_MAX_TITLE: Final = 500
_LONG_ID: Final = 5


@dataclass(frozen=True)
class _Unchanged:
    text: str
    found: KindCounts = field(default_factory=dict)


@dataclass(frozen=True)
class Privacy:
    """The rules for words, facts and items; none without a redactor.

    `allowed` has the sensitive categories of each domain; domains of `places` may learn locations.
    """

    redactor: Redactor | None
    allowed: Mapping[str, frozenset[Category]] = field(default_factory=dict)
    places: frozenset[str] = PLACES

    def allows(self, domain: str) -> frozenset[str]:
        """Return the categories that this domain may learn."""
        categories = self.allowed.get(domain, {Category.LOCATION} if domain in self.places else ())
        return frozenset(category.value for category in categories)

    @property
    def strict(self) -> Self:
        """The same policy without the exceptions of single domains."""
        return replace(self, allowed={}, places=frozenset())

    def redact(self, text: str, domain: str, most: int = 2_000) -> RedactedText:
        """Replace personal data by placeholders; shorten a changed text."""
        return self.redactor.redact(text, self.allows(domain), most) if self.redactor and text else _Unchanged(text)

    def redact_about_person(self, text: str, domain: str, most: int) -> RedactedText:
        """Redact a text about a person, with single sensitive words."""
        if self.redactor is None or not text:
            return _Unchanged(text)
        return self.redactor.redact_about_person(text, self.allows(domain), most)

    def redact_work(self, text: str, most: int) -> RedactedText:
        """Redact a title or description, but not "I Am Legally Blind"."""
        return self.redactor.redact_work(text, most) if self.redactor and text else _Unchanged(text)

    def turn(self, text: str, domain: str | None = None, before: str = "") -> RedactedText:
        """Redact a turn of a conversation."""
        if self.redactor is None or not text:
            return _Unchanged(text)
        return self.redactor.redact_turn(text, before, self.allows(domain or ""))

    def refuses(self, domain: str, dimension: str, value: str) -> str | None:
        """Return the kind of personal data that bars a line, if any."""
        if self.redactor is None:
            return None
        kind, category = self.redactor.refusal(dimension, value)
        if kind is None or (category is not None and category in self.allows(domain)):
            return None
        return kind

    def refuses_id(self, domain: str, attribute_id: str) -> str | None:
        """Return the kind of personal data in a model's hyphenated id."""
        if self.redactor is None:
            return None
        named = attribute_id[:MAX_ID_CHARS].replace(":", " ")
        words = named.replace("-", " ")
        # A hyphen may also replace the colon of "password: abc123".
        for text in (named, words, named.replace("-", ": ")):
            if (kind := self.refuses(domain, "id", text)) is not None:
                return kind
        # Lower case hides names, so a long id about a user counts as one.
        return "name" if len(words.split()) > _LONG_ID and self.redactor.speaks_of_a_user(words) else None

    def routine_kind(self, value: str) -> str | None:
        """Return the kind of personal data that a habit reveals."""
        return self.redactor.routine_kind(value) if self.redactor is not None else None

    def placeholders(self, text: str) -> tuple[str, ...]:
        """Return the kinds of the placeholders in a text, in order."""
        return self.redactor.placeholders(text) if self.redactor is not None else ()

    def opt_out(self, instruction: str) -> OptOut | None:
        """Return a request's instruction about remembering the choice."""
        return self.redactor.opt_out(instruction) if self.redactor is not None else None

    def item(self, item: ItemFacts, domain: str) -> tuple[ItemFacts, KindCounts]:
        """Return the item without private data, and the counts of removed kinds."""
        if self.redactor is None:
            return item, {}
        title, refusal = self.redactor.redact_work(item.title, _MAX_TITLE), self.redactor.refusal
        kinds = [refusal(fact.dimension, fact.value)[0] for fact in item.facts]
        excerpt = self.redact_work(item.excerpt, MAX_EXCERPT)
        if not title.found and not excerpt.found and not any(kinds):  # as most items, of which a choice has ten
            return item, {}
        reasons = [self.refuses(domain, fact.dimension, fact.value) for fact in item.facts]
        found = Counter(filter(None, reasons)) + Counter(title.found) + Counter(excerpt.found)
        if not found:
            return item, {}
        facts = tuple(fact for fact, why in zip(item.facts, reasons, strict=True) if why is None)
        return item.model_copy(update={"title": title.text, "facts": facts, "excerpt": excerpt.text}), found

    def injected(self, injected: Injected, domain: str) -> Injected:
        """Return an app's record of a ranking's inputs without personal data."""
        if self.redactor is None:
            return injected
        kept: dict[str, object] = {}
        if injected.facets:
            kept["facets"] = self.facets(injected.facets, domain)
        if injected.slim_skill:
            kept["slim_skill"] = self.redact_about_person(injected.slim_skill, domain, 2_000).text
        if injected.reasons:
            kept["reasons"] = self.redact_reasons(injected.reasons, domain)
        for name in ("rank_skill", "reasoner", "arm"):
            if (value := getattr(injected, name)) and self.redact_about_person(value, domain, 2_000).found:
                kept[name] = None
        return injected.model_copy(update=kept) if kept else injected

    def redact_reasons(self, reasons: Mapping[NameT, str], domain: str) -> dict[NameT, str]:
        """Return a model's reasons per item without personal data."""
        return {name: self.redact_about_person(text, domain, MAX_RANK_REASON).text for name, text in reasons.items()}

    def facets(self, facets: tuple[Facet, ...], domain: str) -> tuple[Facet, ...]:
        """Return the facets without personal data."""

        def is_private(facet: Facet) -> bool:
            names = (facet.attribute_id or "").replace(":", " ")
            refused = self.refuses(domain, "id", names) if names else None
            return refused is not None or bool(self.redact_about_person(facet.facet, domain, 2_000).found)

        return tuple(facet for facet in facets if not is_private(facet))

    @property
    def version(self) -> str:
        """A digest that changes with the rules, their words and the settings."""
        rules = self.redactor.version if self.redactor is not None else ""
        policy = f"{rules} {sorted((d, sorted(c)) for d, c in self.allowed.items())} {sorted(self.places)}"
        return hashlib.sha256(policy.encode()).hexdigest()[:16]


# For texts without personal data.
KEEP_ALL: Final = Privacy(None)


@dataclass(frozen=True)
class ReadItem:
    """An item as operators use it, with counts of removed private details.

    `failure` names the error that made it unreadable, without the item's text.
    """

    facts: ItemFacts
    found: KindCounts = field(default_factory=dict)
    failure: str = ""


def read_item(
    candidate: Candidate,
    domain: str,
    parser: Parser,
    privacy: Privacy,
    numbers: Numbers = NO_NUMBERS,
    quoted: tuple[Fact, ...] = (),
    *,
    with_excerpt: bool = False,
) -> ReadItem:
    """Parse an item without its private details; errors make it unreadable.

    Quoted facts that the parser did not find follow the parsed ones.
    """
    try:
        parsed = facts_of(generic.with_codes(candidate, numbers), parser, with_excerpt=with_excerpt)
        if quoted:
            both = dict.fromkeys((*parsed.facts, *quoted))
            parsed = parsed.model_copy(update={"facts": tuple(both)[:MAX_FACTS]})
        facts, found = privacy.item(parsed, domain)
    except Exception as error:  # one title must not stop every list that shows it
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
        return ReadItem(ItemFacts(item_id=candidate.item_id, unreadable=True), {UNREADABLE: 1}, where)
    return ReadItem(facts, found)

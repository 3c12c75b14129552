"""Reads a person's words about the items on screen."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final

from sager_language.corrections.language import LANGUAGES, Language, language_of
from sager_language.corrections.names import Names, may_be_named
from sager_language.corrections.phrases import Phrases
from sager_language.corrections.reading import MAX_READS, Read, Reader
from sager_language.corrections.tokens import tokens
from sager_language.corrections.units import Unit, units_of
from sager_language.personal import PLACEHOLDER, OptOut, find_opt_out
from sager_language.types import Fact, Item, Stance, Statement


class TasteOwner(Enum):
    """The person whose taste a text is about."""

    THE_PERSONS = 1
    ANOTHER = 2
    # Another person's, and perhaps the person's own: clauses with `I` are theirs.
    BOTH = 3


def taste_owner(text: str, spelt: str, language: Language) -> TasteOwner:
    """The person whose taste a text is about."""
    if language.for_person_too.search(spelt):
        return TasteOwner.THE_PERSONS
    if language.for_another.search(spelt):
        return TasteOwner.ANOTHER
    # It knows fifteen languages, and rather takes a wish for another person's.
    is_told = language.of_another.search(spelt) is not None or find_opt_out(text) is OptOut.FOR_ANOTHER
    return TasteOwner.BOTH if is_told else TasteOwner.THE_PERSONS


# A shorter text is no evidence of its language.
_FEW_WORDS: Final = 4


class Why(StrEnum):
    """The reason why a text states nothing."""

    FOR_ANOTHER = "for-another"
    # It contains placeholders of personal data.
    NOT_KEPT = "not-kept"
    # It gives orders to a machine, or means the opposite of its words.
    NOT_READ = "not-read"
    OTHER_LANGUAGE = "other-language"
    # It compares, and no item has the measure.
    NO_MEASURE = "no-measure"
    UNKNOWN_NAME = "unknown-name"
    # It names something, in no known sentence of a wish.
    NO_WISH = "no-wish"


@dataclass(frozen=True, slots=True)
class Correction:
    """The meaning of a correction.

    Attributes:
        reads: the statements with their words, in the order of the text.
        suits: ids of items that would do.
        language: BCP 47, of the words.
        why: why it states nothing; None where it states something.
        named: with `why`, the facts that the text names.
    """

    reads: tuple[Read, ...] = ()
    suits: tuple[str, ...] = ()
    language: str = ""
    why: Why | None = None
    named: tuple[Fact, ...] = ()


def read_correction(
    text: str,
    *,
    items: Sequence[Item] = (),
    known: Sequence[Fact] = (),
    vocabulary: Sequence[Fact] = (),
    domain: str = "",
    about: str | None = None,
    language: str = "",
) -> Correction:
    """Return a person's wishes, in English and German. Never raises."""
    words = [token.text for token in tokens(text)]
    spoken = _language(words, language)
    of = taste_owner(text, _spelt(words), spoken)
    if of is TasteOwner.ANOTHER:
        return _of_another(language or spoken.name)
    ids = [item.item_id for item in items]
    about = about or (ids[0] if len(ids) == 1 else None)
    names = Names(items, known, may_be_named(vocabulary, words, spoken.names), about, spoken.endings, spoken.names)
    domain_words = tuple(token.text for token in tokens(domain.replace("_", " ").replace(".", " ")))
    phrases = Phrases(names, spoken, domain_words, about)
    reader = Reader(text, spoken, phrases, items, about, only_of_me=of is TasteOwner.BOTH)
    units = units_of(text, names, spoken, ids, about)
    reading = reader.read(units)
    if numbers := {word for word in words if word[0].isdigit()}:
        # "Nothing before 2010" sets a bound, although "2010" also names the decade of a shown film, or a title.
        as_amounts = reader.read(units_of(text, names, spoken, ids, about, never_names=frozenset(numbers)))
        reading = max(reading, as_amounts, key=lambda each: len(each.says) + len(each.suits))
    reads = _settled(reading.says)
    if reads or reading.suits:
        return Correction(reads, tuple(dict.fromkeys(reading.suits)), spoken.name)
    if of is TasteOwner.BOTH:
        return _of_another(language or spoken.name)
    why, named = _why(text, words, units, spoken)
    return Correction(language=language, why=why, named=named)


def is_about_another(text: str, language: str = "") -> bool:
    """Return True if a text speaks of another person's taste."""
    words = [token.text for token in tokens(text)]
    return bool(words) and taste_owner(text, _spelt(words), _language(words, language)) is not TasteOwner.THE_PERSONS


def is_unread(text: str) -> bool:
    """Return True for orders to a machine and irony, which stay unread."""
    spelt = _spelt([token.text for token in tokens(text)])
    return any(language_of(name).unread.search(spelt) for name in LANGUAGES)


def warm() -> None:
    """Compile the patterns, so that the first correction does not wait."""
    for name in LANGUAGES:
        for pattern in language_of(name).patterns:
            pattern.sentence.compiled  # noqa: B018 - compiles


def _of_another(language: str) -> Correction:
    return Correction(language=language, why=Why.FOR_ANOTHER)


def _spelt(words: Sequence[str]) -> str:
    return "".join(f"{word} " for word in words)


def _why(text: str, words: Sequence[str], units: Sequence[Unit], language: Language) -> tuple[Why, tuple[Fact, ...]]:
    spelt = _spelt(words)
    if PLACEHOLDER.search(text):
        return Why.NOT_KEPT, ()
    if is_unread(text):
        return Why.NOT_READ, ()
    named = tuple(fact for unit in units if unit.named for fact in unit.named.facts)
    if named or any(unit.named for unit in units):
        return (Why.NO_WISH if named else Why.UNKNOWN_NAME), named
    if any(f" {phrase}" in f" {spelt}" for phrase in (*language.comparisons, *language.too)):
        return Why.NO_MEASURE, ()
    reserved = sum(word in language.reserved for word in words)
    is_known = len(words) < _FEW_WORDS or reserved > len(words) / 3
    return (Why.UNKNOWN_NAME if is_known else Why.OTHER_LANGUAGE), ()


def _language(words: Sequence[str], given: str) -> Language:
    known = {name: sum(word in language_of(name).reserved for word in words) for name in LANGUAGES}
    named = given.partition("-")[0]
    return language_of(max(LANGUAGES, key=lambda name: (known[name], name == named)))


def _settled(says: Sequence[Read]) -> tuple[Read, ...]:
    kept: list[Read] = []
    for read in says:
        kept = [other for other in kept if not _overtakes(read.statement, other.statement)]
        kept.append(read)
    return tuple(kept[:MAX_READS])


def _overtakes(said: Statement, before: Statement) -> bool:
    if said.bound is not None:
        other = before.bound
        sides = (said.bound.above is None, said.bound.below is None)
        return (
            other is not None
            and other.measure is said.bound.measure
            and (other.above is None, other.below is None) == sides
        )
    if (said.dimension, said.value, said.item_id) != (before.dimension, before.value, before.item_id):
        return False
    is_opposite = (said.stance is Stance.AVOIDS) != (before.stance is Stance.AVOIDS)
    return is_opposite or (said.stance, said.over) == (before.stance, before.over)

"""What a correction says: by its form where it has one, else by its words."""

from collections.abc import Sequence
from dataclasses import replace

from operators.privacy import DEFAULT
from operators.privacy.filter import TAKEN_OUT
from operators.understand.forms import filled_in
from operators.understand.known import examples_of, known_facts
from operators.understand.language import Language, language_of
from operators.understand.names import Names, may_be_named
from operators.understand.phrases import Phrases
from operators.understand.reading import MAX_READS, Reader
from operators.understand.tokens import tokens
from operators.understand.understood import About, Read, Understood
from operators.understand.units import Unit, units_of
from operators.understand.whose import Whose, whose
from operators.understand.words import LANGUAGES
from schemas import Correction, Directive, Fact, ItemFacts, NotUnderstood, PolicySkill, Stance

_HEALTH = "health"
_FEW_WORDS = 4
"""A shorter text is no evidence of its language."""


def understand(
    correction: Correction,
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    vocabulary: Sequence[Fact] = (),
    as_said: str = "",
) -> Understood:
    """Read what the person wants and does not want. Pure, never raises.

    Args:
        correction: with `says`, its form is taken as it is, unless the text beside it tells of somebody else's taste;
            else its text is read.
        items: the facts of what the person sees, in the order of the correction's `items`.
        skill: as it is now; its lines and statements are things that can be named.
        vocabulary: further facts of the domain that can be named.
        as_said: the text before the privacy filter. Only a health reason in it is read: "allergic to tofu" avoids tofu,
            and neither the reason nor its words are kept.
    """
    told = correction.language or ""
    if correction.says:
        if _tells_of_another(correction.text, told):
            return _of_another(told)
        reads = filled_in(correction, known_facts(items, skill, vocabulary))
        return Understood(reads, tuple(correction.suits), told)
    if not correction.text.strip():
        # The filter leaves nothing of a text that gives orders to a machine.
        why = NotUnderstood.NOT_READ if as_said.strip() and not correction.suits else None
        return Understood((), tuple(correction.suits), told, why=why)
    read = _by_words(correction, items, skill, vocabulary)
    if read.is_understood or read.about is not About.THE_PERSON or set(not_kept(correction.text)) != {_HEALTH}:
        return read
    reason = _by_words(correction.model_copy(update={"text": as_said}), items, skill, vocabulary)
    if not reason.is_understood:
        return reason if reason.about is About.ANOTHER else replace(read, why=NotUnderstood.NOT_KEPT)
    return replace(reason, says=tuple(replace(each, words="") for each in reason.says), unquoted=True)


def not_kept(text: str) -> tuple[str, ...]:
    """The kinds of private data that the filter removed from a text."""
    return tuple(dict.fromkeys(TAKEN_OUT.findall(text)))


def warm() -> None:
    """Make the languages' patterns ready, which takes some tenths of a second; else the first correction waits."""
    for name in LANGUAGES:
        language_of(name)


def worth_asking(correction: Correction, read: Understood) -> bool:
    """Whether a model may be asked what rules did not understand.

    Never about what is somebody else's taste, nor about texts that no pattern reads on purpose: those that would order
    a machine about, and those that mean the opposite of what they say.
    """
    if read.is_understood or read.about is not About.THE_PERSON or correction.says or not correction.text.strip():
        return False
    spelt = "".join(f"{token.text} " for token in tokens(correction.text))
    return not any(language_of(name).unread.search(spelt) for name in LANGUAGES)


def _by_words(
    correction: Correction,
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    vocabulary: Sequence[Fact],
    *,
    advises: bool = True,
) -> Understood:
    text, told = correction.text, correction.language or ""
    words = [token.text for token in tokens(text)]
    language = _language(words, told)
    of = whose(text, "".join(f"{word} " for word in words), language)
    if of is Whose.ANOTHER:
        return _of_another(told or language.name)
    ids = [item.item_id for item in items]
    about = correction.item_id or (ids[0] if len(ids) == 1 else None)
    names = Names(
        items, skill, may_be_named(vocabulary, words, language.names), about, language.endings, language.names
    )
    phrases = Phrases(names, language, _domain(correction.domain), about)
    reader = Reader(text, language, phrases, items, about, only_of_me=of is Whose.BOTH)
    units = units_of(text, names, language, ids, about)
    reading = reader.read(units)
    if numbers := {word for word in words if word[0].isdigit()}:
        # "Nothing before 2010" sets a bound, although "2010" also names the decade of a shown film, or a title.
        as_amounts = reader.read(units_of(text, names, language, ids, about, never_names=frozenset(numbers)))
        reading = max(reading, as_amounts, key=lambda each: len(each.says) + len(each.suits))
    says = _settled(reading.says, correction)
    wanted = {read.directive.item_id for read in says}
    suits = tuple(dict.fromkeys([*correction.suits, *(item for item in reading.suits if item not in wanted)]))
    if of is Whose.BOTH and not says and not reading.suits:
        return _of_another(told or language.name)
    if not says and not suits:
        why, named = _why(text, words, units, language)
        if not advises:
            return Understood(language=told, why=why)

        def is_understood(wish: str) -> bool:
            said = correction.model_copy(update={"text": wish})
            reads = _by_words(said, items, skill, vocabulary, advises=False).says
            return bool(reads) and not any(_is_private(each.directive) for each in reads)

        examples = examples_of(named or known_facts(items, skill, vocabulary), is_understood)
        return Understood(language=told, why=why, examples=examples)
    return Understood(says, suits, language.name)


def _of_another(language: str) -> Understood:
    return Understood(language=language, about=About.ANOTHER, why=NotUnderstood.FOR_ANOTHER)


def _why(
    text: str, words: Sequence[str], units: Sequence[Unit], language: Language
) -> tuple[NotUnderstood, tuple[Fact, ...]]:
    """The reason why these words state nothing, and the facts that they name."""
    spelt = "".join(f"{word} " for word in words)
    if TAKEN_OUT.search(text):
        return NotUnderstood.NOT_KEPT, ()
    if any(language_of(name).unread.search(spelt) for name in LANGUAGES):
        return NotUnderstood.NOT_READ, ()
    named = tuple(fact for unit in units if unit.named for fact in unit.named.facts)
    if named or any(unit.named for unit in units):
        return (NotUnderstood.NO_WISH if named else NotUnderstood.UNKNOWN_NAME), named
    if any(f" {phrase}" in f" {spelt}" for phrase in (*language.comparisons, *language.too)):
        return NotUnderstood.NO_MEASURE, ()
    known = sum(word in language.reserved for word in words)
    is_known = len(words) < _FEW_WORDS or known > len(words) / 3
    return (NotUnderstood.UNKNOWN_NAME if is_known else NotUnderstood.OTHER_LANGUAGE), ()


def _is_private(said: Directive) -> bool:
    return said.value is not None and DEFAULT.refuses("", said.dimension or "", said.value) is not None


def _tells_of_another(text: str, told: str) -> bool:
    words = [token.text for token in tokens(text)]
    spelt = "".join(f"{word} " for word in words)
    return bool(words) and whose(text, spelt, _language(words, told)) is not Whose.THE_PERSONS


def _language(words: Sequence[str], told: str) -> Language:
    """The language that knows most of the words; of those that know as many, the one that the app told."""
    known = {name: sum(word in language_of(name).reserved for word in words) for name in LANGUAGES}
    named = told.partition("-")[0]
    return language_of(max(LANGUAGES, key=lambda name: (known[name], name == named)))


def _domain(name: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens(name.replace("_", " ").replace(".", " ")))


def _settled(says: Sequence[Read], correction: Correction) -> tuple[Read, ...]:
    """Each thing once, and of what is wanted and not wanted the last; with the scope that the app told, if it did."""
    kept: list[Read] = []
    for read in says:
        kept = [other for other in kept if not _overtakes(read.directive, other.directive)]
        kept.append(read)
    if correction.scope is not None:
        kept = [Read(read.directive, read.words, correction.scope, read.pattern) for read in kept]
    return tuple(kept[:MAX_READS])


def _overtakes(said: Directive, before: Directive) -> bool:
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

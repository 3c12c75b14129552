"""Reads corrections from forms or words, and explains those without effect."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from operators.attributes import facts_of_ids, normalise
from operators.habit_directions import is_habit
from operators.language.ports import CorrectionReader, Interpretation, ReadDirective
from operators.language.privacy import Privacy
from operators.statinit.generic import dimension_of
from schemas import ANSWER_VALUES, Correction, Fact, ItemFacts, NotUnderstood, PolicySkill, is_answer_style

MAX_EXAMPLES: Final = 3
MAX_TRIED: Final = 12
MAX_EXAMPLE_CHARS: Final = 40
_DIMENSION: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
FORM: Final = "form"
_WORD_BREAK: Final = re.compile(r"[^a-z0-9]+")
MAX_CHARS: Final = 400
COUNTS_AS_CHOICE: Final = "No preference is stated. The suitable items count as a choice from the list shown."
LEARNING_STOPPED: Final = "No preference is stated, and this profile has stopped learning, so nothing is counted."
SUPERSEDED: Final = "A newer statement about the same value holds, so these words change nothing."
_WHY: Final[Mapping[NotUnderstood, str]] = {
    NotUnderstood.FOR_ANOTHER: "This is about another person's taste, so it changes nothing here.",
    NotUnderstood.NOT_READ: "These words command a machine or are ironic, so they are not read.",
    NotUnderstood.OTHER_LANGUAGE: "The rules read English and German; a configured model reads other languages too.",
    NotUnderstood.NO_MEASURE: "A comparison needs items with that measure, such as a price, and none was shown.",
}


def known_facts(items: Sequence[ItemFacts], skill: PolicySkill, vocabulary: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the distinct facts of the items, the skill and the vocabulary."""
    shown = (fact for item in items for fact in item.facts)
    learned = [(line.dimension, line.value) for line in skill.attributes if not is_habit(line.attribute_id)]
    facts = [each for each in skill.stated if each.item_id is None and each.bound is None]
    stated = [(each.dimension, each.value) for each in facts if not is_answer_style(each.dimension, each.value)]
    pairs = [pair for pair in (*learned, *stated) if _DIMENSION.fullmatch(pair[0])]
    named = (Fact(dimension=dimension, value=value) for dimension, value in pairs)
    return tuple(dict.fromkeys((*shown, *named, *facts_of_ids((), skill.hypotheses), *vocabulary)))


def example_facts(facts: Iterable[Fact], is_understood: Callable[[str], bool]) -> tuple[Fact, ...]:
    """Return a few facts of different dimensions that the rules understand."""
    found: dict[str, Fact] = {}
    for fact in [fact for fact in facts if len(fact.value) <= MAX_EXAMPLE_CHARS][:MAX_TRIED]:
        if fact.dimension not in found and all(map(is_understood, example_sentences(fact))):
            found[fact.dimension] = fact
    return tuple(found.values())[:MAX_EXAMPLES]


def example_sentences(fact: Fact) -> tuple[str, str]:
    """Return the two sentences that answers suggest.

    >>> example_sentences(Fact(dimension="genre", value="horror"))
    ('no horror', 'I like horror')
    """
    return f"no {fact.value}", f"I like {fact.value}"


def read_form(correction: Correction, facts: Sequence[Fact]) -> tuple[ReadDirective, ...]:
    """Read a form, with values as facts spell them, without impossible dimensions."""
    reads = []
    for statement in correction.directives:
        if statement.dimension is not None and statement.value is not None:
            dimension = dimension_name(statement.dimension)
            if not dimension or (dimension in ANSWER_VALUES and not is_answer_style(dimension, statement.value)):
                continue
            value = _spelt(dimension, statement.value, facts)
            over = None if statement.over is None else _spelt(dimension, statement.over, facts)
            statement = statement.model_copy(update={"dimension": dimension, "value": value, "over": over})  # noqa: PLW2901
        reads.append(ReadDirective(statement, "", correction.scope, FORM))
    return tuple(reads)


def dimension_name(key: str) -> str:
    """Return a metadata key as a dimension; empty if it is impossible.

    >>> dimension_name("primary connectivity mode"), dimension_name("Genres"), dimension_name("!")
    ('primary_connectivity_mode', 'genre', '')
    """
    if named := dimension_of(key):
        return named
    name = _WORD_BREAK.sub("_", key.lower()).strip("_")[:40].rstrip("_")
    return name if name[:1].isalpha() else ""


def _spelt(dimension: str, value: str, facts: Iterable[Fact]) -> str:
    name = normalise(value)
    return next((f.value for f in facts if f.dimension == dimension and normalise(f.value) == name), value)


def explanation(understood: Interpretation, not_kept: Sequence[str], domain: str, effect: str = "") -> str:
    """Explain a correction's failures to the person, in at most three sentences.

    >>> horror = Fact(dimension="genre", value="horror")
    >>> explanation(Interpretation(why=NotUnderstood.NO_WISH, examples=(horror,)), (), "films")
    'It is unclear whether horror (genre) is wanted. Say “no horror” or “I like horror”.'
    >>> explanation(Interpretation(), ("health",), "food")
    'Not kept, because it is private: health.'
    """
    sentences = [f"Not kept, because it is private: {', '.join(not_kept)}."] if not_kept else []
    sentences += [effect] if effect else []
    if understood.why is not None:
        sentences.append(_WHY.get(understood.why) or _by_names(understood.why, understood.examples, domain))
    return " ".join(sentences)[:MAX_CHARS]


def _by_names(why: NotUnderstood, examples: Sequence[Fact], domain: str) -> str:
    about = ", ".join(f"{fact.value} ({fact.dimension.replace('_', ' ')})" for fact in examples)
    reasons = {
        NotUnderstood.NOT_KEPT: "Nothing else was understood; say the wish alone.",
        NotUnderstood.NO_WISH: f"It is unclear whether {about or 'that item or value'} is wanted.",
    }
    reason = reasons.get(why, f"These words name no item and no value that {domain} has.")
    wishes = " or ".join(f"“{each}”" for each in (example_sentences(examples[0]) if examples else ()))
    return f"{reason} Say {wishes}." if wishes else reason


def understand(  # noqa: PLR0911 - one return for each kind of correction
    correction: Correction,
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    vocabulary: Sequence[Fact] = (),
    as_said: str = "",
    *,
    reader: CorrectionReader,
    privacy: Privacy,
) -> Interpretation:
    """Return the person's wishes.

    A form counts as it is, unless the text beside it is about another person. `items` are those that the person sees.
    From `as_said`, the text before redaction, only a health reason is read: "allergic to tofu" avoids tofu, and neither
    the reason nor its words are kept.
    """
    language = correction.language or ""
    known = known_facts((), skill, ())
    if correction.directives:
        if reader.is_about_another(correction.text, language):
            return Interpretation(language=language, is_about_another=True, why=NotUnderstood.FOR_ANOTHER)
        reads = read_form(correction, known_facts(items, skill, vocabulary))
        return Interpretation(reads, tuple(correction.acceptable), language)
    if not correction.text.strip():
        return Interpretation((), tuple(correction.acceptable), language)

    def read(text: str) -> Interpretation:
        found = reader.read(correction.model_copy(update={"text": text}), items, known, vocabulary)
        return _with_form_fields(found, correction)

    found = read(correction.text)
    if found.is_understood or found.is_about_another:
        return found
    if set(privacy.placeholders(correction.text)) == {"health"}:
        reason = read(as_said)
        if reason.is_understood:
            unquoted = tuple(replace(each, words="") for each in reason.directives)
            return replace(reason, directives=unquoted, unquoted=True)
        if reason.is_about_another:
            return reason
        found = replace(found, why=NotUnderstood.NOT_KEPT)

    def is_understood(wish: str) -> bool:
        read_wishes = [each.directive for each in read(wish).directives]
        return bool(read_wishes) and not any(
            each.value is not None and privacy.refuses("", each.dimension or "", each.value) for each in read_wishes
        )

    facts = found.examples or known_facts(items, skill, vocabulary)
    return replace(found, examples=example_facts(facts, is_understood))


def needs_model(correction: Correction, read: Interpretation, reader: CorrectionReader) -> bool:
    """Return True if a model may read words beyond the rules.

    It never reads about other people's taste, orders to a machine, or irony.
    """
    is_open = not read.is_understood and not read.is_about_another
    is_text = not correction.directives and bool(correction.text.strip())
    return is_open and is_text and not reader.is_unread(correction.text)


def _with_form_fields(found: Interpretation, correction: Correction) -> Interpretation:
    wanted = {read.directive.item_id for read in found.directives}
    suits = tuple(dict.fromkeys((*correction.acceptable, *(item for item in found.acceptable if item not in wanted))))
    says = tuple(replace(read, scope=correction.scope or read.scope) for read in found.directives)
    if says or suits:
        return replace(found, directives=says, acceptable=suits, why=None, examples=())
    return found

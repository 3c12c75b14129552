"""The meaning of a correction: by its form where it has one, else by its words."""

from collections.abc import Sequence
from dataclasses import replace

from operators.language.ports import CorrectionReader
from operators.language.understood import About, Read, Understood
from operators.privacy import Privacy
from operators.understand.forms import filled_in
from operators.understand.known import examples_of, known_facts
from schemas import Correction, Fact, ItemFacts, NotUnderstood, PolicySkill

_HEALTH = "health"


def understand(  # noqa: PLR0911 - one return for each kind of correction
    correction: Correction,
    items: Sequence[ItemFacts],
    skill: PolicySkill,
    vocabulary: Sequence[Fact] = (),
    as_said: str = "",
    *,
    reader: CorrectionReader,
    privacy: Privacy,
) -> Understood:
    """Return what a person wants and does not want. Pure, never raises.

    Args:
        correction: with `says`, its form is taken as it is, unless the text beside it speaks of another person; else
            its redacted text is read.
        items: the facts of what the person sees, in the order of the correction's `items`.
        skill: its lines and statements are things that can be named.
        vocabulary: further facts of the domain that can be named.
        as_said: the text before redaction. Only a health reason in it is read: "allergic to tofu" avoids tofu, and
            neither the reason nor its words are kept.
        reader: reads text by rules.
        privacy: names the placeholders in the text.
    """
    language = correction.language or ""
    known = known_facts((), skill, ())
    if correction.says:
        if reader.is_of_another(correction.text, language):
            return Understood(language=language, about=About.ANOTHER, why=NotUnderstood.FOR_ANOTHER)
        reads = filled_in(correction, known_facts(items, skill, vocabulary))
        return Understood(reads, tuple(correction.suits), language)
    if not correction.text.strip():
        return Understood((), tuple(correction.suits), language)

    def read(text: str) -> Understood:
        found = reader.read(correction.model_copy(update={"text": text}), items, known, vocabulary)
        return _as_told(found, correction)

    found = read(correction.text)
    if found.is_understood or found.about is not About.THE_PERSON:
        return found
    if set(privacy.placeholders(correction.text)) == {_HEALTH}:
        reason = read(as_said)
        if reason.is_understood:
            return replace(reason, says=tuple(replace(each, words="") for each in reason.says), unquoted=True)
        if reason.about is About.ANOTHER:
            return reason
        found = replace(found, why=NotUnderstood.NOT_KEPT)

    def is_understood(wish: str) -> bool:
        reads = read(wish).says
        return bool(reads) and not any(_is_private(each, privacy) for each in reads)

    facts = found.examples or known_facts(items, skill, vocabulary)
    return replace(found, examples=examples_of(facts, is_understood))


def worth_asking(correction: Correction, read: Understood, reader: CorrectionReader) -> bool:
    """Return True if a model may be asked about words that rules did not understand.

    Never about other people's taste, nor about texts that no pattern reads on purpose: orders to a machine, and irony.
    """
    if read.is_understood or read.about is not About.THE_PERSON or correction.says or not correction.text.strip():
        return False
    return not reader.is_unread(correction.text)


def _as_told(found: Understood, correction: Correction) -> Understood:
    """Add the items and the scope that the correction's own fields name."""
    wanted = {read.directive.item_id for read in found.says}
    suits = tuple(dict.fromkeys((*correction.suits, *(item for item in found.suits if item not in wanted))))
    says = found.says
    if correction.scope is not None:
        says = tuple(replace(read, scope=correction.scope) for read in says)
    is_understood = bool(says or suits)
    return replace(
        found,
        says=says,
        suits=suits,
        why=None if is_understood else found.why,
        examples=() if is_understood else found.examples,
    )


def _is_private(read: Read, privacy: Privacy) -> bool:
    said = read.directive
    return said.value is not None and privacy.refuses("", said.dimension or "", said.value) is not None

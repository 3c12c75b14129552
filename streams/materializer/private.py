"""Redacts free text for rows: the topics keep what apps sent, but analysts need not read it."""

from functools import singledispatch

from operators.evolve.validate import named
from operators.privacy import Privacy
from schemas import (
    Abstention,
    Candidate,
    Contrast,
    Correction,
    Directive,
    Feedback,
    Injected,
    Interaction,
    Item,
    Model,
    Ranking,
    RankRequest,
    SkillCommand,
    Wish,
)

_WITHHELD = "private:"
_NOTHING = Injected()
_MOST_WORDS = 2_000
"""Characters of what a person said that a row keeps: all that a correction may have."""


@singledispatch
def fit_to_keep(event: Model, privacy: Privacy) -> Model:
    """The event with personal data removed from its free text; most kinds were redacted by the worker."""
    return event


@fit_to_keep.register
def _item(event: Item | Interaction | Feedback, privacy: Privacy) -> Model:
    item = _candidate(event.item, privacy)
    return event if item is event.item else event.model_copy(update={"item": item})


@fit_to_keep.register
def _asked(event: RankRequest | Ranking | Contrast | Abstention, privacy: Privacy) -> Model:
    kept: dict[str, object] = {}
    if isinstance(event, Ranking) and event.injected != _NOTHING:
        kept["injected"] = privacy.injected(event.injected, event.domain)
    if isinstance(event, Contrast) and event.facets:
        kept["facets"] = privacy.facets(event.facets, event.domain)
    if event.instruction:
        forgets = privacy.wish(event.instruction) is Wish.NOT_REMEMBERED
        kept["instruction"] = "" if forgets else privacy.redact(event.instruction, event.domain).text
    return event.model_copy(update=kept) if kept else event


@fit_to_keep.register
def _said(event: Correction, privacy: Privacy) -> Model:
    """Of what is not to be remembered nothing stays but that something was said."""
    if event.text and privacy.wish(event.text) is Wish.NOT_REMEMBERED:
        return event.model_copy(update={"text": "", "says": (), "suits": ()})
    kept = {
        "text": privacy.redact_about_person(event.text, event.domain, _MOST_WORDS).text,
        "says": tuple([_directive(said, event.domain, privacy) for said in event.says]),
    }
    return event.model_copy(update=kept)


def _directive(said: Directive, domain: str, privacy: Privacy) -> Directive:
    dimension = said.dimension or ""
    told = {name: getattr(said, name) for name in ("value", "over")}
    kinds = {name: privacy.refuses(domain, dimension, value) for name, value in told.items() if value is not None}
    kept: dict[str, object] = {name: withheld(kind) for name, kind in kinds.items() if kind is not None}
    return said.model_copy(update={**kept, "dimension": "private"}) if kept else said


@fit_to_keep.register
def _command(event: SkillCommand, privacy: Privacy) -> Model:
    """What is refused stands there by its kind: the value must not outlive the refusal in DuckDB."""
    kept: dict[str, object] = {"reason": privacy.redact(event.reason, event.domain, 300).text}
    name = event.attribute_id or ""
    if (kind := kind_in_line(privacy, event.domain, name)) is not None:
        kept["attribute_id"] = withheld(kind)
    if event.value is not None and (kind := kind_in_value(privacy, event.domain, name, event.value)) is not None:
        kept["value"] = withheld(kind)
    if event.line is not None:
        kind = privacy.refuses(event.domain, event.line.dimension, event.line.value)
        if kind is not None:
            kept["line"] = event.line.model_copy(update={"dimension": "private", "value": withheld(kind)})
    return event.model_copy(update=kept)


def withheld(kind: str) -> str:
    """What stands in the place of something private.

    >>> withheld("phone")
    'private:phone'
    """
    return f"{_WITHHELD}{kind}"


def kind_in_line(privacy: Privacy, domain: str, attribute_id: str) -> str | None:
    """What is private in the id of a line that somebody typed, if anything."""
    if not attribute_id or attribute_id.startswith(_WITHHELD):
        return None
    return named(attribute_id, domain, privacy)


def kind_in_value(privacy: Privacy, domain: str, attribute_id: str, value: str) -> str | None:
    """What is private in a line's new words; the id of the line tells the dimension."""
    if value.startswith(_WITHHELD):  # the kind's name may be a word of that kind
        return None
    parts = attribute_id.split(":")
    return privacy.refuses(domain, parts[1] if len(parts) > 1 else "", value)


def _candidate(item: Candidate, privacy: Privacy) -> Candidate:
    title, description = privacy.redact_work(item.title, 500).text, privacy.redact_work(item.description, 4_000).text
    if title == item.title and description == item.description:
        return item
    return item.model_copy(update={"title": title, "description": description})

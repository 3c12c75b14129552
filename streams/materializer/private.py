"""Redacts free text for rows: the topics keep the apps' own bytes, but analysts need not read them."""

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
"""Characters of a correction's text in a row: all that a correction may have."""


@singledispatch
def redacted(event: Model, privacy: Privacy) -> Model:
    """Return the event without personal data in its free text; the worker has redacted most kinds."""
    return event


@redacted.register
def _item(event: Item | Interaction | Feedback, privacy: Privacy) -> Model:
    item: Candidate = event.item
    kept = {
        "title": privacy.redact_work(item.title, 500).text,
        "description": privacy.redact_work(item.description, 4_000).text,
    }
    return event.model_copy(update={"item": item.model_copy(update=kept)})


@redacted.register
def _ranked(event: RankRequest | Ranking | Contrast | Abstention, privacy: Privacy) -> Model:
    kept: dict[str, object] = {}
    if isinstance(event, Ranking) and event.injected != _NOTHING:
        kept["injected"] = privacy.injected(event.injected, event.domain)
    if isinstance(event, Contrast) and event.facets:
        kept["facets"] = privacy.facets(event.facets, event.domain)
    if event.instruction:
        forgets = privacy.wish(event.instruction) is Wish.NOT_REMEMBERED
        kept["instruction"] = "" if forgets else privacy.redact(event.instruction, event.domain).text
    return event.model_copy(update=kept)


@redacted.register
def _correction(event: Correction, privacy: Privacy) -> Model:
    """Keeps nothing of a correction that is not to be remembered but the fact that there was one."""
    if event.text and privacy.wish(event.text) is Wish.NOT_REMEMBERED:
        return event.model_copy(update={"text": "", "says": (), "suits": ()})
    kept = {
        "text": privacy.redact_about_person(event.text, event.domain, _MOST_WORDS).text,
        "says": tuple([_directive(each, event.domain, privacy) for each in event.says]),
    }
    return event.model_copy(update=kept)


def _directive(directive: Directive, domain: str, privacy: Privacy) -> Directive:
    values = {name: getattr(directive, name) for name in ("value", "over")}
    kept: dict[str, object] = {
        name: _WITHHELD + kind
        for name, value in values.items()
        if value is not None and (kind := privacy.refuses(domain, directive.dimension or "", value)) is not None
    }
    return directive.model_copy(update={**kept, "dimension": "private"}) if kept else directive


@redacted.register
def _command(event: SkillCommand, privacy: Privacy) -> Model:
    """Replaces a refused value by its kind: it must not outlive the refusal in DuckDB."""
    kept: dict[str, object] = {"reason": privacy.redact(event.reason, event.domain, 300).text}
    name, line = event.attribute_id or "", event.line
    # A value that is withheld already stays: the name of its kind may be a word of that kind.
    if name and not name.startswith(_WITHHELD) and (kind := named(name, event.domain, privacy)) is not None:
        kept["attribute_id"] = _WITHHELD + kind
    if event.value is not None and not event.value.startswith(_WITHHELD):
        dimension = [*name.split(":"), ""][1]
        if (kind := privacy.refuses(event.domain, dimension, event.value)) is not None:
            kept["value"] = _WITHHELD + kind
    if line is not None and (kind := privacy.refuses(event.domain, line.dimension, line.value)) is not None:
        kept["line"] = line.model_copy(update={"dimension": "private", "value": _WITHHELD + kind})
    return event.model_copy(update=kept)

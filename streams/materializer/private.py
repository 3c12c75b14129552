"""Redacts free text for rows: the topics keep what apps sent, but analysts need not read it."""

from functools import singledispatch

from operators.privacy import Privacy
from schemas import Candidate, Contrast, Interaction, Item, Model, Ranking, RankRequest, SkillCommand, Wish


@singledispatch
def fit_to_keep(event: Model, privacy: Privacy) -> Model:
    """The event with personal data removed from its free text; most kinds were redacted by the worker."""
    return event


@fit_to_keep.register
def _item(event: Item | Interaction, privacy: Privacy) -> Model:
    item = _candidate(event.item, privacy)
    return event if item is event.item else event.model_copy(update={"item": item})


@fit_to_keep.register
def _asked(event: RankRequest | Ranking | Contrast, privacy: Privacy) -> Model:
    if not event.instruction:
        return event
    if privacy.wish(event.instruction) is Wish.NOT_REMEMBERED:
        return event.model_copy(update={"instruction": ""})
    return event.model_copy(update={"instruction": privacy.redact(event.instruction, event.domain).text})


@fit_to_keep.register
def _command(event: SkillCommand, privacy: Privacy) -> Model:
    return event.model_copy(update={"reason": privacy.redact(event.reason, event.domain, 300).text})


def _candidate(item: Candidate, privacy: Privacy) -> Candidate:
    title, description = privacy.work(item.title, 500), privacy.work(item.description, 4_000)
    if title == item.title and description == item.description:
        return item
    return item.model_copy(update={"title": title, "description": description})

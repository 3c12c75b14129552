"""Redacts free text in rows; topics keep the original bytes of apps."""

from operators.evolve.proposals import private_kind
from operators.language.privacy import Privacy
from schemas import Correction, Item, Model, OptOut, SkillCommand
from schemas.events import Abstention, Contrast, Feedback, Injected, Interaction, Ranking, RankRequest

_WITHHELD, _NOTHING = "private:", Injected()


def redacted(event: Model, privacy: Privacy) -> Model:
    """Return the event without personal data in its free text."""
    kept: dict[str, object] = {}
    match event:
        case Item(item=item) | Interaction(item=item) | Feedback(item=item):
            title = privacy.redact_work(item.title, 500).text
            description = privacy.redact_work(item.description, 4_000).text
            kept["item"] = item.model_copy(update={"title": title, "description": description})
        case RankRequest() | Ranking() | Contrast() | Abstention():
            if isinstance(event, Ranking) and event.injected != _NOTHING:
                kept["injected"] = privacy.injected(event.injected, event.domain)
            if isinstance(event, Contrast) and event.facets:
                kept["facets"] = privacy.facets(event.facets, event.domain)
            if event.instruction:
                forgets = privacy.opt_out(event.instruction) is OptOut.NOT_REMEMBERED
                kept["instruction"] = "" if forgets else privacy.redact(event.instruction, event.domain).text
        case Correction(text=text) if text and privacy.opt_out(text) is OptOut.NOT_REMEMBERED:
            # Keep only the fact that there was a correction.
            kept = {"text": "", "acceptable": ()}
        case Correction():
            kept["text"] = privacy.redact_about_person(event.text, event.domain, 2_000).text
        case SkillCommand():
            kept = _of_command(event, privacy)
    return event.model_copy(update=kept) if kept else event


def _of_command(event: SkillCommand, privacy: Privacy) -> dict[str, object]:
    # A refused value is replaced by its kind: it must not outlive the refusal in DuckDB.
    kept: dict[str, object] = {"reason": privacy.redact(event.reason, event.domain, 300).text}
    name, line = event.attribute_id or "", event.line
    # A withheld value stays: the name of its kind may itself be refused.
    if name and not name.startswith(_WITHHELD) and (kind := private_kind(name, event.domain, privacy)) is not None:
        kept["attribute_id"] = _WITHHELD + kind
    if event.value is not None and not event.value.startswith(_WITHHELD):
        dimension = [*name.split(":"), ""][1]
        if (kind := privacy.refuses(event.domain, dimension, event.value)) is not None:
            kept["value"] = _WITHHELD + kind
    if line is not None and (kind := privacy.refuses(event.domain, line.dimension, line.value)) is not None:
        kept["line"] = line.model_copy(update={"dimension": "private", "value": _WITHHELD + kind})
    return kept

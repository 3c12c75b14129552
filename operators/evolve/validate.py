"""Evidence or nothing (invariant 8): validates every reasoner's proposal before the merge."""

from dataclasses import dataclass, replace
from itertools import islice

from operators.attributes import MAX_ID_CHARS, fact_id, fact_ids
from operators.evolve.proposal import Proposal
from operators.privacy import OFF, Privacy
from schemas import MAX_ATTRIBUTES, ChangeKind, Contrast, Fact, PolicySkill, Refusal, Refused


@dataclass(frozen=True)
class Validated:
    """The part of a proposal that has evidence, and what was refused."""

    proposal: Proposal
    refused: tuple[Refused, ...] = ()


def encodable(text: str) -> str:
    """Replace lone surrogates: JSON may spell them, UTF-8 cannot, and the diff must be written."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def refusal(attribute_id: str, proposed: ChangeKind, why: Refusal, kind: str | None = None) -> Refused:
    """Record a change without evidence; a private attribute is recorded only by the kind of its private data."""
    if kind is not None:
        return Refused(attribute_id=f"private:{kind}", proposed=proposed, why=Refusal.PRIVATE)
    return Refused(attribute_id=encodable(attribute_id)[:200].ljust(3, "?"), proposed=proposed, why=why)


def named(attribute_id: str, domain: str, privacy: Privacy) -> str | None:
    """Return the kind of private data in an invented id, if any."""
    return privacy.refuses_id(domain, attribute_id[:MAX_ID_CHARS])


def validate(proposal: Proposal, skill: PolicySkill, contrast: Contrast, privacy: Privacy) -> Validated:
    """Keep reinforced and weakened attributes that exist, and discovered facts that the chosen item has.

    A discovered attribute that exists is a reinforcement; one that is both reinforced and weakened counts as
    reinforced (the paper leaves both open). Nothing private is discovered: `operators.steps` removes it from the chosen
    item. A judgement stays if there is such a line, and its quotation if the chosen item has the fact.
    """
    domain = contrast.domain
    known = {attribute.attribute_id for attribute in skill.attributes}
    stated = contrast.chosen.facts[::-1]
    offered = dict(zip(fact_ids(stated), stated, strict=True))
    refused: list[Refused] = []

    def refuse(attribute_id: str, proposed: ChangeKind, why: Refusal) -> None:
        refused.append(refusal(attribute_id, proposed, why, named(attribute_id, domain, privacy)))

    reinforced = [name for name in dict.fromkeys(proposal.reinforced) if name in known]
    for name in dict.fromkeys(proposal.reinforced):
        if name not in known:
            refuse(name, ChangeKind.REINFORCED, Refusal.UNKNOWN)
    discovered: dict[str, Fact] = {}
    for fact in proposal.discovered:
        name = fact_id(fact)
        if name not in offered and (kind := privacy.refuses(domain, fact.dimension, fact.value)) is not None:
            refused.append(refusal(name, ChangeKind.DISCOVERED, Refusal.PRIVATE, kind))
        elif name not in offered:
            refuse(name, ChangeKind.DISCOVERED, Refusal.UNSUPPORTED)
        elif name in known:
            reinforced.append(name)
        else:
            # In the item's own spelling: a model's may differ where identity does not look.
            discovered[name] = offered[name]
    weakened: list[str] = []
    for name in dict.fromkeys(proposal.weakened):
        if name not in known:
            refuse(name, ChangeKind.WEAKENED, Refusal.UNKNOWN)
        elif name in reinforced:
            refuse(name, ChangeKind.WEAKENED, Refusal.ALSO_REINFORCED)
        else:
            weakened.append(name)
    # Texts of rules consist of what is in the skill already.
    redaction = privacy if proposal.reasoned_by.model else OFF

    def free_text(text: str, most: int) -> str:
        return redaction.redact_about_person(encodable(text), domain, most).text

    judged = (
        said.model_copy(update={"quoted": offered.get(fact_id(said.quoted)) if said.quoted else None})
        for said in proposal.judged
        if said.attribute_id in known
    )
    honest = replace(
        proposal,
        reinforced=tuple(dict.fromkeys(reinforced)),
        discovered=tuple(discovered.values()),
        weakened=tuple(weakened),
        reasons={name: free_text(reason, 300) for name, reason in proposal.reasons.items()},
        analysis=free_text(proposal.analysis, 4_000),
        judged=tuple(islice(judged, MAX_ATTRIBUTES)),
    )
    # A faulty model can name thousands of ids; the log keeps enough of them to show it.
    return Validated(honest, tuple(refused[:64]))

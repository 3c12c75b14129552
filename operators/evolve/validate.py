"""Evidence or nothing (invariant 8): what any reasoner says goes through here before the merge sees it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from operators.attributes import fact_id
from operators.evolve.proposal import Proposal
from schemas import ChangeKind, Contrast, Fact, PolicySkill, Refusal, Refused


@dataclass(frozen=True)
class Validated:
    """The part of a proposal that stands on evidence, and what was refused."""

    proposal: Proposal
    refused: tuple[Refused, ...]


def _distinct(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: JSON may spell them, UTF-8 cannot, and the diff must be written."""
    return text.encode("utf-8", "replace").decode()


def refusal(attribute_id: str, proposed: ChangeKind, why: Refusal) -> Refused:
    """The record of what did not stand on evidence, whatever the name is made of."""
    name = encodable(attribute_id)[:200].ljust(3, "?")
    return Refused(attribute_id=name, proposed=proposed, why=why)


def validate(proposal: Proposal, skill: PolicySkill, contrast: Contrast) -> Validated:
    """Only attributes that exist are reinforced or weakened, only facts of the chosen item are discovered.

    A discovered attribute that exists is a reinforcement; one that is both reinforced and weakened counts as
    reinforced (the paper leaves both open).
    """
    known = {attribute.attribute_id for attribute in skill.attributes}
    offered = {fact_id(fact): fact for fact in reversed(contrast.chosen.facts)}
    refused: list[Refused] = []

    def refuse(attribute_id: str, proposed: ChangeKind, why: Refusal) -> None:
        refused.append(refusal(attribute_id, proposed, why))

    reinforced: list[str] = []
    for name in _distinct(proposal.reinforced):
        if name in known:
            reinforced.append(name)
        else:
            refuse(name, ChangeKind.REINFORCED, Refusal.UNKNOWN)
    discovered: dict[str, Fact] = {}
    for fact in proposal.discovered:
        name = fact_id(fact)
        if name not in offered:
            refuse(name, ChangeKind.DISCOVERED, Refusal.UNSUPPORTED)
        elif name in known:
            reinforced.append(name)
        else:
            # In the item's own spelling: a model's may differ where identity does not look.
            discovered[name] = offered[name]
    weakened: list[str] = []
    for name in _distinct(proposal.weakened):
        if name not in known:
            refuse(name, ChangeKind.WEAKENED, Refusal.UNKNOWN)
        elif name in reinforced:
            refuse(name, ChangeKind.WEAKENED, Refusal.ALSO_REINFORCED)
        else:
            weakened.append(name)
    honest = replace(
        proposal,
        reinforced=_distinct(reinforced),
        discovered=tuple(discovered.values()),
        weakened=tuple(weakened),
        reasons={name: encodable(reason) for name, reason in proposal.reasons.items()},
        analysis=encodable(proposal.analysis),
    )
    # A lying model can name thousands of ids; the log keeps enough of them to see it.
    return Validated(honest, tuple(refused[:64]))

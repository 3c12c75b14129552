"""Reasoners without a model, and the validation of proposals (invariant 8)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Protocol

from operators.attributes import fact_id, fact_ids
from operators.evolve.quotes import MAX_QUOTED, Quotation, line_values, private_kind, refusal_of
from operators.language.output_policy import OutputGate
from operators.language.privacy import KEEP_ALL, Privacy
from operators.options import EvolveMode
from operators.statinit.text import label
from schemas import Contrast, Fact, Judgement, PolicySkill, Provenance, RefusalReason, RefusedProposal, SkillChangeKind
from schemas.skills import MAX_ATTRIBUTES, MAX_QUOTE, Tier


@dataclass(frozen=True)
class Proposal:
    """The three phases' outcome (paper 2.5), the most informative discovery first.

    `quoted` are discoveries in the item's text. `reasons` are by attribute id. No code uses the `analysis`.
    """

    reinforced: tuple[str, ...] = ()
    discovered: tuple[Fact, ...] = ()
    quoted: tuple[Quotation, ...] = ()
    weakened: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    analysis: str = ""
    judged: tuple[Judgement, ...] = ()
    reasoned_by: Provenance = field(default_factory=Provenance)

    @property
    def is_empty(self) -> bool:
        """True if the proposal adds nothing to the counts."""
        moves = self.reinforced or self.discovered or self.quoted or self.weakened
        return not (moves or self.reasons or self.analysis or self.judged)


class ReasonerUnavailable(Exception):
    """The reasoner cannot answer: outage, budget or an invalid reply.

    `outcome` is a metric label, such as `timeout`; `detail` is for people.
    """

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome, self.detail = outcome, detail


class Reasoner(Protocol):
    """Turns a contrast into a proposal."""

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes to the skill, or raise ReasonerUnavailable."""


# Dimensions in which a single choice says most, best first; the others follow.
_INFORMATIVE = "genre category director author mood ambience qualifier price meal rating era".split()  # noqa: SIM905
# More offered facts make small models discover common ones.
MAX_OFFERED = 12
# A fact that more of the unchosen items have does not explain the choice.
COMMON_SHARE = 0.5
# Dimensions where another value can contradict a taste. Another director contradicts nothing.
CONTRADICTABLE = frozenset({"ambience", "category", "genre", "meal", "mood", "price", "qualifier", "rating"})

COUNTS = Provenance(reasoner="counts")
_NOTHING = Proposal(reasoned_by=COUNTS)


@dataclass(frozen=True)
class CountedContrast:
    """A contrast in counts, by attribute id.

    `share` is the share of the unchosen items with a fact, and `spoken` has the attributes of the community's facets.
    """

    facts: Mapping[str, Fact]
    share: Mapping[str, float]
    spoken: frozenset[str]

    @classmethod
    def of(cls, contrast: Contrast) -> "CountedContrast":
        """Count a contrast."""
        facts = dict(zip(fact_ids(contrast.chosen.facts), contrast.chosen.facts, strict=True))
        seen = Counter(chain.from_iterable(set(fact_ids(item.facts)) for item in contrast.unchosen))
        others = len(contrast.unchosen) or 1
        share = {name: seen.get(name, 0) / others for name in facts}
        spoken = frozenset(facet.attribute_id for facet in contrast.facets if facet.attribute_id is not None)
        return cls(facts, share, spoken)

    def most_informative(self) -> list[str]:
        """Sort the chosen item's facts by dimension, then community facets, then rarity."""

        def key(name: str) -> tuple[int, bool, float]:
            dimension = self.facts[name].dimension
            place = _INFORMATIVE.index(dimension) if dimension in _INFORMATIVE else len(_INFORMATIVE)
            return place, name not in self.spoken, self.share[name]

        return sorted(self.facts, key=key)

    def new_facts(self, skill: PolicySkill) -> list[str]:
        """Return informative facts without a line that most unchosen items lack."""
        known_ids = _known_ids(skill)
        offered = self.most_informative()[:MAX_OFFERED]
        return [name for name in offered if name not in known_ids and self.share[name] <= COMMON_SHARE]


def _known_ids(skill: PolicySkill) -> set[str]:
    # A value that was only left so far is still news.
    return {line.attribute_id for line in skill.attributes if line.support or line.tier}


@dataclass(frozen=True)
class RulesReasoner:
    """Reinforces rare shared facts, discovers the rarest ones, and seldom weakens."""

    # A fact that more of the unchosen items have does not explain the choice.
    common_share: float = 0.25
    discoveries: int = 2
    near_misses: int = 5
    name: str = "rules"

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes by rule, without a call."""
        return self.propose(contrast, skill)

    def propose(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes without an event loop."""
        choice = CountedContrast.of(contrast)
        known_ids = _known_ids(skill)
        rare = [name for name in choice.facts if choice.share[name] <= self.common_share]

        reinforced = [name for name in rare if name in known_ids]
        weakened = list(self._weaken(contrast, skill, choice))
        others = len(contrast.unchosen)
        reasons = {
            name: f"taken, and {round(choice.share[name] * others)} of {others} left items have it"
            for name in reinforced
        }
        reasons |= dict.fromkeys(weakened, "left at a near miss, and the taken item has another value")
        fresh = [name for name in choice.most_informative() if name in rare and name not in known_ids]
        return Proposal(
            reinforced=tuple(reinforced),
            discovered=tuple(choice.facts[name] for name in fresh[: self.discoveries]),
            weakened=tuple(weakened),
            reasons=reasons,
            reasoned_by=Provenance(reasoner=self.name),
        )

    def _weaken(self, contrast: Contrast, skill: PolicySkill, choice: CountedContrast) -> Iterator[str]:
        answered = {fact.dimension for fact in choice.facts.values()}
        loyal = {a.dimension for a in skill.attributes if a.attribute_id in choice.facts}
        at_stake = (answered & CONTRADICTABLE) - loyal
        near_miss_facts = {fact_id(fact) for item in contrast.unchosen[-self.near_misses :] for fact in item.facts}
        for attribute in skill.attributes:
            is_sure = attribute.dimension in at_stake and attribute.tier >= Tier.MEDIUM
            if is_sure and attribute.attribute_id in near_miss_facts:
                yield attribute.attribute_id


@dataclass(frozen=True)
class CountsReasoner:
    """Adds nothing to the counts."""

    name: str = "counts"

    async def reason(self, _contrast: Contrast, _skill: PolicySkill) -> Proposal:
        """Return an empty proposal."""
        return _NOTHING

    def propose(self, _contrast: Contrast, _skill: PolicySkill) -> Proposal:
        """Return an empty proposal without an event loop."""
        return _NOTHING


def without_model(mode: EvolveMode) -> CountsReasoner | RulesReasoner:
    """Return the reasoner of a mode without a model."""
    return CountsReasoner() if mode is EvolveMode.EVIDENCE else RulesReasoner()


@dataclass(frozen=True)
class ValidatedProposal:
    """The part of a proposal with evidence, and the refused changes."""

    proposal: Proposal
    refused: tuple[RefusedProposal, ...] = ()


def encodable(text: str) -> str:
    """Replace lone surrogates, which JSON allows and UTF-8 cannot encode."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def refused_change(
    attribute_id: str, proposed: SkillChangeKind, why: RefusalReason, kind: str | None = None
) -> RefusedProposal:
    """Record a change without evidence; a private id only by its kind."""
    if kind is not None:
        return RefusedProposal(attribute_id=f"private:{kind}", proposed=proposed, why=RefusalReason.PRIVATE)
    return RefusedProposal(attribute_id=encodable(attribute_id)[:200].ljust(3, "?"), proposed=proposed, why=why)


def _supported_quotations(
    quoted: Iterable[Quotation], skill: PolicySkill, contrast: Contrast, privacy: Privacy, gate: OutputGate | None
) -> tuple[dict[str, Quotation], list[RefusedProposal]]:
    """Return the quotations with evidence by attribute id, and the refused ones."""
    kept: dict[str, Quotation] = {}
    refused: list[RefusedProposal] = []
    for place, ((dimension, value), quote) in enumerate(quoted):
        short = Fact(dimension=encodable(dimension)[:40], value=label(encodable(value)))
        quotation = Quotation(short, " ".join(encodable(quote[: 2 * MAX_QUOTE]).split())[:MAX_QUOTE])
        why: RefusalReason | None = RefusalReason.CAPPED
        if place < MAX_QUOTED and gate is not None:
            why = refusal_of(quotation, contrast.chosen, line_values(skill), gate)
        name = fact_id(short)
        kind = private_kind(quotation, contrast.domain, privacy) or privacy.refuses_id(contrast.domain, name)
        if why is None and kind is None:
            kept.setdefault(name, quotation)
        else:
            refused.append(refused_change(name, SkillChangeKind.DISCOVERED, why or RefusalReason.PRIVATE, kind))
    return kept, refused


def validate(
    proposal: Proposal, skill: PolicySkill, contrast: Contrast, privacy: Privacy, gate: OutputGate | None = None
) -> ValidatedProposal:
    """Keep the changes that have evidence in the choice.

    Reinforced and weakened attributes must exist; discovered facts must be the chosen item's, and quotations in its
    text. Existing discoveries count as reinforced, and reinforcement wins over weakening (the paper leaves both open).
    Without a gate no quotation is kept.
    """
    domain = contrast.domain
    known = {attribute.attribute_id for attribute in skill.attributes}
    stated = contrast.chosen.facts[::-1]
    offered = dict(zip(fact_ids(stated), stated, strict=True))
    refused: list[RefusedProposal] = []

    def refuse(name: str, proposed: SkillChangeKind, why: RefusalReason, kind: str | None = None) -> None:
        refused.append(refused_change(name, proposed, why, kind or privacy.refuses_id(domain, name)))

    reinforced: list[str] = []
    for name in dict.fromkeys(proposal.reinforced):
        if name in known:
            reinforced.append(name)
        else:
            refuse(name, SkillChangeKind.REINFORCED, RefusalReason.UNKNOWN)
    discovered: dict[str, Fact] = {}
    for fact in proposal.discovered:
        name = fact_id(fact)
        if name not in offered:
            kind = privacy.refuses(domain, fact.dimension, fact.value)
            refuse(name, SkillChangeKind.DISCOVERED, RefusalReason.UNSUPPORTED, kind)
        elif name in known:
            reinforced.append(name)
        else:
            # Keep the item's spelling: a model's may differ in ways that ids ignore.
            discovered[name] = offered[name]
    quoted, unquoted = _supported_quotations(proposal.quoted, skill, contrast, privacy, gate)
    refused += unquoted
    weakened: list[str] = []
    for name in dict.fromkeys(proposal.weakened):
        if name not in known:
            refuse(name, SkillChangeKind.WEAKENED, RefusalReason.UNKNOWN)
        elif name in reinforced:
            refuse(name, SkillChangeKind.WEAKENED, RefusalReason.ALSO_REINFORCED)
        else:
            weakened.append(name)
    # Texts of rules only repeat the skill, which is redacted already.
    redaction = privacy if proposal.reasoned_by.model else KEEP_ALL

    def free_text(text: str, most: int) -> str:
        return redaction.redact_about_person(encodable(text), domain, most).text

    judged = (
        judgement.model_copy(update={"quoted": judgement.quoted and offered.get(fact_id(judgement.quoted))})
        for judgement in proposal.judged
        if judgement.attribute_id in known
    )
    kept = replace(
        proposal,
        reinforced=tuple(dict.fromkeys(reinforced)),
        discovered=tuple(discovered.values()),
        quoted=tuple(quoted.values()),
        weakened=tuple(weakened),
        reasons={name: free_text(reason, 300) for name, reason in proposal.reasons.items()},
        analysis=free_text(proposal.analysis, 4_000),
        judged=tuple(islice(judged, MAX_ATTRIBUTES)),
    )
    # A faulty model can name thousands of ids; the log keeps enough of them to show it.
    return ValidatedProposal(kept, tuple(refused[:64]))

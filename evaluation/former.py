"""The learning rule before numbers and predictions, to compare with."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from evaluation.plans import Plan
from evaluation.skill_arms import Rule, SkillArm, _Player
from operators.attributes import RankedLine, fact_id, facts_of_ids, from_fact
from operators.learning.document import fits_document
from operators.learning.evidence import ListEvidence, decay, initial_expected
from operators.learning.limits import DEFAULT_LIMITS, eviction_order, is_unconfirmed
from operators.learning.tiers import tier_of
from operators.statinit import facts_of, parser_for
from schemas import ONE, Abstention, Attribute, AttributeSource, Candidate, Contrast, PolicySkill, Profile, Tier

_EARNED = AttributeSource.DISCOVERED


def ratio_tier(line: RankedLine) -> Tier:
    """The tier of a line by its counts, as before lines had to prove themselves."""
    return tier_of(line.taken, line.expected, AttributeSource.GLOBAL)


class FormerArm(SkillArm):
    """Skills that count facts against the shares of the list.

    Integers are facts; a list's numbers and the domain's tastes do not rank, nor does a line that is taken less than
    1.1 times as often as offered. It has no drift test and no limit on a line's cost.
    """

    def __init__(self, rule: Rule, plan: Plan, *args: Any, **options: Any) -> None:
        parser = parser_for(plan.domain, {})
        facts = {item_id: facts_of(_with_integers(item), parser) for item_id, item in plan.items.items()}
        unmeasured = {item_id: found.model_copy(update={"measures": {}}) for item_id, found in facts.items()}
        super().__init__(rule, replace(plan, facts=unmeasured), *args, **options)

    def _first_skill(self, user_id: str, profile: Profile | None, usual: Mapping[str, int]) -> PolicySkill:
        skill = super()._first_skill(user_id, profile, usual)
        # It knew no hypotheses: all values of the history are lines.
        facts = {fact_id(fact): fact for fact in facts_of_ids((), skill.hypotheses)}
        lines = [
            from_fact(facts[name], Tier.SILENT, _EARNED, counts=counts[:2])
            for name, counts in skill.hypotheses.items()
            if name in facts
        ]
        return skill.model_copy(update={"attributes": (*skill.attributes, *lines), "hypotheses": {}})

    def _lines(self, skill: PolicySkill) -> list[RankedLine]:
        return [line for line in super()._lines(skill) if ratio_tier(line)]

    async def _evolve(self, user_id: str, contrast: Contrast, popularity: Mapping[str, int]) -> None:
        del popularity
        player = self._players[user_id]
        skill, shown = player.skill, ListEvidence.of((contrast.chosen,), contrast.unchosen)
        now = skill.contrasts + 1
        lines = [_counted(line, shown, now) for line in skill.attributes]
        if now >= DEFAULT_LIMITS.global_patience:
            lines = [line for line in lines if not is_unconfirmed(line)]
        known = {line.attribute_id for line in skill.attributes}
        met = skill.contrasts + max([line.support for line in skill.attributes], default=0)
        for fact in contrast.chosen.facts:
            if (name := fact_id(fact)) not in known:
                counts = ONE, initial_expected(player.usual.get(name, 0), shown.shares[name], met)
                lines.append(from_fact(fact, Tier.LOW, _EARNED, counts=counts, confirmed_at=now, support=1))
        lines = _within_limits(lines, shown.taken, player.usual)
        after = {"attributes": tuple(lines), "contrasts": now, "version": skill.version + 1}
        player.skill = skill.model_copy(update=after)

    def _weigh(self, player: _Player, skill: PolicySkill, contrast: Contrast | Abstention) -> None:
        super()._weigh(player, skill.model_copy(update={"attributes": tuple(self._lines(skill))}), contrast)


def _with_integers(item: Candidate) -> Candidate:
    # A text of digits is a fact still.
    whole = {key: str(value) for key, value in item.metadata.items() if type(value) is int}
    return item.model_copy(update={"metadata": {**item.metadata, **whole}})


def _counted(line: Attribute, shown: ListEvidence, now: int) -> Attribute:
    name, taken = line.attribute_id, decay(line.taken)
    after: dict[str, object] = {"taken": taken, "expected": decay(line.expected) + shown.shares.get(name, 0)}
    if name in shown.taken:
        after |= {"taken": taken + ONE, "support": line.support + 1, "confirmed_at": now}
    counted = line.model_copy(update=after)
    return counted.model_copy(update={"tier": ratio_tier(counted)})


def _within_limits(lines: list[Attribute], taken: Collection[str], usual: Mapping[str, int]) -> list[Attribute]:
    for gone in eviction_order(tuple(lines), {}, taken, usual):
        if len(lines) <= DEFAULT_LIMITS.attributes and fits_document(lines, DEFAULT_LIMITS.characters):
            break
        lines = [line for line in lines if line is not gone]
    return lines

"""From knobs to an arm: who reasons with them, and which lines of a skill rank."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from operators.evolve import (
    Proposal,
    Reasoner,
    ReasonerUnavailable,
    Replacement,
    Replacer,
    RulesReplacer,
    without_model,
)
from operators.options import EvolveMode
from operators.whatif import Popularity, Side, Usual
from schemas import Attribute, Contrast, PolicySkill, ReasonedBy
from streams.settings import OnLlmFailure, ReasonerName, Settings
from streams.steps import evolve_of, rank_of
from streams.whatif.arms.knobs import Knobs
from streams.worker.reasoning.llm import arm_reasoner

Shares = Callable[[str], Mapping[str, float] | None]
"""Which share of a domain's users holds an attribute."""


def side_of(
    knobs: Knobs,
    shares: Shares,
    purpose: str = "replay",
    *,
    fallback: bool = True,
    usual: Usual = lambda _: None,
    popularity: Popularity = lambda _: None,
) -> Side:
    """An arm with these knobs, and with an LLM client of its own: no failure of it is anybody else's.

    Args:
        knobs: its configuration.
        shares: tells what distinguishes, for slim skills that rank.
        purpose: what the arm is for, in the metrics of LLM calls.
        usual: by domain, what is to be expected of anybody.
        popularity: by domain, how many users took an item lately.
        fallback: rules answer in the stead of a model that does not, where `on_llm_failure` says so. Else nobody does.
    """
    settings, anew = knobs.settings, knobs.settings.evolve_mode is EvolveMode.REPLACE
    asked = _Asked(knobs, purpose, fallback and settings.on_llm_failure is OnLlmFailure.RULES)
    return Side(
        evolve_of(settings, knobs.limits),
        asked.rewrite if anew else asked.reason,
        partial(lines_that_rank, settings, shares),
        usual,
        popularity,
    )


def lines_that_rank(settings: Settings, shares: Shares, skill: PolicySkill, contrast: Contrast) -> Sequence[Attribute]:
    """The lines that the deterministic ranker goes by with these settings."""
    return rank_of(settings).lines(skill, contrast.instruction, shares(skill.domain))


@dataclass
class _Asked:
    """The reasoner of an arm, and who answers in its stead."""

    knobs: Knobs
    purpose: str
    fallback: bool

    def __post_init__(self) -> None:
        self._rules_replacer = RulesReplacer(common_share=self.knobs.rules.common_share)
        self._without_model = without_model(self.knobs.settings.evolve_mode, self.knobs.rules)
        self._reasoner: Reasoner = self._without_model
        self._replacer: Replacer = self._rules_replacer
        if self.knobs.settings.reasoner is ReasonerName.LLM:
            self._reasoner, self._replacer = arm_reasoner(self.knobs.settings, self.purpose)

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        try:
            return await self._reasoner.reason(contrast, skill)
        except ReasonerUnavailable as error:
            if not self.fallback:
                raise
            return replace(
                self._without_model.propose(contrast, skill), reasoned_by=_instead(error, self._without_model.name)
            )

    async def rewrite(self, contrast: Contrast, skill: PolicySkill) -> Replacement:
        try:
            return await self._replacer.replace(contrast, skill)
        except ReasonerUnavailable as error:
            if not self.fallback:
                raise
            return replace(self._rules_replacer.rewrite(contrast), reasoned_by=_instead(error, "rules"))


def _instead(error: ReasonerUnavailable, name: str) -> ReasonedBy:
    return ReasonedBy(reasoner=name, fallback=str(error)[:200])

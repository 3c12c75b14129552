"""Hosts that rank by themselves, with and without a slim skill (paper 3.3, Figures 3 to 5), without a model.

Both arms of a host go through the same round of warm-up, which the host observes. Only the skill differs.
"""

from collections.abc import Sequence
from dataclasses import replace

from evaluation.arms.options import ArmOptions
from evaluation.arms.sager import Parts, Sager, Situation
from evaluation.hosts import HOSTS, HostRequest
from schemas import ItemFacts
from streams.importers.dataset import Visit

ROUNDS = 1
"""The paper's tau for hosts."""


class Hosted(Sager):
    """A host, with a slim skill or with an empty one.

    Args:
        host: its name in `evaluation.hosts.HOSTS`.
        skill: whether it gets a slim skill.
        options: the seed and the slim skill's budget; `tau` is the paper's for hosts.
    """

    def __init__(self, host: str, options: ArmOptions, *, skill: bool) -> None:
        name = f"{host}+skill" if skill else host
        super().__init__(Parts(name, retrieve=False, skill=skill), replace(options, tau=min(ROUNDS, options.tau)))
        self._host = HOSTS[host](None)
        self._taken: dict[str, list[ItemFacts]] = {}

    @property
    def _evolves(self) -> bool:
        # Without a skill the host goes through the warm-up all the same.
        return True

    async def _prepare(self, user_id: str) -> None:
        visits = self._split.training[user_id]
        known = visits[: self._replayed(visits).start]
        self._taken[user_id] = [self._split.facts[visit.item_id] for visit in known]
        await super()._prepare(user_id)

    async def _warm_up(self, user_id: str, place: int, visits: Sequence[Visit]) -> None:
        await super()._warm_up(user_id, place, visits)
        shown = [self._split.facts[item_id] for item_id in self.rounds[-1].order]
        self._host.observe(HostRequest(user_id, shown, history=self._taken[user_id]), visits[place].item_id)
        self._taken[user_id].append(self._split.facts[visits[place].item_id])

    async def _order(self, now: Situation, items: Sequence[ItemFacts], instruction: str, seed: str) -> tuple[str, ...]:
        short = self._slim(now.skill, instruction).text if self._parts.skill else ""
        return await self._host.rank(
            HostRequest(now.user_id, items, instruction, self._taken[now.user_id], short, seed)
        )


def vanilla(options: ArmOptions) -> Hosted:
    """No memory."""
    return Hosted("vanilla", options, skill=False)


def vanilla_skill(options: ArmOptions) -> Hosted:
    """No memory, and a skill."""
    return Hosted("vanilla", options, skill=True)


def static_profile(options: ArmOptions) -> Hosted:
    """A profile made once."""
    return Hosted("static-profile", options, skill=False)


def static_profile_skill(options: ArmOptions) -> Hosted:
    """A profile made once, and a skill."""
    return Hosted("static-profile", options, skill=True)


def dynamic_profile(options: ArmOptions) -> Hosted:
    """A profile that choices rewrite."""
    return Hosted("dynamic-profile", options, skill=False)


def dynamic_profile_skill(options: ArmOptions) -> Hosted:
    """A profile that choices rewrite, and a skill."""
    return Hosted("dynamic-profile", options, skill=True)

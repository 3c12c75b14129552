"""The population template out of the users' own statistics (paper 2.3 (i), App. D): deterministic, no LLM call.

Only counts of users leave this module, and no attribute's that fewer users than the floor hold: what is rare may be one
person's. How many users are light or heavy is told as it is: an amount of use is nobody's taste.
"""

from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from operators.attributes import fact_ids
from operators.statinit import statinit
from schemas import MAX_POPULAR, Attribute, GlobalSkill, Memory, Profile, ReasonedBy, Source, Tier
from schemas.fields import Domain

MAX_SHARES = 512
MAX_TOLD_USUAL = 256
"""What fewer items have is hardly to be expected of anybody; 64 would do."""
PLACES = frozenset({"area", "city"})
"""Where somebody is follows from their request, not from where the others are."""


@dataclass(frozen=True)
class GlobalLimits:
    """What enters a global skill; ours to decide, the paper only shows one.

    Attributes:
        floor: an attribute that fewer users hold is told nobody, neither as a share nor as a line.
        items_floor: an item that fewer users took is not told. Fewer than the floor: how many took an item is nobody's
            taste, and rankings ask for companions of as many (`SAGER_SUPPORT_FLOOR`).
        template_share: an attribute that this share of the users holds is a line for new users.
        medium_share: from this share on the line is medium, and may reach the slim skill; below, low.
        lines: most lines of the template.
        least_lines: so many lines, if that many attributes pass the floor, however small their shares are.
        per_dimension: most lines of one dimension: five moods that everybody likes say less than two.
        elsewhere: dimensions that are no line.
    """

    floor: int = 5
    items_floor: int = 2
    template_share: float = 0.2
    medium_share: float = 0.4
    lines: int = 12
    least_lines: int = 3
    per_dimension: int = 4
    elsewhere: frozenset[str] = PLACES

    def __post_init__(self) -> None:
        if self.floor < 1:
            raise ValueError(f"the floor must be at least 1 user, not {self.floor}")


DEFAULT_LIMITS = GlobalLimits()


@dataclass(frozen=True, slots=True)
class Held:
    """An attribute and how many users hold it at medium or above."""

    attribute: Attribute
    users: int


class Takes(NamedTuple):
    """How often a fact was taken, and by how many users."""

    times: int
    users: int


NOTHING = Takes(0, 0)


class Population:
    """Counts over the users of one domain, one profile after the other; the order changes nothing.

    Memory does not grow with the users: at most `tracked` attributes are counted. When there are more, those with the
    fewest users go, in the main names that a single user holds. One that comes again begins at nought, so that a count
    is never too high; only then does the order matter.
    """

    def __init__(self, domain: Domain, tracked: int = 20_000) -> None:
        if tracked < 1:
            raise ValueError(f"at least 1 attribute must be tracked, not {tracked}")
        self.domain = domain
        self.users = 0
        self._tracked = tracked
        self._held: dict[str, Held] = {}
        self._takes: dict[str, Takes] = {}
        self._visits = 0
        self._met: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, profile: Profile) -> None:
        """Counts one more user. A user without interactions is skipped. Each user may be added only once.

        Raises:
            ValueError: the profile is of another domain.
        """
        if profile.domain != self.domain:
            raise ValueError(f"a profile of {profile.domain!r} is none of {self.domain!r}")
        if not profile.interactions:
            return
        self.users += 1
        for attribute in statinit(profile):
            if attribute.tier >= Tier.MEDIUM:
                self._count(attribute)
        self._take(profile)
        if len(self._held) > self._tracked:
            kept = sorted(self._held.items(), key=lambda pair: (-pair[1].users, pair[0]))
            # A quarter is freed at once: sorting at every user would cost too much.
            self._held = dict(kept[: max(1, self._tracked * 3 // 4)])

    def _take(self, profile: Profile) -> None:
        """Count the facts of what a user took lately: at most 15 items, so that nobody's word is much of the whole."""
        taken = Counter(name for facts in profile.recent for name in fact_ids(facts))
        self._visits += len(profile.recent)
        for name, times in taken.items():
            known = self._takes.get(name, NOTHING)
            self._takes[name] = Takes(known.times + times, known.users + 1)
        if len(self._takes) > self._tracked:
            most = sorted(self._takes.items(), key=lambda pair: (-pair[1].times, pair[0]))
            self._takes = dict(most[: max(1, self._tracked * 3 // 4)])

    def usual(self, floor: int) -> dict[str, float]:
        """In which share of what was lately taken the item has a fact: the commonest that this many users took."""
        common = [(name, takes.times) for name, takes in self._takes.items() if takes.users >= floor]
        common.sort(key=lambda pair: (-pair[1], pair[0]))
        return {name: _share(times, self._visits) for name, times in common[:MAX_TOLD_USUAL]}

    def met(self, memory: Memory) -> None:
        """Count what one more user took lately. Each user may be counted once only.

        Raises:
            ValueError: the memory is of another domain.
        """
        if memory.domain != self.domain:
            raise ValueError(f"a memory of {memory.domain!r} is none of {self.domain!r}")
        for item_id in {taken.item_id for taken in memory.taken}:
            self._met[item_id] = self._met.get(item_id, 0) + 1
        if len(self._met) > self._tracked:
            self._met = dict(self._most_met()[: max(1, self._tracked * 3 // 4)])

    def without(self, profile: Profile, memory: Memory) -> "Population":
        """The counts without a user who was added and met: what holds of the others.

        Only right while nothing was dropped, which happens above `tracked`.
        """
        others = Population(self.domain, self._tracked)
        others.users = self.users - 1
        others._held = dict(self._held)
        for attribute in statinit(profile):
            if attribute.tier >= Tier.MEDIUM:
                held = self._held[attribute.attribute_id]
                others._held[attribute.attribute_id] = replace(held, users=held.users - 1)
        others._takes, others._visits = dict(self._takes), self._visits - len(profile.recent)
        for name, times in Counter(name for facts in profile.recent for name in fact_ids(facts)).items():
            takes = self._takes[name]
            others._takes[name] = Takes(takes.times - times, takes.users - 1)
        others._met = dict(self._met)
        for item_id in {taken.item_id for taken in memory.taken}:
            others._met[item_id] -= 1
        return others

    def popular(self, floor: int) -> dict[str, int]:
        """How many users took an item lately: the items that at least this many did, the most taken first."""
        return {item_id: users for item_id, users in self._most_met()[:MAX_POPULAR] if users >= floor}

    def _most_met(self) -> list[tuple[str, int]]:
        return sorted(self._met.items(), key=lambda pair: (-pair[1], pair[0]))

    def held(self, floor: int) -> list[Held]:
        """What at least this many users hold, the most shared first."""
        found = (held for held in self._held.values() if held.users >= floor)
        return sorted(found, key=lambda held: (-held.users, held.attribute.attribute_id))

    def _count(self, attribute: Attribute) -> None:
        known = self._held.get(attribute.attribute_id)
        if known is None:
            self._held[attribute.attribute_id] = Held(attribute, 1)
        else:
            # One attribute may be spelled in several ways; which user came first must not decide.
            spelled = min(known.attribute, attribute, key=lambda each: each.value)
            self._held[attribute.attribute_id] = Held(spelled, known.users + 1)


def global_skill(
    population: Population, event_id: str, occurred_at: datetime, limits: GlobalLimits = DEFAULT_LIMITS
) -> GlobalSkill:
    """The global skill of this population: the same for the same users.

    `shares` are of all users, at most 512, the largest; the template's lines have the ids, kinds and values that
    priors use, no support of their own, and the source `global`. `items` are those that the most users took lately.
    """
    held = population.held(limits.floor)
    shares = {one.attribute.attribute_id: _share(one.users, population.users) for one in held[:MAX_SHARES]}
    return GlobalSkill(
        event_id=event_id,
        occurred_at=occurred_at,
        domain=population.domain,
        users=population.users,
        attributes=_template(held, population.users, limits),
        shares=shares,
        usual=population.usual(limits.floor),
        items=population.popular(limits.items_floor),
        reasoned_by=ReasonedBy(reasoner="rules"),
    )


def _share(users: int, of: int) -> float:
    return round(users / of, 4) if of else 0.0


def _template(held: list[Held], users: int, limits: GlobalLimits) -> tuple[Attribute, ...]:
    lines: list[Attribute] = []
    per_dimension: Counter[str] = Counter()
    for one in held:
        if one.attribute.dimension in limits.elsewhere:
            continue
        share = _share(one.users, users)
        if len(lines) >= (limits.lines if share >= limits.template_share else limits.least_lines):
            break
        if per_dimension[one.attribute.dimension] >= limits.per_dimension:
            continue
        per_dimension[one.attribute.dimension] += 1
        tier = Tier.MEDIUM if share >= limits.medium_share else Tier.LOW
        lines.append(
            one.attribute.model_copy(
                update={"tier": tier, "source": Source.GLOBAL, "support": 0, "taken": 0, "expected": 0}
            )
        )
    return tuple(lines)

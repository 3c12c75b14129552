"""The population template from users' statistics (paper 2.3 (i), App. D).

Only counts of users leave this module, and only of attributes that at least `floor` users hold: a rare one may be one
person's.
"""

from collections import Counter
from collections.abc import Callable
from copy import copy
from datetime import datetime
from typing import NamedTuple, TypeVar

from operators.attributes import fact_ids
from operators.learning.prior import statinit
from schemas import MAX_POPULAR, Attribute, AttributeSource, Domain, GlobalSkill, Memory, Profile, Provenance, Tier

MAX_SHARES = 512
# Most expected shares; 64 would do.
MAX_USUAL = 256
# Not lines of the template: the request already names the user's place.
PLACE_DIMENSIONS = frozenset({"area", "city"})
# An item that fewer users took is left out. Below the floor of attributes: an item's takers are no taste, and rankings
# ask for companions of as many (`SAGER_SUPPORT_FLOOR`).
MIN_ITEM_USERS = 2
# The least users of an attribute, by default.
MIN_USERS = 5
# An attribute that this share of the users holds is a line for new users; from the second share on it is medium.
TEMPLATE_SHARE, MEDIUM_SHARE = 0.2, 0.4
# Most lines of the template; and how many of the commonest attributes are lines, however small their shares are.
MAX_LINES, MIN_LINES = 12, 3
# Limit a dimension's lines: five common moods say little more than two.
PER_DIMENSION = 4


class AttributeUsers(NamedTuple):
    """An attribute, and its users at medium or above."""

    attribute: Attribute
    users: int


class FactCounts(NamedTuple):
    """How often a fact was taken, and by how many users."""

    times: int
    users: int


CountT = TypeVar("CountT")


class Population:
    """Counts over the users of one domain, added in any order.

    Memory does not grow with the users: of more than `tracked` attributes, those with the fewest users go. One that
    comes again starts at zero, so that a count is never too high; only then does the order matter.
    """

    def __init__(self, domain: Domain, tracked: int = 20_000) -> None:
        self.domain = domain
        self.users = 0
        self._tracked = tracked
        self._held: dict[str, AttributeUsers] = {}
        self._takes: dict[str, FactCounts] = {}
        self._visits = 0
        self._met: dict[str, int] = {}

    def add(self, profile: Profile) -> None:
        """Count one more user, once; skip a user without interactions."""
        if profile.interactions:
            self._count(profile, 1)
            self._held = self._trimmed(self._held, lambda held: held.users)
            self._takes = self._trimmed(self._takes, lambda takes: takes.times)

    def _count(self, profile: Profile, sign: int) -> None:
        self.users += sign
        for attribute in statinit(profile):
            if attribute.tier >= Tier.MEDIUM:
                held = self._held.get(attribute.attribute_id, AttributeUsers(attribute, 0))
                # One attribute may be spelled in several ways; the order of users must not decide.
                spelled = min(held.attribute, attribute, key=lambda each: each.value)
                self._held[attribute.attribute_id] = AttributeUsers(spelled, held.users + sign)
        # The facts of at most 15 items, so that no user counts for much of the whole.
        self._visits += sign * len(profile.recent)
        for name, times in Counter(name for facts in profile.recent for name in fact_ids(facts)).items():
            known = self._takes.get(name, FactCounts(0, 0))
            self._takes[name] = FactCounts(known.times + sign * times, known.users + sign)

    def usual(self, floor: int) -> dict[str, float]:
        """Return the common facts' shares of recently taken items."""
        common = [(name, takes.times) for name, takes in self._takes.items() if takes.users >= floor]
        common.sort(key=lambda pair: (-pair[1], pair[0]))
        return {name: _share(times, self._visits) for name, times in common[:MAX_USUAL]}

    def add_memory(self, memory: Memory) -> None:
        """Count the latest items of one more user of the domain, once."""
        self._count_items(memory, 1)
        self._met = self._trimmed(self._met, lambda users: users)

    def _count_items(self, memory: Memory, sign: int) -> None:
        for item_id in {taken.item_id for taken in memory.taken}:
            self._met[item_id] = self._met.get(item_id, 0) + sign

    def without(self, profile: Profile, memory: Memory) -> "Population":
        """Return the counts without one user; exact until `tracked` is exceeded."""
        others = copy(self)
        others._held, others._takes, others._met = dict(self._held), dict(self._takes), dict(self._met)
        others._count(profile, -1)
        others._count_items(memory, -1)
        return others

    def popular(self, floor: int) -> dict[str, int]:
        """Return recent takers per item, most first, from `floor` users on."""
        most = sorted(self._met.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_POPULAR]
        return {item_id: users for item_id, users in most if users >= floor}

    def common_attributes(self, floor: int) -> list[AttributeUsers]:
        """Return attributes of at least `floor` users, the commonest first."""
        found = (held for held in self._held.values() if held.users >= floor)
        return sorted(found, key=lambda held: (-held.users, held.attribute.attribute_id))

    def _trimmed(self, counts: dict[str, CountT], size: Callable[[CountT], int]) -> dict[str, CountT]:
        if len(counts) <= self._tracked:
            return counts
        most = sorted(counts.items(), key=lambda pair: (-size(pair[1]), pair[0]))
        # A quarter is freed at once: sorting at every user would cost too much.
        return dict(most[: max(1, self._tracked * 3 // 4)])


def global_skill(population: Population, event_id: str, occurred_at: datetime, floor: int = MIN_USERS) -> GlobalSkill:
    """Build a population's global skill, the same for the same users.

    The template's lines have the ids that priors use, no support of their own, and the source `global`.
    """
    held = population.common_attributes(floor)
    shares = {one.attribute.attribute_id: _share(one.users, population.users) for one in held[:MAX_SHARES]}
    return GlobalSkill(
        event_id=event_id,
        occurred_at=occurred_at,
        domain=population.domain,
        users=population.users,
        attributes=_template(held, population.users),
        shares=shares,
        usual=population.usual(floor),
        items=population.popular(MIN_ITEM_USERS),
        reasoned_by=Provenance(reasoner="rules"),
    )


def _share(users: int, of: int) -> float:
    return round(users / of, 4) if of else 0.0


def _template(held: list[AttributeUsers], users: int) -> tuple[Attribute, ...]:
    lines: list[Attribute] = []
    per_dimension: Counter[str] = Counter()
    for one in held:
        if one.attribute.dimension in PLACE_DIMENSIONS:
            continue
        share = _share(one.users, users)
        if len(lines) >= (MAX_LINES if share >= TEMPLATE_SHARE else MIN_LINES):
            break
        if per_dimension[one.attribute.dimension] >= PER_DIMENSION:
            continue
        per_dimension[one.attribute.dimension] += 1
        tier = Tier.MEDIUM if share >= MEDIUM_SHARE else Tier.LOW
        changed = {"tier": tier, "source": AttributeSource.GLOBAL, "support": 0, "taken": 0, "expected": 0}
        lines.append(one.attribute.model_copy(update=changed))
    return tuple(lines)

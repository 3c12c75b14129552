"""The population template from users' statistics (paper 2.3 (i), App. D).

Only counts of users leave this module, and only of attributes that at least `floor` users hold: a rare one may be one
person's.
"""

from collections import Counter
from copy import copy
from datetime import datetime
from typing import Any, NamedTuple

from operators.attributes import fact_ids
from operators.learning.prior import statinit
from operators.learning.tiers import tier_of
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
    """An attribute, and the users whose counts make it medium or above."""

    attribute: Attribute
    users: int


class Population:
    """Counts over the users of one domain, added in any order.

    Memory does not grow with the users: of more than `tracked` attributes, those with the fewest users go. One that
    comes again starts at zero, so that a count is never too high; only then does the order matter.
    """

    def __init__(self, domain: Domain, tracked: int = 20_000) -> None:
        self.domain = domain
        self.users = 0
        self._tracked = tracked
        self._spelled: dict[str, Attribute] = {}
        self._holders: Counter[str] = Counter()
        # By fact, how often it was taken, and by how many users.
        self._times: Counter[str] = Counter()
        self._takers: Counter[str] = Counter()
        self._visits = 0
        self._item_takers: Counter[str] = Counter()

    def add(self, profile: Profile, sign: int = 1) -> None:
        """Count one more user, once; skip a user without interactions."""
        if not profile.interactions:
            return
        self.users += sign
        for attribute in statinit(profile):
            # By counts: many users together prove what one has not.
            tier = tier_of(attribute.taken, attribute.expected, AttributeSource.GLOBAL)
            if min(tier, attribute.support) >= Tier.MEDIUM:
                name = attribute.attribute_id
                # One attribute may be spelled in several ways; the order of users must not decide.
                self._spelled[name] = min(self._spelled.get(name, attribute), attribute, key=lambda each: each.value)
                self._holders[name] += sign
        # The facts of at most 15 items, so that no user counts for much of the whole.
        self._visits += sign * len(profile.recent)
        for name, times in Counter(name for facts in profile.recent for name in fact_ids(facts)).items():
            self._times[name] += sign * times
            self._takers[name] += sign
        self._trim(self._holders, self._spelled)
        self._trim(self._times, self._takers)

    def add_memory(self, memory: Memory, sign: int = 1) -> None:
        """Count the latest items of one more user of the domain, once."""
        for item_id in {taken.item_id for taken in memory.taken}:
            self._item_takers[item_id] += sign
        self._trim(self._item_takers)

    def without(self, profile: Profile, memory: Memory) -> "Population":
        """Return the counts without one user; exact until `tracked` is exceeded."""
        others = Population(self.domain)
        vars(others).update({name: copy(value) for name, value in vars(self).items()})
        others.add(profile, -1)
        others.add_memory(memory, -1)
        return others

    def usual(self, floor: int) -> dict[str, float]:
        """Return the common facts' shares of recently taken items."""
        common = [(name, times) for name, times in self._times.items() if self._takers[name] >= floor]
        common.sort(key=lambda pair: (-pair[1], pair[0]))
        return {name: _share(times, self._visits) for name, times in common[:MAX_USUAL]}

    def popular(self, floor: int) -> dict[str, int]:
        """Return recent takers per item, most first, from `floor` users on."""
        most = sorted(self._item_takers.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_POPULAR]
        return {item_id: users for item_id, users in most if users >= floor}

    def common_attributes(self, floor: int) -> list[AttributeUsers]:
        """Return attributes of at least `floor` users, the commonest first."""
        found = (AttributeUsers(self._spelled[name], users) for name, users in self._holders.items() if users >= floor)
        return sorted(found, key=lambda held: (-held.users, held.attribute.attribute_id))

    def _trim(self, counts: Counter[str], *others: dict[str, Any]) -> None:
        if len(counts) <= self._tracked:
            return
        # A quarter is freed at once: sorting at every user would cost too much.
        least = sorted(counts, key=lambda name: (-counts[name], name))[max(1, self._tracked * 3 // 4) :]
        for held in (counts, *others):
            for name in least:
                del held[name]


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
        changed = {"tier": tier, "source": AttributeSource.GLOBAL, "support": 0, "taken": 0, "expected": 0, "proof": 0}
        lines.append(one.attribute.model_copy(update=changed))
    return tuple(lines)

"""The population template from users' statistics, which a model may word (paper 2.3 (i), App. D).

Only counts of users leave this module, and only of attributes that at least `floor` users hold: a rare one may be one
person's.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from operators.attributes import fact_ids
from operators.evolve.proposals import ReasonerUnavailable
from operators.language.output_policy import OutputGate
from operators.learning.prior import statinit
from operators.learning.tiers import tier_of
from operators.llm import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, ModelClient, ask, strict_object
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import (
    MAX_POPULAR,
    MAX_STRATEGY,
    Attribute,
    AttributeSource,
    Domain,
    GlobalSkill,
    Memory,
    Persona,
    PersonaName,
    Profile,
    Provenance,
    Tier,
)

PROMPT = "population.v1"

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
# Appendix D: fewer interactions are a light history, more than the second number a heavy one.
LIGHT_BELOW, HEAVY_ABOVE = 15, 50
# The paper leaves the spread of a heavy user's categories open. Ours: a taste is narrow if the three commonest values
# of its main dimension have half of that dimension's count, as for half of MovieLens' heavy users.
NARROW_VALUES, NARROW_SHARE = 3, 0.5
# Most attributes that a model may choose from, and those that the prompt has for each persona.
MAX_OFFERED, PER_PERSONA = 40, 4
_ATTRIBUTE_CHARS = 72


class _Plan(NamedTuple):
    """A persona's history, its part of established tastes, and the strategy's name in Appendix D."""

    history: str
    established: float | None
    strategy: str


PLANS = {
    PersonaName.LIGHT: _Plan(f"fewer than {LIGHT_BELOW} choices", None, "guided discovery"),
    PersonaName.MODERATE: _Plan(f"{LIGHT_BELOW} to {HEAVY_ABOVE} choices", 0.7, "preference reinforcement"),
    PersonaName.BROAD: _Plan(f"more than {HEAVY_ABOVE} choices, broad taste", 0.5, "exploratory recommendation"),
    PersonaName.NARROW: _Plan(f"more than {HEAVY_ABOVE} choices, narrow taste", 0.85, "comfort zone"),
}


def persona_of(interactions: int, lines: Sequence[Attribute]) -> PersonaName:
    """Return the persona of a user with these lines of statistics."""
    if interactions < LIGHT_BELOW:
        return PersonaName.LIGHT
    if interactions <= HEAVY_ABOVE:
        return PersonaName.MODERATE
    taken: dict[str, list[int]] = {}
    for line in lines:
        if line.dimension not in PLACE_DIMENSIONS:
            taken.setdefault(line.dimension, []).append(line.taken)
    main = max(sorted(taken.items()), key=lambda each: sum(each[1]), default=("", []))[1]
    is_narrow = sum(sorted(main)[-NARROW_VALUES:]) >= NARROW_SHARE * sum(main)
    return PersonaName.NARROW if is_narrow else PersonaName.BROAD


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
        self._personas: Counter[PersonaName] = Counter()
        self._persona_holders: Counter[tuple[PersonaName, str]] = Counter()

    def add(self, profile: Profile, sign: int = 1) -> None:
        """Count one more user, once; skip a user without interactions."""
        if not profile.interactions:
            return
        self.users += sign
        lines = statinit(profile)
        persona = persona_of(profile.interactions, lines)
        self._personas[persona] += sign
        for attribute in lines:
            # By counts: many users together prove what one has not.
            tier = tier_of(attribute.taken, attribute.expected, AttributeSource.GLOBAL)
            if min(tier, attribute.support) >= Tier.MEDIUM:
                name = attribute.attribute_id
                # One attribute may be spelled in several ways; the order of users must not decide.
                self._spelled[name] = min(self._spelled.get(name, attribute), attribute, key=lambda each: each.value)
                self._holders[name] += sign
                self._persona_holders[persona, name] += sign
        # The facts of at most 15 items, so that no user counts for much of the whole.
        self._visits += sign * len(profile.recent)
        for name, times in Counter(name for facts in profile.recent for name in fact_ids(facts)).items():
            self._times[name] += sign * times
            self._takers[name] += sign
        self._trim(self._holders, self._spelled)
        self._trim(self._persona_holders)
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

    def personas(self, floor: int) -> tuple[Persona, ...]:
        """Return the personas of at least `floor` users, with the strategies of Appendix D."""
        return tuple(
            Persona(
                name=name,
                users=users,
                share=_share(users, self.users),
                established=plan.established,
                strategy=plan.strategy,
            )
            for name, plan in PLANS.items()
            if (users := self._personas[name]) >= floor
        )

    def persona_tastes(self, persona: PersonaName, floor: int) -> dict[str, int]:
        """Return the users of the commonest tastes within a persona, by attribute id."""
        held = [(n, users) for (of, n), users in self._persona_holders.items() if of is persona and users >= floor]
        return dict(sorted(held, key=lambda pair: (-pair[1], pair[0])))

    def _trim(self, counts: Counter[Any], *others: dict[Any, Any]) -> None:
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
        personas=population.personas(floor),
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
        lines.append(_line(one.attribute, tier))
    return tuple(lines)


def _line(attribute: Attribute, tier: Tier) -> Attribute:
    changed = {"tier": tier, "source": AttributeSource.GLOBAL, "support": 0, "taken": 0, "expected": 0, "proof": 0}
    return attribute.model_copy(update=changed)


@dataclass(frozen=True)
class PolicyQuestion:
    """A question about a domain's policy; the offered attributes by their words."""

    prompt: str
    schema: Mapping[str, Any]
    offered: Mapping[str, AttributeUsers]


def policy_question(population: Population, floor: int, gate: OutputGate) -> PolicyQuestion | None:
    """Return the question about a population; None without attributes to choose from."""
    offered: dict[str, AttributeUsers] = {}
    for one in population.common_attributes(floor):
        line = one.attribute
        if line.dimension not in PLACE_DIMENSIONS and gate.rejection(line.dimension, line.value) is None:
            offered.setdefault(as_data(f"{line.dimension}: {line.value}", _ATTRIBUTE_CHARS), one)
    offered = dict(list(offered.items())[:MAX_OFFERED])
    while offered:
        prompt = template(PROMPT).substitute(
            domain=as_data(population.domain, 40),
            most=MAX_LINES,
            personas="\n".join(_persona_lines(population, floor, offered)) or "(nothing)",
            attributes="\n".join(f"- {words} | {one.users / population.users:.0%}" for words, one in offered.items()),
        )
        if count_tokens(prompt) <= MAX_PROMPT_TOKENS - CORRECTION_TOKENS:
            return PolicyQuestion(prompt, _policy_schema(list(offered), population.personas(floor)), offered)
        offered.popitem()
    return None


def _persona_lines(population: Population, floor: int, offered: Mapping[str, AttributeUsers]) -> list[str]:
    words_of = {one.attribute.attribute_id: words for words, one in offered.items()}
    lines: list[str] = []
    for each in population.personas(floor):
        tastes = population.persona_tastes(each.name, floor).items()
        common = [f"{words_of[name]} {users / each.users:.0%}" for name, users in tastes if name in words_of]
        strategy = "only what is common"
        if each.established is not None:
            strategy = f"{each.established:.0%} established, {1 - each.established:.0%} new"
        parts = (PLANS[each.name].history, f"{each.share:.0%} of users", strategy, "; ".join(common[:PER_PERSONA]))
        lines.append(" | ".join((f"- {each.name}", *parts)))
    return lines


def _policy_schema(offered: list[str], personas: tuple[Persona, ...]) -> dict[str, Any]:
    tiers = [str(Tier.LOW), str(Tier.MEDIUM)]
    line = {"attribute": {"type": "string", "enum": offered}, "tier": {"type": "string", "enum": tiers}}
    phrase = {"type": "string", "maxLength": MAX_STRATEGY}
    lines = {"type": "array", "items": strict_object(line), "minItems": 1, "maxItems": MAX_LINES}
    return strict_object({"lines": lines, "strategies": strict_object({each.name.value: phrase for each in personas})})


async def with_policy(
    skill: GlobalSkill, population: Population, client: ModelClient, gate: OutputGate, floor: int = MIN_USERS
) -> GlobalSkill:
    """Let a model choose the template's lines and word the strategies (paper 2.3, App. D).

    Without a usable answer the skill stays as the statistics have it, with the reason in `reasoned_by.fallback`.
    """
    if (question := policy_question(population, floor, gate)) is None:
        return _fallen_back(skill, skill.reasoned_by, "there is no attribute to choose from")
    try:
        reply = await ask(client, PROMPT, question.prompt, question.schema)
    except ReasonerUnavailable as failed:
        return _fallen_back(skill, skill.reasoned_by, str(failed))
    chosen: dict[str, Attribute] = {}
    for entry in reply.answer["lines"]:
        one = question.offered[entry["attribute"]]
        # A rare attribute in every newcomer's slim skill would be the model's taste, not the population's.
        highest = Tier.MEDIUM if _share(one.users, population.users) >= TEMPLATE_SHARE else Tier.LOW
        chosen.setdefault(entry["attribute"], _line(one.attribute, min(Tier.parse(entry["tier"]), highest)))
    personas, refused = [], list[str]()
    for each in skill.personas:
        # In lower case no name passes the gate as one.
        phrase = as_data(reply.answer["strategies"][each.name], MAX_STRATEGY).lower()
        is_refused = not phrase or gate.rejection("strategy", phrase) is not None
        refused += [each.name] * is_refused
        personas.append(each if is_refused else each.model_copy(update={"strategy": phrase}))
    policy = skill.model_copy(update={"attributes": tuple(chosen.values()), "personas": tuple(personas)})
    why = f"the model's strategy was refused for {', '.join(refused)}" if refused else None
    return _fallen_back(policy, reply.reasoned_by(PROMPT), why)


def _fallen_back(skill: GlobalSkill, reasoned_by: Provenance, why: str | None) -> GlobalSkill:
    reason = {"fallback": why and why[:200]}
    return skill.model_copy(update={"reasoned_by": reasoned_by.model_copy(update=reason)})

"""The statistical prior: counts over a user's interactions, and the skill that they start with (paper 2.3, App. E)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from operators.applied import remember, with_applied
from operators.attributes import attribute_id, fact_id, from_fact
from schemas import MAX_FACTS, Attribute, Fact, Interaction, Kind, Position, Profile, Source, Tier

RECENT = 15
NEWEST = 3
RECENT_IDS = 32


@dataclass(frozen=True)
class PriorLimits:
    """The thresholds of StatInit, ours to decide (the paper leaves the frequency-to-tier map open).

    Attributes:
        newest_weight, recent_weight, older_weight: what an interaction counts: the last 3, the 4th to the 15th,
            and older ones (App. D).
        high_strength, medium_strength: from which strength a value is high or medium; see `statinit`.
        high_count, medium_count: from how many interactions. One is enough for low.
        per_dimension: most attributes of one dimension.
        total: most attributes of a prior; leaves room in a skill for what is discovered.
        values_per_dimension: most counters kept per dimension for interactions older than the last 15.
        dimensions: most dimensions with such counters; a generic item's keys are its own, and new ones never end.
        pattern_interactions: interactions needed before behaviour is called a pattern.
    """

    newest_weight: float = 1.8
    recent_weight: float = 1.0
    older_weight: float = 0.6
    high_strength: float = 0.45
    medium_strength: float = 0.2
    high_count: int = 3
    medium_count: int = 2
    per_dimension: int = 10
    total: int = 32
    values_per_dimension: int = 48
    dimensions: int = 24
    pattern_interactions: int = 5


def observe(
    profile: Profile | None,
    interaction: Interaction,
    facts: Sequence[Fact],
    source: Position | None = None,
    limits: PriorLimits = PriorLimits(),
) -> Profile:
    """The profile after one more interaction. One that it holds already changes nothing but the fence."""
    if profile is None:
        profile = Profile(user_id=interaction.user_id, domain=interaction.domain)
    applied = with_applied(profile.applied, source, interaction.occurred_at)
    if interaction.event_id in profile.recent_ids:
        return profile.model_copy(update={"applied": applied})
    recent = (*profile.recent, _distinct(facts))
    older, known = profile.older, profile.older_known
    if len(recent) > RECENT:
        older, known = _age(older, known, recent[0], limits)
        recent = recent[1:]
    return profile.model_copy(
        update={
            "interactions": profile.interactions + 1,
            "recent": recent,
            "older": older,
            "older_known": known,
            "recent_ids": remember(profile.recent_ids, interaction.event_id, RECENT_IDS),
            "applied": applied,
        }
    )


def _distinct(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    found: dict[str, Fact] = {}
    for fact in facts:
        found.setdefault(fact_id(fact), fact)
    return tuple(found.values())[:MAX_FACTS]


def _age(
    older: Mapping[str, Mapping[str, int]], known: Mapping[str, int], facts: Sequence[Fact], limits: PriorLimits
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    counts = {dimension: dict(values) for dimension, values in older.items()}
    totals = dict(known)
    for fact in facts:
        values = counts.setdefault(fact.dimension, {})
        values[fact.value] = values.get(fact.value, 0) + 1
        if len(values) > limits.values_per_dimension:
            del values[min(values, key=lambda value: (values[value], value))]
    for dimension in {fact.dimension for fact in facts}:
        totals[dimension] = totals.get(dimension, 0) + 1
    for dimension in sorted(counts, key=lambda name: (-totals.get(name, 0), name))[limits.dimensions :]:
        del counts[dimension]
        totals.pop(dimension, None)
    return counts, totals


@dataclass(frozen=True)
class _Weights:
    weight: Counter[str]
    count: Counter[str]


def _weigh(profile: Profile, limits: PriorLimits) -> dict[str, _Weights]:
    weights: dict[str, _Weights] = {}
    spelled: dict[str, str] = {}

    def one(dimension: str, value: str) -> str:
        """The first of the spellings that are one attribute."""
        return spelled.setdefault(attribute_id(Kind.PREFERENCE, dimension, value), value)

    def of(dimension: str) -> _Weights:
        if dimension not in weights:
            weights[dimension] = _Weights(Counter(), Counter())
        return weights[dimension]

    for dimension, values in profile.older.items():
        held = of(dimension)
        for value, times in values.items():
            held.weight[one(dimension, value)] += limits.older_weight * times  # type: ignore[assignment]
            held.count[one(dimension, value)] += times
    for age, facts in enumerate(reversed(profile.recent)):
        worth = limits.newest_weight if age < NEWEST else limits.recent_weight
        for fact in facts:
            held = of(fact.dimension)
            held.weight[one(fact.dimension, fact.value)] += worth  # type: ignore[assignment]
            held.count[one(fact.dimension, fact.value)] += 1
    return weights


def _tier(strength: float, count: int, limits: PriorLimits) -> Tier:
    if strength >= limits.high_strength and count >= limits.high_count:
        return Tier.HIGH
    if strength >= limits.medium_strength and count >= limits.medium_count:
        return Tier.MEDIUM
    return Tier.LOW


def statinit(profile: Profile | None, limits: PriorLimits = PriorLimits()) -> tuple[Attribute, ...]:
    """The attributes that a user's statistics give, strongest first; none for a user without history.

    A value's tier follows from its strength and from how often it was met, so that one lucky choice is never more
    than low. Strength is the value's part, from 0 to 1, of the dimension's vector of recency-weighted counts: the
    cosine between what the user takes and an item with this value alone. Unlike a share it does not fall with every
    further value that items have, so that one set of thresholds serves dimensions of one value and of many.
    """
    if profile is None or not profile.interactions:
        return ()
    found: list[tuple[float, Attribute]] = []
    weighed = _weigh(profile, limits)
    for dimension, weights in weighed.items():
        ranked = sorted(weights.weight, key=lambda value: (-weights.weight[value], value))
        length = math.hypot(*weights.weight.values())
        for value in ranked[: limits.per_dimension]:
            strength = weights.weight[value] / length
            tier = _tier(strength, weights.count[value], limits)
            fact = Fact(dimension=dimension, value=value)
            found.append((strength, from_fact(fact, tier, Source.PRIOR, support=weights.count[value])))
    found.sort(key=lambda pair: (-pair[1].tier, -pair[0], pair[1].attribute_id))
    lines = [attribute for _, attribute in found[: limits.total]]
    return (*lines, *_patterns(profile, weighed, limits))


def _patterns(profile: Profile, weighed: Mapping[str, _Weights], limits: PriorLimits) -> Iterator[Attribute]:
    """How the user balances the familiar and the new (paper 2.3, Behavioral Patterns)."""
    for dimension, weights in weighed.items():
        if dimension not in ("genre", "category") or profile.interactions < limits.pattern_interactions:
            continue
        total = sum(weights.weight.values())
        top = sum(sorted(weights.weight.values())[-3:])
        plural = {"genre": "genres", "category": "categories"}[dimension]
        if top >= 0.7 * total:
            yield pattern("exploration", f"stays with favourite {plural}", profile.interactions)
        elif top <= 0.45 * total:
            yield pattern("exploration", f"explores many {plural}", profile.interactions)
        return


def pattern(dimension: str, value: str, support: int) -> Attribute:
    """A line about behaviour, at medium: seen over several interactions, not yet confirmed by a choice."""
    return Attribute(
        attribute_id=attribute_id(Kind.PATTERN, dimension, value),
        kind=Kind.PATTERN,
        dimension=dimension,
        value=value,
        tier=Tier.MEDIUM,
        source=Source.PRIOR,
        support=support,
    )

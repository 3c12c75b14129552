"""The statistical prior: counts of interactions, and the first lines (paper 2.3)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from operators.admission import with_applied, with_recent
from operators.attributes import fact_id, from_fact
from operators.learning.evidence import (
    DECAY,
    MAX_COUNT,
    RARE_SHARE,
    UNKNOWN_SHARE,
    bet,
    decay,
    initial_expected,
    log_ratio,
)
from operators.learning.tiers import tier_of
from schemas import MAX_FACTS, ONE, Attribute, AttributeSource, Fact, Interaction, Position, Profile, Tier

RECENT = 15
RECENT_IDS = 32
# Most attributes of a prior; the paper leaves it open.
MAX_LINES = 40
# Most counters for older interactions: values per dimension, and dimensions, since an app's keys are endless.
MAX_VALUES, MAX_DIMENSIONS = 48, 24
# In `paper` mode, the weight of a visit in tenths: of the last three, of the fourth to the fifteenth, of older ones.
NEWEST, NEWEST_WEIGHT, RECENT_WEIGHT, OLDER_WEIGHT = 3, 18, 10, 6
# Its tiers from the highest: the least hundredths of a value's strength, and visits; the paper leaves them open.
_FREQUENCY_TIERS = ((Tier.HIGH, 45, 3), (Tier.MEDIUM, 20, 2))


def observe(
    profile: Profile | None, interaction: Interaction, facts: Sequence[Fact], source: Position | None = None
) -> Profile:
    """Count an interaction; a duplicate only moves the position fence."""
    if profile is None:
        profile = Profile(user_id=interaction.user_id, domain=interaction.domain)
    applied = with_applied(profile.applied, source, interaction.occurred_at)
    if interaction.event_id in profile.recent_ids:
        return profile.model_copy(update={"applied": applied})
    distinct: dict[str, Fact] = {}
    for fact in facts:
        distinct.setdefault(fact_id(fact), fact)
    recent = (*profile.recent, tuple(distinct.values())[:MAX_FACTS])
    older, known = profile.older, profile.older_known
    if len(recent) > RECENT:
        older, known = _add_older(older, known, recent[0])
        recent = recent[1:]
    return profile.model_copy(
        update={
            "interactions": profile.interactions + 1,
            "recent": recent,
            "older": older,
            "older_known": known,
            "recent_ids": with_recent(profile.recent_ids, interaction.event_id, RECENT_IDS),
            "applied": applied,
        }
    )


def _add_older(
    older: Mapping[str, Mapping[str, int]], known: Mapping[str, int], facts: Sequence[Fact]
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    counts = {dimension: dict(values) for dimension, values in older.items()}
    totals = dict(known)
    for fact in facts:
        values = counts.setdefault(fact.dimension, {})
        values[fact.value] = values.get(fact.value, 0) + 1
        if len(values) > MAX_VALUES:
            del values[min(zip(values.values(), values, strict=True))[1]]
    for dimension in {fact.dimension for fact in facts}:
        totals[dimension] = totals.get(dimension, 0) + 1
    for dimension in sorted(counts, key=lambda name: (-totals.get(name, 0), name))[MAX_DIMENSIONS:]:
        del counts[dimension]
        totals.pop(dimension, None)
    return counts, totals


@dataclass
class _PriorLine:
    fact: Fact
    taken: int
    expected: int
    support: int
    last: int
    proof: int = 0


def statinit(profile: Profile | None, usual: Mapping[str, int] | None = None) -> tuple[Attribute, ...]:
    """Return the lines of a user's statistics, strongest first.

    The step that counts choices counts the visits (`operators.learning.evidence`). As they have no list, `usual` takes
    its place: the population's share of taken items that have a fact, in 1/1024, by attribute id. Of visits before the
    last 15 only counts are known: they are taken to be spread evenly.
    """
    if profile is None or not profile.interactions:
        return ()
    common = usual or {}
    lines = _older_lines(profile, common)
    before = profile.interactions - len(profile.recent)
    for place, facts in enumerate(profile.recent):
        _visit(lines, facts, common, before + place)
    order = sorted(lines.items(), key=lambda each: (-each[1].taken, -each[1].last, -common.get(each[0], 0), each[0]))
    found = [_attribute(line) for _, line in order[:MAX_LINES]]
    found.sort(key=lambda line: (-line.tier, -log_ratio(line.taken, line.expected), line.attribute_id))
    return tuple(found)


def _older_lines(profile: Profile, usual: Mapping[str, int]) -> dict[str, _PriorLine]:
    lines: dict[str, _PriorLine] = {}
    for dimension, values in profile.older.items():
        visits = profile.older_known.get(dimension, 0)
        remembered = _decayed_visits(visits)
        for value, times in values.items():
            fact = Fact(dimension=dimension, value=value)
            name, taken = fact_id(fact), remembered * min(times, visits) // max(visits, 1)
            known = lines.get(name)
            if known is None:
                lines[name] = _PriorLine(fact, taken, usual.get(name, 0) * remembered // ONE, times, 0)
            else:
                # Another spelling of the same attribute.
                known.taken, known.support = min(known.taken + taken, remembered), known.support + times
    return lines


@lru_cache(maxsize=256)
def _decayed_visits(visits: int) -> int:
    count = 0
    for _ in range(min(visits, 16 * DECAY)):
        count = decay(count) + ONE
    return count


def _visit(lines: dict[str, _PriorLine], facts: Sequence[Fact], usual: Mapping[str, int], before: int) -> None:
    taken = {fact_id(fact) for fact in facts}
    for name, line in lines.items():
        share = usual.get(name, 0)
        odds = max(share, RARE_SHARE) if usual else UNKNOWN_SHARE
        line.proof = decay(line.proof) + bet(line.taken, line.expected, odds, ONE if name in taken else 0)
        line.taken, line.expected = decay(line.taken), decay(line.expected) + share
    for fact in facts:
        name = fact_id(fact)
        known = lines.get(name)
        if known is None:
            share = usual.get(name, 0)
            lines[name] = _PriorLine(fact, ONE, initial_expected(share, share, before), 1, before + 1)
        else:
            known.taken, known.support, known.last = known.taken + ONE, known.support + 1, before + 1


def _attribute(line: _PriorLine) -> Attribute:
    taken, expected = min(line.taken, MAX_COUNT), min(line.expected, MAX_COUNT)
    tier = tier_of(taken, expected, AttributeSource.PRIOR, line.proof)
    return from_fact(
        line.fact, tier, AttributeSource.PRIOR, counts=(taken, expected), support=line.support, proof=line.proof
    )


@dataclass
class _Frequency:
    fact: Fact
    weight: int = 0
    times: int = 0
    last: int = 0


def frequency_prior(profile: Profile) -> tuple[Attribute, ...]:
    """Return a history's lines without counts: tiers by frequency and recency, strongest first.

    A value's strength is its part of its dimension's vector of weighted counts, from 0 to 1: unlike a share it does
    not fall with every further value that items have, so that the same thresholds serve all dimensions.
    """
    found: dict[str, _Frequency] = {}

    def add(fact: Fact, weight: int, times: int, at: int) -> None:
        each = found.setdefault(fact_id(fact), _Frequency(fact))
        each.weight, each.times, each.last = each.weight + weight * times, each.times + times, at

    for dimension, values in profile.older.items():
        for value, times in values.items():
            add(Fact(dimension=dimension, value=value), OLDER_WEIGHT, times, 0)
    for at, facts in enumerate(profile.recent, 1):
        for fact in facts:
            add(fact, NEWEST_WEIGHT if at > len(profile.recent) - NEWEST else RECENT_WEIGHT, 1, at)
    squares: defaultdict[str, int] = defaultdict(int)
    for each in found.values():
        squares[each.fact.dimension] += each.weight**2
    tiers = {name: _frequency_tier(each, squares[each.fact.dimension]) for name, each in found.items()}
    order = sorted(found, key=lambda name: (-tiers[name], -found[name].weight, -found[name].last, name))
    first = [(found[name], tiers[name]) for name in order[:MAX_LINES]]
    return tuple(from_fact(each.fact, tier, AttributeSource.PRIOR, support=each.times) for each, tier in first)


def _frequency_tier(of: _Frequency, squares: int) -> Tier:
    for tier, strength, times in _FREQUENCY_TIERS:
        # In whole numbers, so that every machine gives the same tier.
        if of.times >= times and 10_000 * of.weight**2 >= strength**2 * squares:
            return tier
    return Tier.LOW

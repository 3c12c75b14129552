"""Evidence for lines (paper 2.5), steps of tiers, drift detection and attribution.

A line has two counts in 1/1024 of a choice: `taken`, and `expected`, the sum of the shares of shown items that have its
value. A value that is taken as often as it is offered proves nothing. Both counts decay by 1/16 per choice.

Drift detection is Page's CUSUM test (Page-Hinkley): each list that offers a high line adds the log-likelihood ratio of
"taken by chance" against "taken at the line's rate"; the sum never falls below zero. `python -m benchmarks.shifts`
measures its false alarms and delay.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from math import log

from operators.attributes import RankedLine, fact_ids
from schemas import ONE, Attribute, AttributeSource, ItemFacts, PolicySkill, Tier

# Counts lose 1/16 per choice, half after eleven choices: tastes outlast an evening, not a year.
DECAY = 16
# The slowest decay, of the weakest signal: a divisor above 1,024 would round to no decay at all.
SLOWEST_DECAY = 1_024
# The share of a value that too few users took to be counted, and of any value of an unknown population, in 1/1024.
RARE_SHARE, UNKNOWN_SHARE = ONE // 64, ONE // 4
# At discovery, assume that at most six earlier lists offered the value at the population's rate.
BACKFILL_CHOICES = 6
# The ratio that a statement or a template gives a line: above its tier's threshold, so that one miss keeps the tier.
_STATED_RATIOS = {Tier.LOW: (13, 10), Tier.MEDIUM: (2, 1), Tier.HIGH: (7, 2)}
MAX_COUNT = 1_024 * ONE
_TIERS = tuple(Tier)


@dataclass(frozen=True, slots=True)
class ListEvidence:
    """The counts of one list: taken facts, and shares of all."""

    taken: tuple[str, ...]
    # The share of all shown items, the chosen one included, that have a fact, in 1/1024.
    shares: Mapping[str, int]
    # The places of the items that have a fact; the taken items are at 0.
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)
    size: int = 1
    # If several items were taken, each fact's part of the one choice, in 1/1024.
    parts: Mapping[str, int] | None = None
    # The chance of each fact by a model, in 1/1024; None: the shares, by blind choice.
    chances: Mapping[str, int] | None = None

    @property
    def expected(self) -> Mapping[str, int]:
        """The chance of each fact to be taken, in 1/1024."""
        return self.shares if self.chances is None else self.chances

    @classmethod
    def of(cls, chosen: Sequence[ItemFacts], unchosen: Sequence[ItemFacts], in_order: bool = False) -> "ListEvidence":
        """Count a choice from one list; several chosen items share one choice.

        If the order is known, the second counts half as much as the first, the third a third.
        """
        names = [fact_ids(item.facts) for item in chosen]
        taken = tuple(dict.fromkeys(chain.from_iterable(names)))
        places = {name: [0] for name in taken}
        for place, item in enumerate(unchosen, 1):
            for name in dict.fromkeys(fact_ids(item.facts)):
                places.setdefault(name, []).append(place)
        items, size = len(chosen) + len(unchosen), 1 + len(unchosen)
        having = {name: len(at) for name, at in places.items()}
        if len(chosen) == 1:
            shares = {name: times * ONE // items for name, times in having.items()}
            return cls(taken, shares, places, size)
        for name in taken:
            having[name] += sum(name in held for held in names) - 1
        shares = {name: times * ONE // items for name, times in having.items()}
        weights = [1 / place if in_order else 1.0 for place in range(1, len(chosen) + 1)]
        parts = {
            name: round(ONE * sum(w for w, held in zip(weights, names, strict=True) if name in held) / sum(weights))
            for name in taken
        }
        return cls(taken, shares, places, size, parts)

    def part(self, name: str) -> int:
        """Return a taken fact's part of the choice, in 1/1024."""
        return ONE if self.parts is None else self.parts.get(name, 0)


def decay(count: int, forget: int = DECAY) -> int:
    """Return a count after the decay of one choice."""
    return count - count // forget if forget else count


def initial_expected(usual: int, share: int, before: int) -> int:
    """Estimate `expected` of a new line from earlier lists and this one.

    `usual` is the population's share of taken items that have it, `share` that of this list, both in 1/1024; `before`,
    the number of the person's choices and visits so far.
    """
    return min(usual * min(before, BACKFILL_CHOICES) + share, MAX_COUNT)


def counts_for_tier(tier: Tier, expected: int = 0) -> int:
    """Return the `taken` that gives a line a tier, with a margin.

    >>> counts_for_tier(Tier.HIGH), counts_for_tier(Tier.HIGH, expected=1_024), counts_for_tier(Tier.SILENT)
    (2560, 6144, 0)
    """
    if not tier:
        return 0
    parts, of = _STATED_RATIOS[tier]
    return min(-(-(expected + ONE) * parts // of) - ONE, MAX_COUNT)


def proof_for_tier(tier: Tier) -> int:
    """Return the proof that gives a line a tier, with a margin.

    >>> proof_for_tier(Tier.HIGH), proof_for_tier(Tier.SILENT)
    (3993, 0)
    """
    return tier * ONE + 9 * ONE // 10 if tier else 0


def is_counted(line: RankedLine) -> bool:
    """True for a line with counts; a template's has only a tier."""
    return bool(line.taken or line.expected)


def counts_of(line: RankedLine) -> tuple[int, int]:
    """Return a line's counts; without any, those of its tier."""
    return (line.taken, line.expected) if line.taken or line.expected else (counts_for_tier(line.tier), 0)


def strength(line: Attribute) -> float:
    """Return a line's log-odds weight: about 0.7 at medium, 1.3 at high.

    A pinned line keeps the weight of its tier, however little it was taken since.
    """
    if not line.tier:
        return 0.0
    taken, expected = counts_of(line)
    if line.pinned:
        taken = max(taken, counts_for_tier(line.tier, expected))
    return log_ratio(taken, expected)


def bet(taken: int, expected: int, share: int, part: int) -> int:
    """Return the nats that a line wins by betting on its value, in 1/1024.

    `share` is that of the shown items with the value, `part` that of the choice that took it, both in 1/1024. For a
    person who chooses blindly, the exponential of all bets together is a martingale: with a chance of 95 %, it never
    reaches e^3, whatever the lists are and whenever one looks.

    >>> bet(3 * ONE, ONE, ONE // 4, ONE), bet(3 * ONE, ONE, ONE // 4, 0), bet(ONE, 3 * ONE, ONE // 4, ONE)
    (481, -228, 0)
    """
    odds = signed_log_ratio(taken, expected)
    if odds <= 0 or not 0 < share < ONE:
        return 0
    chance = share / ONE
    return round(part * odds - ONE * log(1.0 - chance + chance * math.exp(odds)))


def signed_strength(line: RankedLine) -> float:
    """Return a line's log-odds weight in a ranking; negative if the person leaves it more often than by chance.

    It needs no tier: a line ranks before it is proven. A skill states only positive ones.
    """
    taken, expected = line.taken, line.expected
    if line.pinned or not (taken or expected):
        taken, expected = counts_of(line)
        if line.pinned:
            taken = max(taken, counts_for_tier(line.tier, expected))
    return signed_log_ratio(taken, expected)


@lru_cache(maxsize=65_536)
def signed_log_ratio(taken: int, expected: int) -> float:
    """Return the logarithm of taken over expected."""
    return log((taken + ONE) / (expected + ONE))


@lru_cache(maxsize=65_536)
def log_ratio(taken: int, expected: int) -> float:
    """Return the logarithm of taken over expected; never negative (invariant 5)."""
    return max(0.0, log((taken + ONE) / (expected + ONE)))


def describe_counts(taken: int, expected: int) -> str:
    """Write counts for people.

    >>> describe_counts(6 * 1_024, 2_150)
    'lately taken 6 times where 2.1 were to be expected'
    """
    times = "once" if taken == ONE else f"{format_count(taken)} times"
    return f"lately taken {times} where {format_count(expected)} were to be expected"


# Beyond a million cases, a larger number means no more to a reader.
_MOST_CASES = 1_000_000


def luck_odds(proof: int) -> str:
    """Write how seldom luck reaches a proof; empty below one nat.

    A person who chooses blindly ever reaches W nats with a chance of at most e^-W.

    >>> luck_odds(3 * ONE), luck_odds(ONE), luck_odds(900)
    ('once in 20 cases', 'once in 2.7 cases', '')
    """
    if proof < ONE:
        return ""
    cases = math.exp(min(proof / ONE, log(_MOST_CASES)))
    return f"once in {float(f'{cases:.2g}'):,.1f}".removesuffix(".0") + " cases"


def describe_proof(proof: int) -> str:
    """Write a proof as a clause.

    >>> describe_proof(3 * ONE)
    'luck would do as well once in 20 cases'
    """
    odds = luck_odds(proof)
    return odds and f"luck would do as well {odds}"


def format_count(count: int) -> str:
    """Write a count in choices, such as `2.1`."""
    return f"{count / ONE:.1f}".removesuffix(".0")


def to_fixed_point(shares: Mapping[str, float]) -> dict[str, int]:
    """Convert shares from 0 to 1 to 1/1024."""
    return {name: int(share * ONE) for name, share in shares.items()}


def is_protected(line: Attribute) -> bool:
    """Return True for a high line of the prior (paper 2.5)."""
    return line.source is AttributeSource.PRIOR and line.tier is Tier.HIGH


def tier_step(line: Attribute, target: Tier, *, taken: bool, contradicted: bool, patience: int) -> Tier | None:
    """Return a line's tier after an event, one step nearer to its target; None if there is nothing to record.

    Only an event that takes the line raises it, and no such event lowers it. A high line of the prior waits for
    `patience` contradictions: until then its own tier is returned, so that the contradiction is recorded.

    >>> line = Attribute(attribute_id="preference:genre:noir", kind="preference", dimension="genre", value="noir",
    ...     tier=Tier.HIGH, source=AttributeSource.PRIOR)
    >>> [tier_step(line, Tier.LOW, taken=False, contradicted=True, patience=n) for n in (1, 2)]
    [<Tier.MEDIUM: 2>, <Tier.HIGH: 3>]
    """
    if taken:
        return _TIERS[line.tier + (target > line.tier)]
    if line.pinned or target >= line.tier:
        return None
    if is_protected(line) and line.contradictions + contradicted < patience:
        return line.tier if contradicted else None
    return _TIERS[line.tier - 1]


# The threshold of the test, in 1/1024 nat. With `ESTABLISHED`, `benchmarks.shifts` has false alarms for 0 of 200
# people, and detects an ended taste after 12 lists of ten (median). 4 nats detect fewer, with as many false alarms.
DRIFT_THRESHOLD = 3 * ONE
# Lines above half the threshold are weakened together with a line above it.
DRIFT_WARNING = DRIFT_THRESHOLD // 2
# Clip the tested odds: otherwise a fading line would be tested ever more weakly.
MIN_ODDS, MAX_ODDS = 3.0, 5.0
# The least `taken` of a tested line, in 1/1024, with decay. A line from the history needs more: visits come without
# lists, so they also name values that all people take (nine of ten false alarms, such as "dinner").
ESTABLISHED, ESTABLISHED_BY_HISTORY = 6 * ONE, 10 * ONE
# A year without an event decays the counts like one choice.
INACTIVITY_ROUND = timedelta(days=365)
MAX_INACTIVITY_ROUNDS = 32
# Extra rounds of decay after detected drift.
DRIFT_ROUNDS = 4
# After a stated change of taste: 16 rounds leave a third of the older counts.
STATED_DRIFT_ROUNDS = 16


def page_hinkley(line: Attribute, share: int, taken: bool) -> int:
    """Return the line's CUSUM after a list, in 1/1024 nat (Page 1954).

    Tests only established high lines, and only against lists that offer the value among others: a value taken three
    times by luck was never a taste that could change.
    """
    least = ESTABLISHED_BY_HISTORY if line.source is AttributeSource.PRIOR else ESTABLISHED
    was_sure = (line.tier is Tier.HIGH and line.taken >= least) or (line.drift and line.tier)
    if not was_sure or line.source is AttributeSource.STATED or not 0 < share < ONE:
        return line.drift
    odds = min(max((line.taken + ONE) / (line.expected + ONE), MIN_ODDS), MAX_ODDS)
    chance = share / ONE
    expected = chance * odds / (1.0 + chance * (odds - 1.0))
    nats = math.log(chance / expected) if taken else math.log((1.0 - chance) / (1.0 - expected))
    return min(max(0, line.drift + round(nats * ONE)), 16 * DRIFT_THRESHOLD)


def drift_detected(line: Attribute, drift: int) -> bool:
    """True if the CUSUM reaches the threshold."""
    return drift >= DRIFT_THRESHOLD and bool(line.tier)


def inactivity_decay(skill: PolicySkill, now: datetime) -> int:
    """Return the extra rounds of decay after an inactivity."""
    return min(max(0, (now - skill.occurred_at) // INACTIVITY_ROUND), MAX_INACTIVITY_ROUNDS) if skill.version else 0

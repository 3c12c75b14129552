"""The lesson of an event: its evidence against the prediction, and its additions to counts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from operators.attributes import RankedLine, fact_ids, ranked_lines
from operators.habit_directions import is_habit
from operators.learning.choice_model import ListFeatures
from operators.learning.evidence import (
    DECAY,
    RARE_SHARE,
    SLOWEST_DECAY,
    UNKNOWN_SHARE,
    ListEvidence,
    bet,
    counts_of,
    page_hinkley,
    signed_strength,
)
from operators.learning.habits import HABIT_DECAY as HABITS_FORGET
from operators.learning.none_taken import NOTHING, approval_rate, as_choice
from operators.learning.questions import shown_items
from operators.learning.tradeoffs import NumberEvidence, number_evidence, personal_weights
from operators.weights import DEFAULT_WEIGHTS
from schemas import (
    ONE,
    Abstention,
    Attribute,
    AttributeKind,
    Contrast,
    CountDelta,
    Fact,
    Features,
    HabitAdded,
    ItemFacts,
    PolicySkill,
    Tier,
)
from schemas.diffs import NumberSums

Verdicts = Mapping[str, tuple[int, int]]
Habits = Mapping[str, HabitAdded] | None
Drift = Mapping[str, int]
_HIGH = Tier.HIGH
# Trade-offs change more slowly than tastes, and more choices are needed to learn one.
NUMBERS_FORGET = 32
# A value taken for the first time keeps at most this much of how often it was left: an item left for another reason
# says little, and a discovered line begins with about as much.
FIRST_EXPECTED = ONE // 2
# A value of at least one item in so many gets a line though it was left.
COMMON_SHARE = 4
# A list of one offers few values: with the decay of a choice, a value would be forgotten before it comes again. A list
# that was left as a whole is no full choice either.
OFFER_FORGETS = ONE // 4


class ChoiceLesson(NamedTuple):
    """The evidence of a choice on facts and numbers.

    `common_left` are facts that many left items have; `forgets` is its part of a choice in the decay, in 1/1024.
    """

    shown: ListEvidence
    numbers: NumberEvidence | None
    common_left: list[Fact]
    forgets: int = ONE


def lesson_of(skill: PolicySkill, event: Contrast | Abstention, usual: Mapping[str, int] | None = None) -> ChoiceLesson:
    """Compare a choice with its prediction, and one of several items with blind choice."""
    contrast = as_choice(event)
    taken = (contrast.chosen, *contrast.also)
    shown = ListEvidence.of(taken, contrast.unchosen, contrast.in_order)
    common = _common_left(contrast.unchosen, shown)
    if contrast.also:
        if not contrast.unchosen:
            shown = replace(visit_evidence(skill, taken, usual), parts=shown.parts)
        return ChoiceLesson(shown, None, common)
    items, chosen = shown_items(contrast)
    predicted = prediction_of(skill, contrast)
    picky = 0.0
    if NOTHING in predicted.numbers:
        # All approvals count, also those that other numbers explain: a line must explain more than them.
        weight, _ = predicted.numbers[NOTHING]
        picky = personal_weights([NOTHING], {NOTHING: weight / ONE}, skill.numbers)[NOTHING]
        shown = replace(shown, shares=dict.fromkeys(shown.shares, round(approval_rate(picky) * ONE)))
    chance_of = {item.item_id: chance for item, chance in zip(items, predicted.chances, strict=True)}
    # A repeated id has no chance of its own.
    chances = [chance_of.pop(item.item_id, 0) for item in (contrast.chosen, *contrast.unchosen)]
    forgets = ONE if contrast is event else OFFER_FORGETS
    numbers = number_evidence(items, chosen, predicted, picky)
    return ChoiceLesson(_expected(skill, shown, chances), numbers, common, forgets)


def prediction_of(skill: PolicySkill, contrast: Contrast) -> Features:
    """Return the prediction that a choice is compared with: our ranking's, or else one by the skill alone.

    It never uses the domain's weights of now: they depend on time, and the diff must follow from the log.
    """
    items, _ = shown_items(contrast)
    if contrast.features is not None and len(contrast.features.chances) == len(items):
        return contrast.features
    # Of two candidates, each number would be one unit off the mean.
    weights = replace(DEFAULT_WEIGHTS, usual=contrast.usual) if contrast.usual else DEFAULT_WEIGHTS
    features = ListFeatures.of(items, ranked_lines(skill), weights=weights, sums=skill.numbers)
    return features.to_event(range(len(items)), weights)


def _expected(skill: PolicySkill, shown: ListEvidence, chances: Sequence[int]) -> ListEvidence:
    """Return the evidence with the shares that the model without each line expects.

    A line that explains the choice must not be expected by itself: its own part is taken out of the chance of its value
    (leave one out).
    """
    # The chances are rounded: those of a hundred items may sum to less than one.
    total = max(1, sum(chances))
    shares = {name: ONE * sum([chances[place] for place in places]) // total for name, places in shown.places.items()}
    for line in ranked_lines(skill, shares):
        name = line.attribute_id
        if name in shares and line.kind is not AttributeKind.PATTERN and (own := signed_strength(line)):
            without = shares[name] * math.exp(-own * DEFAULT_WEIGHTS.of(line.dimension))
            shares[name] = round(ONE * without / (without + ONE - shares[name])) if without else 0
    return replace(shown, chances=shares)


def _common_left(left: Sequence[ItemFacts], shown: ListEvidence) -> list[Fact]:
    # A value that a quarter of the list has is worth a line even if it is left: it may count against an item.
    taken, shares = frozenset(shown.taken), shown.shares
    named = [name for name in shown.places if COMMON_SHARE * shares[name] >= ONE and name not in taken]
    firsts = [(name, left[shown.places[name][0] - 1].facts) for name in named]
    return [facts[fact_ids(facts).index(name)] for name, facts in firsts]


def visit_evidence(skill: PolicySkill, items: Sequence[ItemFacts], usual: Mapping[str, int] | None) -> ListEvidence:
    """Return the evidence of items taken without a list: lines bet on them as in a list with the usual shares."""
    taken = tuple(dict.fromkeys(name for item in items for name in fact_ids(item.facts)))
    if usual:
        return ListEvidence(taken, {**dict.fromkeys(taken, RARE_SHARE), **usual}, chances=usual)
    known = (line.attribute_id for line in ranked_lines(skill))
    return ListEvidence(taken, dict.fromkeys((*taken, *known), UNKNOWN_SHARE), chances={})


def count_delta(
    lines: Sequence[RankedLine],
    shown: ListEvidence,
    verdicts: Verdicts,
    habits: Habits,
    weight: int,
    forgets: int,
    aged: int,
    drift: Drift,
    numbers: NumberSums | None,
) -> CountDelta:
    """Return the additions of an event to the counts of lines, habits and numbers."""
    begun: dict[str, tuple[int, int]] = {}
    added: dict[str, tuple[int, int, int]] = {}
    taken, shares, expected = frozenset(shown.taken), shown.shares, shown.expected
    for line in lines:
        name = line.attribute_id
        if is_habit(name):
            continue
        if line.tier and not (line.taken or line.expected):
            begun[name] = counts_of(line)
        part = shown.part(name) if name in taken else 0
        if part and not line.taken and line.expected > FIRST_EXPECTED:
            begun[name] = (0, FIRST_EXPECTED)
        to_taken = part * weight // ONE
        to_expected = expected.get(name, 0) * weight // ONE
        nats = bet(*counts_of(line), shares[name], part) * weight // ONE if name in shares else 0
        if name in verdicts:
            more, less = verdicts[name]
            to_taken, to_expected = to_taken + more, to_expected + less
        if to_taken or to_expected or nats:
            added[name] = (to_taken, to_expected, nats)
    fading = {"habits_forget": HABITS_FORGET, "habits": habits} if habits else {}
    return CountDelta.trusted(
        # An event of less weight than a choice forgets less, but at least a little.
        forget=min(DECAY * ONE // forgets, SLOWEST_DECAY),
        aged=aged,
        begun=begun,
        lines=added,
        drift=drift,
        numbers_forget=NUMBERS_FORGET * ONE // forgets if numbers is not None else 0,
        numbers=numbers,
        **fading,
    )


def drift_of(lines: Sequence[Attribute], shown: ListEvidence) -> Drift:
    """Return the changed states of the lines' drift tests."""
    taken, shares = frozenset(shown.taken), shown.shares
    found = {}
    for line in lines:
        name = line.attribute_id
        is_tested = (line.tier is _HIGH or line.drift) and name in shares
        if not is_tested or is_habit(name) or line.pinned:
            continue
        drift = page_hinkley(line, shares[name], name in taken)
        if drift != line.drift:
            found[name] = drift
    return found

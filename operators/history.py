"""A skill's past: earlier versions, and the history of a line."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from operators.attributes import ranked_lines
from operators.habit_directions import BY_PREFIX, is_number_line
from operators.learning.choice_model import ListFeatures
from operators.learning.fold import fold, merge, seeded_skill
from operators.learning.number_lines import number_line_id
from operators.learning.tiers import proven_tier
from operators.learning.tradeoffs import without_number
from operators.stated import is_free, lasting_statements
from operators.weights import DEFAULT_WEIGHTS, RankWeights, number_dimension
from schemas import (
    Attribute,
    ItemFacts,
    Judgement,
    PolicySkill,
    SkillChange,
    SkillChangeKind,
    SkillDiff,
    Stance,
    Statement,
    StatementChange,
    Tier,
)


def at_version(diffs: Sequence[SkillDiff], version: int) -> PolicySkill | None:
    """Fold the log up to a version; 0: the seed."""
    if not diffs:
        return None
    if version == 0:
        return seeded_skill(diffs[0])
    upto = [diff for diff in diffs if diff.version <= version]
    if not upto or upto[-1].version != version:
        return None
    return fold(upto)[diffs[0].user_id, diffs[0].domain]


def lines_by_version(diffs: Sequence[SkillDiff]) -> dict[tuple[int, str], Attribute]:
    """Return the lines after each version, by version and id."""
    skill, found = None, {}
    for diff in diffs:
        skill = merge(skill, diff)
        found.update({(diff.version, line.attribute_id): line for line in skill.attributes})
    return found


@dataclass(frozen=True)
class LineEvent:
    """One event of a line's history, maybe under an older id.

    `change` is None for a line of the seed, `seeded`, and for a model's verdict that changed nothing.
    """

    diff: SkillDiff
    attribute_id: str
    change: SkillChange | None
    seeded: Attribute | None = None
    judged: Judgement | None = None


def line_steps(diffs: Sequence[SkillDiff], attribute_id: str) -> list[LineEvent]:
    """Return a line's history, oldest first, across rewordings."""
    found: list[LineEvent] = []
    name = attribute_id
    for diff in reversed(diffs):
        of_line = [change for change in diff.changes if change.attribute_id == name]
        judged = next((judgement for judgement in diff.judged if judgement.attribute_id == name), None)
        found += [LineEvent(diff, name, change, judged=judged) for change in reversed(of_line)]
        if judged is not None and not of_line:
            found.append(LineEvent(diff, name, None, judged=judged))
        found += [LineEvent(diff, name, None, line) for line in diff.seed or () if line.attribute_id == name]
        if any(change.kind is SkillChangeKind.ADDED for change in of_line):  # it may be another line's new words
            before = (c.attribute_id for c in diff.changes if c.kind is SkillChangeKind.REWORDED and c.after is None)
            name = next(before, name)
    return found[::-1]


def statement_steps(diffs: Sequence[SkillDiff], statement_id: str) -> list[tuple[SkillDiff, StatementChange]]:
    """Return the history of one statement, oldest first."""
    return [(diff, change) for diff in diffs for change in diff.stated if change.statement_id == statement_id]


class LineValue(NamedTuple):
    """The misses that a line saved in a person's last choices."""

    saved: float
    choices: int


def line_value(diffs: Sequence[SkillDiff], lists: Mapping[str, Sequence[ItemFacts]], attribute_id: str) -> LineValue:
    """Return how many more choices the skill would have missed without a line.

    Before each choice is learned, the skill ranks its list with and without the line; a miss is another item in the
    first place. `lists` has the items of choices by event, the taken one first.
    """
    before, saved, choices = seeded_skill(diffs[0]), 0.0, 0
    for diff in diffs:
        items = lists.get(diff.event_id, ())
        if diff.is_contrast and len(items) > 1:
            saved += miss_saved(before, items, attribute_id)
            choices += 1
        before = merge(before, diff)
    return LineValue(saved, choices)


def miss_saved(
    skill: PolicySkill, items: Sequence[ItemFacts], attribute_id: str, weights: RankWeights = DEFAULT_WEIGHTS
) -> float:
    """Return 1 if only a line puts the first of the items in the first place, and -1 if it displaces it.

    With a domain's weights, a line about a number is worth how the person differs from the domain.
    """
    without = _without(skill, attribute_id)
    return _first_chance(items, skill, weights) - _first_chance(items, without, weights)


def _without(skill: PolicySkill, attribute_id: str) -> PolicySkill:
    lines, numbers = tuple(line for line in skill.attributes if line.attribute_id != attribute_id), skill.numbers
    if numbers is not None and (name := _number_of(attribute_id)):
        numbers = without_number(numbers, name)
    return skill.model_copy(update={"attributes": lines, "numbers": numbers})


def _number_of(attribute_id: str) -> str:
    return attribute_id.split(":")[1].removeprefix(BY_PREFIX) if is_number_line(attribute_id) else ""


def rank_by_number(items: Sequence[ItemFacts], attribute_id: str) -> int | None:
    """Return the first item's rank by a line about a number, 1 the best; None if unknown."""
    name = _number_of(attribute_id)
    amounts = [item.measures[name] for item in items if name in item.measures]
    if not amounts or name not in items[0].measures:
        return None
    is_more = attribute_id == number_line_id(name, more=True)
    return 1 + sum(amount > amounts[0] if is_more else amount < amounts[0] for amount in amounts)


def _first_chance(items: Sequence[ItemFacts], skill: PolicySkill, weights: RankWeights) -> float:
    # The chance that the first of the items stands first, without the community; equal scores share it.
    features = ListFeatures.of(items, ranked_lines(skill), weights=weights, sums=skill.numbers)
    scores = [round(score, 9) for score in features.scores(weights)]
    return 1 / scores.count(scores[0]) if scores[0] == max(scores) else 0.0


@dataclass(frozen=True)
class Disagreement:
    """A statement that the person's choices since then contradict.

    `line` is what they follow instead of the statement, None if they leave what it prefers; `proof` is in 1/1024 nats.
    """

    statement: Statement
    line: Attribute | None
    proof: int


def disagreements(skill: PolicySkill, diffs: Sequence[SkillDiff]) -> Iterator[Disagreement]:
    """Yield the lasting statements that the choices since then contradict, with the proof of a medium line."""
    lines = {line.attribute_id: line for line in skill.attributes}
    numbers = {line.dimension: line for line in skill.attributes if is_number_line(line.attribute_id)}
    for said in lasting_statements(skill.stated):
        since = [diff.count_delta for diff in diffs if diff.is_contrast and diff.version > said.since]
        line, proof = lines.get(said.attribute_id), 0
        counts = [delta.lines.get(said.attribute_id, (0, 0, 0)) for delta in since if delta is not None]
        if said.bound is not None:
            line = numbers.get(number_dimension(said.bound.measure)) if is_free(said.bound) else None
            sums = [delta.numbers.proofs for delta in since if delta is not None and delta.numbers is not None]
            proof = sum(each.get(said.bound.measure, 0) for each in sums) if line is not None else 0
        elif said.stance is Stance.AVOIDS:
            proof = sum(nats for *_, nats in counts) if line is not None else 0
        else:
            line, proof = None, _proof_of_leaving(*(sum(each[place] for each in counts) for place in (0, 1)))
        if proven_tier(proof) >= Tier.MEDIUM:
            yield Disagreement(said, line, proof)


def _proof_of_leaving(taken: int, expected: int) -> int:
    # Chernoff's bound on the chance of so few takings, in nats.
    if taken >= expected:
        return 0
    return round(expected - taken + (taken * math.log(taken / expected) if taken else 0))

"""Selection of the slim skill's lines, by rules or by a model.

A skill keeps its selection (`slim_lines`, in the log), so that a prompt's cache lasts and a rebuild needs no model.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from operators.language.output_policy import OutputGate
from operators.learning.evidence import strength
from operators.slim.rules import TRADE_OFF_ID, Shares, SlimText, eligible_lines, fit_budget, joint_styles, phrases
from operators.slim.statements import stated_avoidances
from schemas import Attribute, AttributeSource, PolicySkill, Provenance, is_answer_style

# How strong a like must be to join a text that has likes: as a high line, while a medium one may stay.
#
# At log(2) the text changes after 5.8 of 18.7 choices, here after 4.7, and after 10.5 without a selection that stays;
# Hit@1 by the text alone is .261, .255 and .247 (MovieLens).
_JOIN_STRENGTH = math.log(2.5)
# By how much a like must be stronger to replace another.
_REPLACE_MARGIN = math.log(1.25)
_STATED_BONUS = 10.0


def select(
    skill: PolicySkill,
    budget: int = 30,
    population: Shares = None,
    *,
    gate: OutputGate,
    numbers: Mapping[str, float] = MappingProxyType({}),
    all_eligible: bool = False,
) -> tuple[str, ...]:
    """Select the lines of the slim text, with hysteresis.

    A selected like keeps its place until it may not leave the skill any more, or until a like without room is clearly
    stronger. A like joins at the strength of a high line and leaves below medium, so that one near either threshold
    does not come and go with each choice. An empty text takes the strongest ones. A style phrase stays until it may not
    leave the skill any more. `numbers` are the person's weights, which order the lines about them. If `all_eligible`, a
    like joins at medium, as in the paper.
    """
    likes, styles = phrases(skill, population, gate=gate, numbers=numbers)
    avoids = tuple(stated_avoidances(skill, gate)) if skill.stated else ()

    def conviction(like: str) -> float:
        line = likes[like]
        # The person's own word stands above all evidence.
        return strength(line) + (_STATED_BONUS if line.pinned or line.source is AttributeSource.STATED else 0)

    def fitting(some: Iterable[str]) -> SlimText:
        return fit_budget(tuple(some), joint_styles(styles), budget, avoids)

    held = [like for like, line in likes.items() if line.attribute_id in skill.slim_lines]
    joining = [like for like in likes if like not in held and (all_eligible or conviction(like) >= _JOIN_STRENGTH)]
    if not held and not joining:
        joining = sorted(likes, key=conviction, reverse=True)
    line = fitting((*held, *joining))
    for like in sorted(set(joining).difference(line.likes), key=lambda like: (-conviction(like), like)):
        if not line.likes or conviction(like) < (least := min(map(conviction, line.likes))) + _REPLACE_MARGIN:
            break
        weakest = next(each for each in reversed(line.likes) if conviction(each) == least)
        changed = fitting(like if each == weakest else each for each in line.likes)
        line = changed if like in changed.likes else line
    return _line_ids(line, likes, styles)


@dataclass(frozen=True)
class SlimSelection:
    """The lines that a model selects for the slim text, and its calls.

    Without `lines` the rules select.
    """

    lines: tuple[str, ...] = ()
    reasoned_by: Provenance = field(default_factory=Provenance)


def keeps_eligible(skill: PolicySkill, evolved: PolicySkill, gate: OutputGate) -> bool:
    """Return True if the same lines may be in both versions' slim texts."""
    # A skill before its first version has no text.
    return skill.version > 0 and _eligible_ids(skill, gate) == _eligible_ids(evolved, gate)


def _eligible_ids(skill: PolicySkill, gate: OutputGate) -> set[str]:
    return {line.attribute_id for line in gate.allowed_lines(eligible_lines(skill))}


def fit_selection(skill: PolicySkill, lines: Sequence[str], budget: int, *, gate: OutputGate) -> tuple[str, ...]:
    """Return the selected lines that are eligible and fit the budget, in their order; empty without any.

    The person's wishes about answers and the trade-off stay in the text, selected or not.
    """
    likes, styles = (
        {
            words: line
            for words, line in found.items()
            if line.attribute_id in {*lines, TRADE_OFF_ID} or is_answer_style(line.dimension, line.value)
        }
        for found in phrases(skill.model_copy(update={"slim_lines": tuple(lines)}), gate=gate)
    )
    avoids = tuple(stated_avoidances(skill, gate)) if skill.stated else ()
    fitting = _line_ids(fit_budget(tuple(likes), joint_styles(styles), budget, avoids), likes, styles)
    return fitting if set(lines).intersection(fitting) else ()


def _line_ids(text: SlimText, likes: Mapping[str, Attribute], styles: Mapping[str, Attribute]) -> tuple[str, ...]:
    lines = (*map(likes.__getitem__, text.likes), *map(styles.__getitem__, text.styles))
    return tuple(line.attribute_id for line in lines)

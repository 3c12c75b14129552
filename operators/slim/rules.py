"""The slim skill without an LLM: likes and style within a budget."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from operators.habit_directions import BY_PREFIX, DIRECTION_ORDER, is_habit
from operators.language.output_policy import OutputGate
from operators.slim.statements import phrase, stated_avoidances, stated_likes, temporary_words, typed_line
from operators.stated import avoided_ids, lasting_statements
from operators.tokens import count_tokens
from schemas import (
    Attribute,
    AttributeKind,
    PolicySkill,
    Scope,
    SlimLine,
    SlimSkill,
    Tier,
    is_answer_style,
)
from schemas.diffs import TradeOff

# The share of the domain's users who have an attribute, by id.
Shares = Mapping[str, float] | None
_Phrases = tuple[str, ...]
MAX_LIKES = 3
# Of the trade-off among the style phrases; no line of a skill has it.
TRADE_OFF_ID = f"{AttributeKind.CRITERION.value}:{BY_PREFIX}trade_off"
MAX_STYLES = 2
STYLE_SEPARATOR = ", "
# Tokens that a bar between two parts takes, at most.
_SEPARATOR_TOKENS = 2
# Where the paper measures longer injections (its figure 7), the room is for likes: the style stays short.
_MORE_LIKES = ((200, 16), (150, 12), (80, 6))


def max_likes(budget: int) -> int:
    """Return the most likes for a budget in tokens (paper: three).

    >>> [max_likes(budget) for budget in (10, 30, 80, 150, 200)]
    [3, 3, 6, 12, 16]
    """
    return next((likes for tokens, likes in _MORE_LIKES if budget >= tokens), MAX_LIKES)


def slim(
    skill: PolicySkill, budget: int = 30, population: Shares = None, relevant: Collection[str] = (), *, gate: OutputGate
) -> SlimSkill:
    """Extract the injected line, `likes: X, Y | style: phrase`.

    It has at most `budget` tokens; the paper's optimum is 30. Attributes that are common in the population rank later:
    they distinguish few users. `relevant` attributes (see `relevant_to`) come first.
    """
    likes, styles = phrases(skill, population, relevant, gate=gate)
    if skill.slim_lines:
        # The skill's own selection is its text, whatever the population's shares are by now.
        selected = {*skill.slim_lines, *relevant, TRADE_OFF_ID}
        likes, styles = (
            {each: line for each, line in found.items() if line.attribute_id in selected} for found in (likes, styles)
        )
    return build_slim(skill, likes, styles, budget, gate)


def text_changed(before: PolicySkill, now: PolicySkill, budget: int, gate: OutputGate) -> bool:
    """Return True if apps have to read the slim skill again."""
    if any(gate.rejection(each.dimension, each.value) for each in now.stated):
        return True  # The operator's list or a release may allow these words at one version and not at the next.
    is_known = _visible_text(slim(before, budget, gate=gate)) if before.version else ()
    return _visible_text(slim(now, budget, gate=gate)) != is_known


def _visible_text(short: SlimSkill) -> tuple[object, ...]:
    if not (short.text or short.now):
        return ()
    return short.text, short.session_id, short.session_until, short.now, short.session_text


def phrases(
    skill: PolicySkill,
    population: Shares = None,
    relevant: Collection[str] = (),
    *,
    gate: OutputGate,
    numbers: Mapping[str, float] = MappingProxyType({}),
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """Return eligible likes and style phrases, best first, with their lines."""
    shares = population or {}
    strengths = {f"{BY_PREFIX}{name}": abs(weight) for name, weight in numbers.items()}
    places = {name: place for place, name in enumerate(skill.slim_lines)}

    def selected_at(line: Attribute) -> int:
        return places.get(line.attribute_id, len(places))

    def order(line: Attribute) -> tuple[bool, int, int, float, int, int, str]:
        name = line.attribute_id
        rarity = -math.log(max(shares.get(name, 0.0), 0.01)) if shares else 0.0
        return name not in relevant, selected_at(line), -line.tier, -rarity, -line.confirmed_at, -line.support, name

    likes: dict[str, Attribute] = {}
    patterns: dict[str, Attribute] = {}
    criteria: dict[str, Attribute] = {}
    answers: dict[str, Attribute] = {}
    habits: list[Attribute] = []
    for line in sorted(gate.allowed_lines(eligible_lines(skill)), key=order):
        if is_habit(line.attribute_id):
            if line.dimension.removeprefix(BY_PREFIX) in skill.trade_off.numbers:
                continue
            habits.append(line)
        elif safe := phrase(line.dimension, line.value):
            if is_answer_style(line.dimension, line.value):
                answers.setdefault(safe, line)
            elif line.kind is AttributeKind.CRITERION:
                criteria.setdefault(f"prefers {safe}", line)
            else:
                (patterns if line.kind is AttributeKind.PATTERN else likes).setdefault(safe, line)
    # Numbers first, by how much they weigh: they decide more often than any habit.
    habits.sort(
        key=lambda line: (-strengths.get(line.dimension, 0.0), -line.tier, DIRECTION_ORDER.get(line.attribute_id, -1))
    )
    if skill.trade_off.numbers:
        habits = [_trade_off_line(skill.trade_off), *habits]
    # Habits describe a style better than criteria do: a bare "2000s" is no instruction for a model.
    styles = {**answers, **{line.value: line for line in habits}, **patterns, **criteria}
    held_first = sorted(styles.items(), key=lambda style: selected_at(style[1]))
    if strengths:
        # All numbers may change places; the other styles stay as they were.
        held_first.sort(key=lambda style: -strengths.get(style[1].dimension, 0.0))
    held_first.sort(key=lambda style: style[1].attribute_id != TRADE_OFF_ID)
    return likes, dict(held_first)


def _trade_off_line(found: TradeOff) -> Attribute:
    return Attribute(
        attribute_id=TRADE_OFF_ID,
        kind=AttributeKind.CRITERION,
        dimension="trade_off",
        value=found.words,
        tier=Tier.MEDIUM,
    )


def eligible_lines(skill: PolicySkill) -> list[Attribute]:
    """Return medium and high lines (invariant 7, paper 2.3) and stated likes, without avoided ones."""
    lines = [line for line in skill.attributes if line.tier >= Tier.MEDIUM]
    if not skill.stated:
        return lines
    stated = {line.attribute_id: line for line in stated_likes(skill)}
    silent = stated.keys() | avoided_ids(lasting_statements(skill.stated))
    return [*stated.values(), *(line for line in lines if line.attribute_id not in silent)]


def build_slim(
    skill: PolicySkill, likes: Mapping[str, Attribute], styles: Mapping[str, Attribute], budget: int, gate: OutputGate
) -> SlimSkill:
    """Build the slim skill from phrases that fit the budget."""
    avoids = stated_avoidances(skill, gate) if skill.stated else {}
    line = fit_budget(tuple(likes), joint_styles(styles), budget, tuple(avoids))
    if (common := skill.trade_off).words and not common.numbers and not line.styles:
        # Most people's trade-off takes only room that is left.
        text = compose(line.likes, common.words, line.avoids)
        if _tokens(text) <= budget:
            styles = {**styles, common.words: _trade_off_line(common)}
            line = line._replace(styles=(common.words,), text=text, tokens=_tokens(text))
    words, session_id, until = temporary_words(skill, line.likes, gate)
    within = line
    if words:
        passing = (each for each in skill.stated if each.scope is not Scope.ALWAYS)
        silent = avoided_ids(each for each in passing if each.session_id in (None, session_id))
        left = [like for like, of in likes.items() if of.attribute_id not in silent]
        kept = {style: of for style, of in styles.items() if of.attribute_id not in silent}
        within = fit_budget(tuple(left), joint_styles(kept), budget, line.avoids, tuple(words))

    def typed_lines(of: SlimText) -> tuple[SlimLine, ...]:
        lines = [*map(likes.__getitem__, of.likes), *map(styles.__getitem__, of.styles)]
        stated = [*map(avoids.__getitem__, of.avoids), *map(words.__getitem__, of.now)]
        return tuple(dict.fromkeys(map(typed_line, (*lines, *stated))))

    return SlimSkill(
        event_id=skill.event_id,
        occurred_at=skill.occurred_at,
        user_id=skill.user_id,
        domain=skill.domain,
        skill_version=skill.version,
        text=line.text,
        likes=line.likes[:MAX_LIKES],
        avoids=line.avoids,
        session_id=session_id if within.now else None,
        session_until=until if within.now else None,
        now=within.now,
        session_text=within.text if within.now else "",
        style=STYLE_SEPARATOR.join(line.styles),
        lines=typed_lines(line),
        session_lines=typed_lines(within) if within.now else (),
        tokens=line.tokens,
    )


def joint_styles(styles: Mapping[str, Attribute]) -> tuple[str, ...]:
    """Return wishes about answers, then two habits or one other style."""
    wishes = tuple(style for style, line in styles.items() if is_answer_style(line.dimension, line.value))
    best = tuple(islice((style for style in styles if style not in wishes), MAX_STYLES))
    return *wishes, *(best if all(is_habit(styles[style].attribute_id) for style in best) else best[:1])


class SlimText(NamedTuple):
    """As much as a budget holds, as one line of text."""

    likes: _Phrases
    styles: _Phrases
    text: str
    tokens: int
    avoids: _Phrases = ()
    now: _Phrases = ()


_NO_TEXT = SlimText((), (), "", 0)


@lru_cache(maxsize=8_192)
def fit_budget(likes: _Phrases, styles: _Phrases, budget: int, avoids: _Phrases = (), now: _Phrases = ()) -> SlimText:
    """Return the text with as many phrases as fit, the first ones first."""
    # Avoidances and session lines take room before a second like.
    if avoids or now:
        return _fit_with_statements(likes, styles, budget, avoids, now)
    most = max_likes(budget)
    chosen: tuple[str, ...] = ()
    for like in likes:
        if len(chosen) < most and _tokens(compose((*chosen, like), "")) <= budget:
            chosen = (*chosen, like)
    # A third like is worth less than a style phrase, a style phrase less than a second like, and a second style phrase
    # less than any of them.
    fewer = [chosen[:few] for few in range(len(chosen) - 1, MAX_LIKES - 2, -1)]
    with_styles = [(chosen, styles[:most]) for most in range(len(styles), 0, -1)]
    with_first = [(some, styles[:1]) for some in fewer if styles]
    for few, shown in (*with_styles, *with_first, (chosen, ())):
        text = compose(few, STYLE_SEPARATOR.join(shown))
        if _tokens(text) <= budget:
            return SlimText(few, shown, text, _tokens(text) if text else 0)
    return _NO_TEXT


def _fit_with_statements(likes: _Phrases, styles: _Phrases, budget: int, avoids: _Phrases, now: _Phrases) -> SlimText:
    # Keep as many avoidances and session lines as leave room for one like.
    for few in range(max(len(avoids), len(now)), 0, -1):
        kept, new = avoids[:few], now[:few]
        apart = _tokens(compose((), "", kept, new)) + _SEPARATOR_TOKENS
        line = fit_budget(likes, styles, budget - apart) if apart < budget else _NO_TEXT
        text = compose(line.likes, STYLE_SEPARATOR.join(line.styles), kept, new)
        tokens = _tokens(text)
        if tokens <= budget and (few == 1 or line.likes or not likes):
            return SlimText(line.likes, line.styles, text, tokens, kept, new)
    return fit_budget(likes, styles, budget, avoids if now else ())


# The first likes of many skills are the same.
_tokens = lru_cache(maxsize=8_192)(count_tokens)


def compose(likes: Sequence[str], style: str, avoids: Sequence[str] = (), now: Sequence[str] = ()) -> str:
    """Write the slim skill's one line.

    >>> compose(["mystery", "romance"], "cheaper first, explores many genres")
    'likes: mystery, romance | style: cheaper first, explores many genres'
    >>> compose(["mystery"], "", avoids=["horror"], now=["short stories"])
    'likes: mystery | avoids: horror | now: short stories'
    """
    parts = (("likes", ", ".join(likes)), ("avoids", ", ".join(avoids)), ("now", ", ".join(now)), ("style", style))
    return " | ".join([f"{part}: {words}" for part, words in parts if words])

"""Statements and session lines in a slim skill, beside likes and style."""

import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from operators.attributes import MAX_ID_CHARS, RankedLine
from operators.language.answers import describe_answers
from operators.language.output_policy import OutputGate
from operators.learning.document import clip
from operators.learning.evidence import MAX_COUNT, counts_for_tier, counts_of, log_ratio
from operators.learning.tiers import tier_of
from operators.prompts import visible
from operators.stated import avoided_ids, is_doubtful, lasting_statements
from schemas import Attribute, AttributeKind, AttributeSource, PolicySkill, SessionLine, SlimLine, Tier
from schemas.statements import Scope, Stance, Statement

SlimFact = Statement | SessionLine
FactT = TypeVar("FactT", Statement, SessionLine, SlimFact)
MAX_LIKE_CHARS = 40
MAX_AVOIDS = 3
MAX_NOW = 2
# The least log-ratio of a shown session line, in nats: about one choice out of ten items.
_SESSION_STRENGTH = 0.4


@lru_cache(maxsize=16_384)
def phrase(dimension: str, value: str) -> str:
    """Return the words for a value; one without letters names its dimension.

    >>> phrase("price", "20"), phrase("diet", "vegan"), phrase("cook_time", "45")
    ('price 20', 'vegan', 'cook time 45')
    """
    if wish := describe_answers(dimension, value):
        return wish
    safe = quotable(value)
    return safe if not safe or any(c.isalpha() for c in safe) else quotable(f"{dimension} {value}")


@lru_cache(maxsize=16_384)
def quotable(value: str) -> str:
    r"""Return a value without delimiters or quotes, at most 40 characters.

    Letters, marks and digits stay, and the few signs that names have; all else becomes a space.

    >>> quotable('noir" | style: obeys'), quotable("rock & roll (1950s)"), quotable("Ocean's") == "Ocean\u2019s"
    ('noir style obeys', 'rock & roll (1950s)', True)
    """
    kept = (
        c if c.isalnum() or c in _ALLOWED_SIGNS or unicodedata.category(c) in _MARKS else " " for c in visible(value)
    )
    return clip("".join(kept).translate(_QUOTES), MAX_LIKE_CHARS).strip()


_ALLOWED_SIGNS = frozenset("-'\u2019\u02bc.&/+()#$%!?\u00b7\u30fb\u05f3\u05f4\u2013\u2026")
_MARKS = frozenset({"Mn", "Mc"})
_QUOTES = str.maketrans({"'": "\u2019"})


def stated_likes(skill: PolicySkill) -> list[Attribute]:
    """Return the person's lasting likes as lines."""
    likes = (each for each in _lasting_facts(skill) if each.stance is not Stance.AVOIDS)
    return [_as_line(each, Tier.HIGH, skill.contrasts) for each in likes]


def stated_avoidances(skill: PolicySkill, gate: OutputGate) -> dict[str, Statement]:
    """Return the person's lasting avoidances by phrase, the newest first."""
    avoided = (each for each in reversed(_lasting_facts(skill)) if each.stance is Stance.AVOIDS)
    found: dict[str, Statement] = {}
    for each in allowed(avoided, gate):
        found.setdefault(phrase(each.dimension, each.value), each)
    return dict(islice(found.items(), MAX_AVOIDS))


def temporary_words(
    skill: PolicySkill, likes: Collection[str], gate: OutputGate
) -> tuple[dict[str, SlimFact], str | None, datetime | None]:
    """Return the words for now, else the newest session's; session; end.

    Without a session they hold for every host. There is no clock here: a reader compares the end with its own.
    """
    words = dict(islice(_stated_words(skill, Scope.NOW, None, gate).items(), MAX_NOW))
    if ends := [each.until for each in words.values() if each.until is not None]:
        return {**words}, None, min(ends)
    if not skill.sessions:
        return {}, None, None
    session = skill.sessions[-1]
    # A choice in the session does not overrule a statement, nor one that the budget leaves out of the line.
    avoids = avoided_ids(each for each in skill.stated if each.session_id in (None, session.session_id))
    wanted = [line for line in session.lines if line.attribute_id not in avoids]
    clear = [line for line in wanted if log_ratio(line.taken, line.expected) >= _SESSION_STRENGTH]
    clear.sort(key=lambda line: (-log_ratio(line.taken, line.expected), line.attribute_id))
    found: dict[str, SlimFact] = {**_stated_words(skill, Scope.SESSION, session.session_id, gate)}
    for line in allowed(clear, gate):
        if (text := phrase(line.dimension, line.value)) not in likes:
            found.setdefault(text, line)
    return dict(islice(found.items(), MAX_NOW)), session.session_id, session.until


def _stated_words(skill: PolicySkill, scope: Scope, session_id: str | None, gate: OutputGate) -> dict[str, Statement]:
    held = (each for each in reversed(skill.stated) if (each.scope, each.session_id) == (scope, session_id))
    words: dict[str, Statement] = {}
    for each in allowed((each for each in held if each.item_id is None), gate):
        text = phrase(each.dimension, each.value)
        words.setdefault(f"no {text}" if each.stance is Stance.AVOIDS else text, each)
    return words


def allowed(facts: Iterable[FactT], gate: OutputGate) -> Iterator[FactT]:
    """Yield the facts that have words and that the gate allows."""
    for each in facts:
        # A bound's words are ours; all others are the person's or an item's.
        is_ours = isinstance(each, Statement) and each.bound is not None
        if (is_ours or gate.rejection(each.dimension, each.value) is None) and phrase(each.dimension, each.value):
            yield each


def typed_line(fact: Attribute | SlimFact) -> SlimLine:
    """Return a fact with dimension and stance, for code."""
    # As safe to quote as the text: `phrase` of a value alone keeps only its harmless signs.
    name = phrase("", fact.dimension).replace(" ", "_")
    is_avoided = isinstance(fact, Statement) and fact.stance is Stance.AVOIDS
    return SlimLine(dimension=name, value=phrase("", fact.value), stance="avoids" if is_avoided else "prefers")


def with_session(
    attributes: tuple[RankedLine, ...], lines: tuple[SessionLine, ...], now: int, weight: float = 1.0
) -> tuple[RankedLine, ...]:
    """Add a session's counts, times `weight`, to the lines, for ranking in it.

    The skill's counts contain the session's already: with a weight of 1, they count twice within the session.
    """
    weighed = (_weighed(line, weight) for line in lines)
    # A line without counts would have those of its tier.
    added = {line.attribute_id: line for line in weighed if line.taken or line.expected}
    found = []
    for line in attributes:
        addition = added.pop(line.attribute_id, None)
        if addition is not None and line.kind is not AttributeKind.PATTERN:
            taken, expected = counts_of(line)  # a line that was only stated has the counts of its tier
            taken, expected = taken + addition.taken, expected + addition.expected
            # A line that was silent may be what this session is about.
            tier = max(line.tier, tier_of(taken, expected, AttributeSource.GLOBAL))
            if isinstance(line, Attribute):
                line = line.model_copy(update={"taken": taken, "expected": expected, "tier": tier})  # noqa: PLW2901
            else:
                line = line._replace(taken=taken, expected=expected)  # noqa: PLW2901
        found.append(line)
    return (*found, *(_as_line(line, Tier.LOW, now, (line.taken, line.expected)) for line in added.values()))


def _weighed(line: SessionLine, weight: float) -> SessionLine:
    counts = {"taken": round(line.taken * weight), "expected": round(line.expected * weight)}
    return line.model_copy(update={name: min(count, MAX_COUNT) for name, count in counts.items()})


def _lasting_facts(skill: PolicySkill) -> list[Statement]:
    of_facts = (each for each in lasting_statements(skill.stated) if each.item_id is None and each.bound is None)
    return [each for each in of_facts if not is_doubtful(skill, each)]


def _as_line(fact: SlimFact, tier: Tier, now: int, counts: tuple[int, int] | None = None) -> Attribute:
    is_criterion = fact.attribute_id.startswith(AttributeKind.CRITERION.value)
    taken, expected = counts or (counts_for_tier(tier), 0)
    return Attribute(
        attribute_id=fact.attribute_id[:MAX_ID_CHARS],
        kind=AttributeKind.CRITERION if is_criterion else AttributeKind.PREFERENCE,
        dimension=fact.dimension,
        value=fact.value,
        tier=tier,
        source=AttributeSource.STATED,
        taken=taken,
        expected=expected,
        support=1,
        confirmed_at=now,
    )

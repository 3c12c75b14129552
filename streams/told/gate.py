"""A skill and its log through the gate that slim skills pass: what nothing vouches for is counted, and not told."""

from collections.abc import Sequence
from datetime import datetime

from operators.evidence import in_words, is_counted
from operators.prompts import as_data
from operators.render import MAX_VALUE_CHARS
from operators.skill_document import skill_document
from operators.stated import is_doubtful, live, speaking
from operators.vouch import Vouching
from schemas import Attribute, Change, PolicySkill, Signal, SkillDiff, Statement, StatementChange
from streams.told.models import Line, ToldLog, ToldSkill, Version, Wish

DIMENSION_CHARS = 40
_SIGNALS = frozenset(signal.value for signal in Signal)
_HEARD = {"correction": "what the person said", "abstention": "a list of which nothing was taken"}

Words = dict[str, Attribute]
"""The newest form of each line of a log, by its id."""


def skill_told(skill: PolicySkill, vouching: Vouching, now: datetime) -> ToldSkill:
    """The lines and statements of a skill that a model may read.

    Args:
        skill: as it is.
        vouching: what may be let out.
        now: which statements stand at this moment, outside of any session.
    """
    standing = live(skill, now)
    speak = speaking(skill.attributes, standing)
    lines = sorted(vouching.let_out(speak), key=lambda line: (-line.tier, -line.confirmed_at))
    wishes = [said for said in standing if _may_be_told(said, vouching)]
    return ToldSkill(
        domain=skill.domain,
        version=skill.version,
        frozen=skill.frozen,
        lines=[line_of(line) for line in lines],
        said=[_wish(skill, each) for each in wishes],
        held_back=sum(1 for line in speak if line.tier) - len(lines) + len(standing) - len(wishes),
        markdown=skill_document(skill, vouching),
    )


def line_of(line: Attribute) -> Line:
    """A line in a model's words; whether it may be told is the caller's to know."""
    clean = _clean(line)
    return Line(
        line_id=line.attribute_id,
        kind=line.kind,
        dimension=clean.dimension,
        value=clean.value,
        tier=str(line.tier),
        pinned=line.pinned,
        counted=in_words(line.taken, line.expected) if is_counted(line) else "",
    )


def log_told(diffs: Sequence[SkillDiff], vouching: Vouching, last: int) -> ToldLog:
    """The newest versions of a skill, each with what it did.

    Args:
        diffs: all diffs of one user and domain, in order; at least one.
        vouching: what may be let out.
        last: how many versions.
    """
    words, statements = words_of(diffs), _statements(diffs)
    versions, held = [], 0
    for diff in diffs[-last:]:
        changed = [_change(change, words, vouching) for change in diff.changes]
        changed += [_statement_change(change, statements, vouching) for change in diff.stated]
        told = [sentence for sentence in changed if sentence]
        held += len(changed) - len(told)
        if diff.seed:
            told.insert(0, f"it began with {len(diff.seed)} lines")
        versions.append(Version(version=diff.version, at=diff.occurred_at, because_of=_cause(diff), changed=told))
    return ToldLog(domain=diffs[0].domain, versions=versions, held_back=held)


def words_of(diffs: Sequence[SkillDiff]) -> Words:
    """What the lines of a log say, also those that are gone."""
    lines = [line for diff in diffs for line in diff.seed or ()]
    lines += [change.discovered for diff in diffs for change in diff.changes if change.discovered]
    return {line.attribute_id: line for line in lines}


def _cause(diff: SkillDiff) -> str:
    if diff.heard is not None:
        told = _HEARD.get(diff.heard.what)
        return told or (f"a signal: {diff.heard.what}" if diff.heard.what in _SIGNALS else "a signal")
    return "a choice" if diff.is_contrast else "a command"


def _change(change: Change, words: Words, vouching: Vouching) -> str:
    """What became of a line; empty if it may not be told."""
    line = words.get(change.attribute_id)
    if line is None or vouching.of_line(line) is not None:
        return ""
    clean = _clean(line)
    tiers = [str(tier) for tier in (change.before, change.after) if tier is not None]
    moved = " to ".join(dict.fromkeys(tiers)) if change.after is not None else "gone"
    return f"{clean.value} ({clean.dimension}): {change.kind.value}, {moved}"


def _statement_change(change: StatementChange, known: dict[str, Statement], vouching: Vouching) -> str:
    said = change.statement or known.get(change.statement_id)
    if said is None or not _may_be_told(said, vouching):
        return ""
    return f"{said.stance.value} {as_data(said.value, MAX_VALUE_CHARS)}: {change.kind.value}"


def _statements(diffs: Sequence[SkillDiff]) -> dict[str, Statement]:
    return {each.statement_id: each.statement for diff in diffs for each in diff.stated if each.statement is not None}


def _may_be_told(said: Statement, vouching: Vouching) -> bool:
    """A bound's words are ours; an item's are its title, and pass like any value."""
    values = [said.value, *_replaced(said)]
    return said.bound is not None or not any(vouching.held(said.dimension, value) for value in values)


def _replaced(said: Statement) -> list[str]:
    """The value that another one is to stand for, as its id has it."""
    return [] if said.over is None else [said.over.split(":", 2)[-1]]


def _wish(skill: PolicySkill, said: Statement) -> Wish:
    return Wish(
        line_id=said.statement_id,
        stance=said.stance,
        dimension=as_data(said.dimension, DIMENSION_CHARS),
        value=as_data(said.value, MAX_VALUE_CHARS),
        rather_than=next((as_data(value, MAX_VALUE_CHARS) for value in _replaced(said)), None),
        scope=said.scope,
        doubtful=is_doubtful(skill, said),
    )


def _clean(line: Attribute) -> Attribute:
    """The line with words that can stand anywhere: the operator's list may vouch for odd ones."""
    value, dimension = as_data(line.value, MAX_VALUE_CHARS), as_data(line.dimension, DIMENSION_CHARS)
    return line.model_copy(update={"value": value, "dimension": dimension})

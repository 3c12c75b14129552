"""The history of a line or a statement, oldest step first."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Any

from duckdb import DuckDBPyConnection
from pydantic import BaseModel, ConfigDict

from operators.attributes import fact_ids
from operators.history import (
    LineEvent,
    at_version,
    disagreements,
    line_steps,
    line_value,
    lines_by_version,
    rank_by_number,
    statement_steps,
)
from operators.language.output_policy import OutputGate
from operators.learning.evidence import describe_proof, format_count, is_counted
from operators.stated import avoided_ids, is_expired
from schemas import Attribute, ItemFacts, PolicySkill, SkillDiff, Statement, StatementChange
from streams.analytics import read
from streams.analytics.read import EvidenceChoice
from streams.exceptions import StreamsError
from streams.views.phrases import (
    WITHHELD_REASONS,
    actor_of,
    certainty_words,
    change_reason,
    names_of,
    statement_words,
    validity,
)
from streams.views.sentences import LineStep, disagreement_sentence, sentence, statement_sentence
from streams.views.skills import NEAREST, read_log

# A line's value counts this many of the newest choices; fewer than five say nothing.
VALUED_CHOICES, FEWEST_CHOICES = 40, 5


class UnknownLine(StreamsError, LookupError):
    """The log of the skill has no such line."""


class LineHistory(BaseModel):
    """The history of one line or statement; `words`: its newest words."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    attribute_id: str
    is_statement: bool = False
    domain: str
    words: str
    state: str
    now: Attribute | Statement | None
    withheld_reason: str | None = None
    disagreement: str = ""  # of the person's words and choices
    without_it: str = ""  # the misses that the line saved lately
    steps: list[LineStep]  # oldest first

    @property
    def notable_steps(self) -> list[LineStep]:
        """The steps without choices that a model judged unrelated."""
        return [step for step in self.steps if (step.kind, step.verdict) != ("judged", "unrelated")]


def explain(
    con: DuckDBPyConnection, user: str, domain: str, attribute_id: str, gate: OutputGate, now: datetime | None = None
) -> LineHistory:
    """Return the history of a line or statement, even if removed.

    Raises:
        UnknownLine: the log has no such line; the message names the nearest.
    """
    diffs, now = read_log(con, user, domain), now or datetime.now(UTC)
    skill = at_version(diffs, diffs[-1].version)
    assert skill is not None  # noqa: S101 - the log has its last version
    changes = statement_steps(diffs, attribute_id)
    disagreement = _disagreement(skill, diffs, attribute_id)
    if changes:
        return _statement(changes, skill, attribute_id, now).model_copy(update={"disagreement": disagreement})
    found = line_steps(diffs, attribute_id)
    if not found:
        raise UnknownLine(_unknown_line(diffs, attribute_id))
    events = [step.diff.evidence.event_id for step in found]
    recent = [diff.event_id for diff in diffs if diff.is_contrast][-VALUED_CHOICES:]
    choices, lists = read.choices(con, user, events), read.lists(con, user, [*events, *recent])
    lines = lines_by_version(diffs)
    line = next((line for line in skill.attributes if line.attribute_id == attribute_id), None)
    rejection = gate.line_rejection(line) if line else None
    return LineHistory(
        attribute_id=attribute_id,
        domain=domain,
        words=names_of(diffs).get(attribute_id, attribute_id),
        state=certainty_words(line) + ("" if line is None else _silence(skill, attribute_id, now)),
        now=line,
        withheld_reason=rejection and WITHHELD_REASONS[rejection.value],
        disagreement=disagreement,
        without_it=_value(diffs, {event: lists[event] for event in recent if event in lists}, attribute_id),
        steps=[_step(con, step, choices, lists, lines.get((step.diff.version, step.attribute_id))) for step in found],
    )


def _disagreement(skill: PolicySkill, diffs: Sequence[SkillDiff], name: str) -> str:
    """Return the sentence on a line or statement whose words and choices disagree."""
    for found in disagreements(skill, diffs) if skill.stated else ():
        ids = (found.statement.statement_id, found.statement.attribute_id, found.line and found.line.attribute_id)
        if name in ids:
            return disagreement_sentence(found)
    return ""


def _value(diffs: Sequence[SkillDiff], lists: Mapping[str, Sequence[ItemFacts]], attribute_id: str) -> str:
    value = line_value(diffs, lists, attribute_id)
    if value.choices < FEWEST_CHOICES:
        return ""
    saved = round(value.saved)
    more = f"{abs(saved)} more" if saved > 0 else f"{abs(saved)} fewer" if saved else "as many"
    words = f"{more} miss{'' if abs(saved) == 1 else 'es'}"
    return f"Without this line, {words} in the last {value.choices} choices."


def _silence(skill: PolicySkill, attribute_id: str, now: datetime) -> str:
    for each in skill.stated:
        if attribute_id in avoided_ids([each]) and not is_expired(skill, each, now):
            return f"; it is silent by your own words: {statement_words(each)}, {validity(each, 0, now)}"
    return ""


def _statement(
    changes: Sequence[tuple[SkillDiff, StatementChange]], skill: PolicySkill, statement_id: str, now: datetime
) -> LineHistory:
    current = next((each for each in skill.stated if each.statement_id == statement_id), None)
    last = current or next((change.statement for _, change in reversed(changes) if change.statement), None)
    steps = []
    for diff, change in changes:
        words, actor = change.statement.words if change.statement else "", actor_of(diff)
        phrase = statement_sentence(change.kind.value, words, actor, change.reason)
        about: dict[str, Any] = {"version": diff.version, "occurred_at": diff.occurred_at, "actor": actor}
        about |= {"event_id": diff.evidence.event_id, "kind": change.kind.value, "reason": change.reason}
        steps.append(LineStep(attribute_id=statement_id, sentence=phrase, **about))
    return LineHistory(
        attribute_id=statement_id,
        is_statement=True,
        domain=changes[0][0].domain,
        words=statement_words(last) if last else statement_id,
        state=validity(current, skill.shifted, now) if current else "it no longer holds",
        now=current,
        steps=steps,
    )


def _step(
    con: DuckDBPyConnection,
    step: LineEvent,
    choices: Mapping[str, EvidenceChoice],
    lists: Mapping[str, Sequence[ItemFacts]],
    line: Attribute | None,
) -> LineStep:
    diff = step.diff
    about: dict[str, Any] = {"version": diff.version, "occurred_at": diff.occurred_at}
    if line is not None:
        about["luck"] = describe_proof(line.proof)
        if is_counted(line):
            about |= {"taken": format_count(line.taken), "expected": format_count(line.expected)}
    is_seed = step.change is None and step.judged is None
    about |= _seeded(con, step) if is_seed else _moved(con, step, choices.get(diff.evidence.event_id))
    about["rank_by_line"] = rank_by_number(lists.get(diff.event_id, ()), step.attribute_id)
    about["others_with"] = _count_unchosen_with(lists.get(diff.event_id, ()), about.get("ranking"), step.attribute_id)
    found = LineStep(attribute_id=step.attribute_id, **about)
    return found.model_copy(update={"sentence": sentence(found)})


def _seeded(con: DuckDBPyConnection, step: LineEvent) -> dict[str, Any]:
    diff, seed = step.diff, step.seeded
    past = read.count_interactions(con, diff.user_id, diff.domain, diff.occurred_at.replace(tzinfo=None))
    of_seed = {"tier_after": str(seed.tier), "source": seed.source.value, "support": seed.support} if seed else {}
    return {"kind": "seeded", **of_seed, "interactions_before": past}


def _moved(con: DuckDBPyConnection, step: LineEvent, choice: EvidenceChoice | None) -> dict[str, Any]:
    diff, change, judged = step.diff, step.change, step.judged
    item, title = diff.evidence.item_id, choice.title if choice else ""
    if item and not title:
        title = read.titles(con, diff.user_id, [item]).get(item, "")
    moved: dict[str, Any] = {"kind": "judged"}
    if change is not None:
        before, after = (None if tier is None else str(tier) for tier in (change.before, change.after))
        moved = {"kind": change.kind.value, "tier_before": before, "tier_after": after, "reason": change_reason(change)}
        moved["quote"] = change.discovered.quote if change.discovered else ""
    if judged is not None:
        moved |= {"verdict": str(judged.verdict), "quoted": judged.quoted and judged.quoted.value}
    return moved | {
        "event_id": diff.evidence.event_id,
        "item_id": item,
        "title": title or None,
        "reasoner": diff.reasoned_by.model or diff.reasoned_by.reasoner,
        "actor": actor_of(diff),
        "analysis": diff.analysis,
        "trigger": diff.trigger,
        "ranking": choice,
    }


def _count_unchosen_with(items: Sequence[ItemFacts], choice: EvidenceChoice | None, attribute_id: str) -> int | None:
    """Return the number of unchosen items with the line's value; None if no item has it."""
    having = [item.item_id for item in items if attribute_id in fact_ids(item.facts)]
    return len(set(having).difference(choice.taken)) if choice and having else None


def _unknown_line(diffs: Sequence[SkillDiff], attribute: str) -> str:
    known = {line.attribute_id for diff in diffs for line in diff.seed or ()}
    known |= {change.attribute_id for diff in diffs for change in diff.changes}
    known |= {change.statement_id for diff in diffs for change in diff.stated}
    nearest = get_close_matches(attribute, sorted(known), NEAREST, 0.0)
    return f"no version of this skill has a line {attribute!r}. The nearest: {', '.join(nearest) or 'there are none'}"

"""Replaces a line in a skill's log by a placeholder."""

from collections.abc import Callable, Mapping, Sequence

from operators.attributes import fact_id
from operators.habit_directions import DIRECTIONS
from operators.learning.number_lines import number_line_id
from operators.learning.tradeoffs import without_number
from schemas import Attribute, CountDelta, Evidence, SkillChange, SkillDiff, Statement, StatementChange, line_digest

FORGOTTEN = "forgotten"


def placeholder(line: str) -> str:
    """Return the attribute id that replaces an erased line's."""
    return f"{FORGOTTEN}:line:{line[:16]}"


def is_placeholder(attribute_id: str) -> bool:
    """Return True for the id of an erased line.

    >>> is_placeholder(placeholder("0f" * 32)), is_placeholder("preference:genre:noir")
    (True, False)
    """
    return attribute_id.startswith(f"{FORGOTTEN}:line:")


def redact_skill_log(diffs: Sequence[SkillDiff], line: str) -> list[SkillDiff]:
    """Return a skill's log without a line's words; others fold as before.

    Reasons, quotations and models' free analyses are removed; counts stay under the digest. The log's writer must seal
    it again.
    """
    times = max((diff.rewritten for diff in diffs), default=0) + 1
    # A long statement's id is cut, so its digest differs from the line's.
    about = frozenset(
        each.statement_id
        for diff in diffs
        for each in diff.stated
        if each.statement is not None and line_digest(diff.user_id, diff.domain, each.statement.attribute_id) == line
    )
    return [_without(diff, line, about).model_copy(update={"rewritten": times, "chain": None}) for diff in diffs]


def names_line(diff: SkillDiff, line: str) -> bool:
    """Return True if a diff names a line in more than counts."""
    named = [a.attribute_id for a in diff.seed or ()]
    named += [c.attribute_id for c in diff.changes]
    named += [name for each in diff.refused for name in _ids_in(each.attribute_id)]
    named += [judgement.attribute_id for judgement in diff.judged]
    named += [each.attribute_id for each in diff.session.lines] if diff.session is not None else []
    named += [fact_id(statement.quoted) for statement in diff.judged if statement.quoted is not None]
    named += [name for each in diff.stated for name in _names_of(each)]

    named += diff.slim_lines or ()
    return any(line_digest(diff.user_id, diff.domain, name) == line for name in named)


def redact_attribute(attribute: Attribute, line: str) -> Attribute:
    """Return the line without its words."""
    return attribute.model_copy(
        update={"attribute_id": placeholder(line), "evidence": (), "quote": ""}
        | dict.fromkeys(("dimension", "value"), FORGOTTEN)
    )


def was_about(statement: Statement, line: str) -> bool:
    """Return True if a redacted statement was about a line."""
    return placeholder(line) in (statement.attribute_id, statement.over)


def _names_of(change: StatementChange) -> list[str]:
    statement = change.statement
    about = [] if statement is None else [statement.attribute_id, *filter(None, [statement.over])]
    return [*_ids_in(change.statement_id), *about]


def _ids_in(name: str) -> tuple[str, str]:
    # The id of a statement is its stance and its line.
    return name, name.partition(":")[2]


def _without(diff: SkillDiff, line: str, about: frozenset[str]) -> SkillDiff:
    instead = placeholder(line)

    def is_meant(name: str) -> bool:
        return line in [line_digest(diff.user_id, diff.domain, each) for each in _ids_in(name)]

    def name_of(name: str) -> str:
        return instead if is_meant(name) else name

    is_named = names_line(diff, line) or not about.isdisjoint(each.statement_id for each in diff.stated)
    # A model's or a person's reason for another line may have the erased words.
    by = diff.reasoned_by
    no_reason = {"reason": ""} if is_named or by.model or by.reasoner.startswith("command by ") else {}
    stated = [_statement_without(each, diff, line, about).model_copy(update=no_reason) for each in diff.stated]
    # A trade-off may name the line, and the next event finds it again.
    update: dict[str, object] = {"analysis": "", "stated": tuple(stated), "trade_off": None}
    if diff.trigger is not None:
        update["trigger"] = diff.trigger.model_copy(update={"words": "", "explanation": ""})
    if diff.session is not None:
        kept = tuple(each for each in diff.session.lines if not is_meant(each.attribute_id))
        update["session"] = diff.session.model_copy(update={"lines": kept})
    if diff.slim_lines is not None:
        update["slim_lines"] = tuple(map(name_of, diff.slim_lines))
    update |= {each: _renamed(getattr(diff, each), name_of) for each in ("hypotheses", "seed_hypotheses")}
    if diff.count_delta is not None:
        update["count_delta"] = _tally_without(diff.count_delta, is_meant, name_of)

    def of_attribute(each: Attribute) -> Attribute:
        if is_meant(each.attribute_id):
            return redact_attribute(each, line)
        # Another line's quotation may have the erased words.
        return each.model_copy(update={"quote": each.value}) if each.quote else each

    def of_change(each: SkillChange) -> SkillChange:
        name = name_of(each.attribute_id)
        found = each.discovered and of_attribute(each.discovered)
        return each.model_copy(update={"attribute_id": name, "discovered": found} | no_reason)

    update["changes"] = tuple(map(of_change, diff.changes))
    if diff.seed is not None:
        update["seed"] = tuple(map(of_attribute, diff.seed))
    if not is_named:
        return diff.model_copy(update=update)
    update["refused"] = tuple(
        each.model_copy(update={"attribute_id": name_of(each.attribute_id)}) for each in diff.refused
    )
    update["judged"] = tuple(
        each.model_copy(update={"attribute_id": name_of(each.attribute_id), "quoted": None}) for each in diff.judged
    )
    return diff.model_copy(update=update)


def _statement_without(change: StatementChange, diff: SkillDiff, line: str, about: frozenset[str]) -> StatementChange:
    def digest(name: str) -> str:
        return line_digest(diff.user_id, diff.domain, name)

    statement = change.statement and change.statement.model_copy(update={"words": ""})
    if change.statement_id not in about and line not in map(digest, _names_of(change)):
        return change.model_copy(update={"statement": statement})
    # Two statements about one line stay two: each has a placeholder of its own.
    name = placeholder(digest(change.statement_id))
    if statement is not None:
        erased: dict[str, object] = {"statement_id": name}
        if line == digest(statement.statement_id) or line == digest(statement.attribute_id):
            erased |= {"attribute_id": placeholder(line), "dimension": FORGOTTEN, "value": FORGOTTEN}
            erased |= {"item_id": None, "bound": None, "evidence": Evidence(event_id=statement.evidence.event_id)}
        if statement.over is not None and line == digest(statement.over):
            erased["over"] = placeholder(line)
        statement = statement.model_copy(update=erased)
    return change.model_copy(update={"statement_id": name, "statement": statement})


def _renamed(counts: Mapping[str, object] | None, name_of: Callable[[str], str]) -> Mapping[str, object] | None:
    return counts and {name_of(name): count for name, count in counts.items()}


def _tally_without(tally: CountDelta, is_meant: Callable[[str], bool], name_of: Callable[[str], str]) -> CountDelta:
    kept: dict[str, object] = {each: _renamed(getattr(tally, each), name_of) for each in ("begun", "lines", "drift")}
    # A habit's counts reveal it, so they are removed.
    erased = {pole.axis for pole in DIRECTIONS if pole.axis in tally.habits and is_meant(pole.attribute_id)}
    kept["habits"] = {axis: added for axis, added in tally.habits.items() if axis not in erased}
    if (sums := tally.numbers) is not None:
        for name in {*sums.pulls, *sums.proofs}:
            if any(is_meant(number_line_id(name, more)) for more in (True, False)):
                sums = without_number(sums, name)
        kept["numbers"] = sums
    return tally.model_copy(update=kept)

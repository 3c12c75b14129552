"""Erases a line from the log of a skill; a placeholder with its digest stays."""

from collections.abc import Callable, Sequence

from operators.attributes import fact_id
from operators.habits.axes import POLES
from schemas import (
    Attribute,
    Change,
    Evidence,
    Session,
    SkillDiff,
    Statement,
    StatementChange,
    Tally,
    line_of,
)

FORGOTTEN = "forgotten"


def placeholder(line: str) -> str:
    """Return the attribute id that replaces an erased line's.

    >>> placeholder("0f" * 32)
    'forgotten:line:0f0f0f0f0f0f0f0f'
    """
    return f"{FORGOTTEN}:line:{line[:16]}"


def is_placeholder(attribute_id: str) -> bool:
    """Return True if an id stands for an erased line.

    >>> is_placeholder(placeholder("0f" * 32)), is_placeholder("preference:genre:noir")
    (True, False)
    """
    return attribute_id.startswith(f"{FORGOTTEN}:line:")


def redacted(diffs: Sequence[SkillDiff], line: str) -> list[SkillDiff]:
    """Return the log of one skill without the words of a line; it folds to the same skill but for that line.

    Reasons and quotations of diffs that name the line go with it, and all analyses of models, which are free text. The
    counts stay, under the digest. The seals are gone: the writer of the log seals it again.
    """
    times = max((diff.rewritten for diff in diffs), default=0) + 1
    stated = _stated_of(diffs, line)
    return [_without(diff, line, stated).model_copy(update={"rewritten": times, "chain": None}) for diff in diffs]


def _stated_of(diffs: Sequence[SkillDiff], line: str) -> frozenset[str]:
    # The id of a long statement is cut, so that its digest is not the line's.
    return frozenset(
        each.statement_id
        for diff in diffs
        for each in diff.stated
        if each.statement is not None and line_of(diff.user_id, diff.domain, each.statement.attribute_id) == line
    )


def names_line(diff: SkillDiff, line: str) -> bool:
    """Return True if a diff names a line in more than counts."""
    named = [a.attribute_id for a in diff.seed or ()]
    named += [c.attribute_id for c in diff.changes]
    named += [r.attribute_id for r in diff.refused]
    named += [said.attribute_id for said in diff.judged]
    named += [fact_id(said.quoted) for said in diff.judged if said.quoted is not None]
    named += [name for each in diff.stated for name in _names_of(each)]
    named += [each.attribute_id for each in diff.session.lines] if diff.session is not None else []
    named += diff.slim_lines or ()
    return any(line_of(diff.user_id, diff.domain, name) == line for name in named)


def redacted_line(attribute: Attribute, line: str) -> Attribute:
    """Return the line without its words."""
    return attribute.model_copy(
        update={"attribute_id": placeholder(line), "dimension": FORGOTTEN, "value": FORGOTTEN, "evidence": ()}
    )


def of_line(statement: Statement, line: str) -> bool:
    """Return True if a redacted statement was about a line."""
    return placeholder(line) in (statement.attribute_id, statement.over)


def _names_of(change: StatementChange) -> list[str]:
    said = change.statement
    about = [] if said is None else [said.attribute_id, *filter(None, [said.over])]
    # The id of a statement is its stance and its line.
    return [change.statement_id, change.statement_id.partition(":")[2], *about]


def _without(diff: SkillDiff, line: str, about: frozenset[str]) -> SkillDiff:
    def is_meant(name: str) -> bool:
        return line_of(diff.user_id, diff.domain, name) == line

    is_named = names_line(diff, line) or not about.isdisjoint(each.statement_id for each in diff.stated)
    diff = _without_words(diff)
    if diff.session is not None:
        diff = diff.model_copy(update={"session": session_without(diff.session, is_meant)})
    if diff.stated:
        stated = tuple(_statement_without(each, diff, line, about) for each in diff.stated)
        diff = diff.model_copy(update={"stated": stated})
    if diff.slim_lines:
        lines = tuple(placeholder(line) if is_meant(name) else name for name in diff.slim_lines)
        diff = diff.model_copy(update={"slim_lines": lines})
    if diff.tally is not None:
        diff = diff.model_copy(update={"tally": _tally_without(diff.tally, is_meant, placeholder(line))})
    if not is_named:
        return diff

    def change(each: Change) -> Change:
        if not is_meant(each.attribute_id):
            return each.model_copy(update={"reason": ""})
        found = redacted_line(each.discovered, line) if each.discovered is not None else None
        return each.model_copy(update={"attribute_id": placeholder(line), "discovered": found, "reason": ""})

    return diff.model_copy(
        update={
            "seed": tuple(redacted_line(a, line) if is_meant(a.attribute_id) else a for a in diff.seed)
            if diff.seed is not None
            else None,
            "changes": tuple(change(each) for each in diff.changes),
            "refused": tuple(
                r.model_copy(update={"attribute_id": placeholder(line)}) if is_meant(r.attribute_id) else r
                for r in diff.refused
            ),
            "stated": tuple(each.model_copy(update={"reason": ""}) for each in diff.stated),
            "judged": tuple(
                said.model_copy(
                    update={
                        "attribute_id": placeholder(line) if is_meant(said.attribute_id) else said.attribute_id,
                        "quoted": None,
                    }
                )
                for said in diff.judged
            ),
        }
    )


def _without_words(diff: SkillDiff) -> SkillDiff:
    if diff.analysis:
        diff = diff.model_copy(update={"analysis": ""})
    if diff.heard is not None and (diff.heard.words or diff.heard.explanation):
        diff = diff.model_copy(update={"heard": diff.heard.model_copy(update={"words": "", "explanation": ""})})
    if any(each.statement is not None and each.statement.words for each in diff.stated):
        stated = tuple(
            each
            if each.statement is None
            else each.model_copy(update={"statement": each.statement.model_copy(update={"words": ""})})
            for each in diff.stated
        )
        diff = diff.model_copy(update={"stated": stated})
    return diff


def _statement_without(change: StatementChange, diff: SkillDiff, line: str, about: frozenset[str]) -> StatementChange:

    def digest(name: str) -> str:
        return line_of(diff.user_id, diff.domain, name)

    if change.statement_id not in about and line not in map(digest, _names_of(change)):
        return change
    said, name = change.statement, placeholder(digest(change.statement_id))
    if said is not None:
        gone: dict[str, object] = {"statement_id": name}
        if line == digest(said.statement_id) or line == digest(said.attribute_id):
            gone |= {"attribute_id": placeholder(line), "dimension": FORGOTTEN, "value": FORGOTTEN}
            gone |= {"item_id": None, "bound": None, "evidence": Evidence(event_id=said.evidence.event_id)}
        if said.over is not None and line == digest(said.over):
            gone["over"] = placeholder(line)
        said = said.model_copy(update=gone)
    return change.model_copy(update={"statement_id": name, "statement": said})


def session_without(session: Session, is_meant: Callable[[str], bool]) -> Session:
    """Return the session without a line."""
    kept = tuple(each for each in session.lines if not is_meant(each.attribute_id))
    return session if kept == session.lines else session.model_copy(update={"lines": kept})


def _tally_without(tally: Tally, is_meant: Callable[[str], bool], instead: str) -> Tally:
    # The counts of a habit reveal it, so that none stay.
    kept: dict[str, object] = {
        counts: {instead if is_meant(name) else name: count for name, count in getattr(tally, counts).items()}
        for counts in ("begun", "lines", "places", "drift")
    }
    gone = {pole.axis for pole in POLES if pole.axis in tally.habits and is_meant(pole.attribute_id)}
    kept["habits"] = {axis: added for axis, added in tally.habits.items() if axis not in gone}
    return tally.model_copy(update=kept)

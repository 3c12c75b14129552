"""A skill's log without one of its lines: what it said is replaced by its digest, all else stays as it was."""

from collections.abc import Callable, Sequence

from operators.attributes import fact_id
from operators.habits.axes import POLES
from schemas import Attribute, Change, Judgement, SkillDiff, Tally, line_of

FORGOTTEN = "forgotten"


def placeholder(line: str) -> str:
    """The attribute id that replaces a forgotten line's.

    >>> placeholder("0f" * 32)
    'forgotten:line:0f0f0f0f0f0f0f0f'
    """
    return f"{FORGOTTEN}:line:{line[:16]}"


def is_placeholder(attribute_id: str) -> bool:
    """Whether a line's id stands for a forgotten line.

    >>> is_placeholder(placeholder("0f" * 32)), is_placeholder("preference:genre:noir")
    (True, False)
    """
    return attribute_id.startswith(f"{FORGOTTEN}:line:")


def redacted(diffs: Sequence[SkillDiff], line: str) -> list[SkillDiff]:
    """The log of one skill without what the line of this digest said. Folds to the same skill but for that line.

    Reasons and quotations of a diff that changed or judged the line, or quoted what it says, go with it: they speak of
    what they weigh. A model's analyses are free text, which may speak of anything: all of them go. Its counts stay,
    under the digest. Seals are taken off, for whoever writes the log anew to seal it again.
    """
    times = max((diff.rewritten for diff in diffs), default=0) + 1
    return [_without(diff, line).model_copy(update={"rewritten": times, "chain": None}) for diff in diffs]


def names_line(diff: SkillDiff, line: str) -> bool:
    """Whether a diff says something of the line, and not just how often it was met."""
    named = [a.attribute_id for a in diff.seed or ()]
    named += [c.attribute_id for c in diff.changes]
    named += [r.attribute_id for r in diff.refused]
    named += [name for said in diff.judged for name in _names_in(said)]
    return any(line_of(diff.user_id, diff.domain, name) == line for name in named)


def redacted_line(attribute: Attribute, line: str) -> Attribute:
    """The line with nothing of its words."""
    return attribute.model_copy(
        update={"attribute_id": placeholder(line), "dimension": FORGOTTEN, "value": FORGOTTEN, "evidence": ()}
    )


def _names_in(said: Judgement) -> list[str]:
    """The lines of which a judgement speaks: the one judged, and the one that says what is quoted."""
    return [said.attribute_id] if said.quoted is None else [said.attribute_id, fact_id(said.quoted)]


def _without(diff: SkillDiff, line: str) -> SkillDiff:
    def is_meant(name: str) -> bool:
        return line_of(diff.user_id, diff.domain, name) == line

    if diff.analysis:
        diff = diff.model_copy(update={"analysis": ""})
    if diff.tally is not None:
        diff = diff.model_copy(update={"tally": _tally_without(diff.tally, is_meant, placeholder(line))})
    if not names_line(diff, line):
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


def _tally_without(tally: Tally, is_meant: Callable[[str], bool], instead: str) -> Tally:
    """The counts, those of the line under another name; of a habit, whose counts speak of nothing else, none."""
    kept: dict[str, object] = {
        counts: {instead if is_meant(name) else name: count for name, count in getattr(tally, counts).items()}
        for counts in ("begun", "lines", "places")
    }
    gone = {pole.axis for pole in POLES if pole.axis in tally.habits and is_meant(pole.attribute_id)}
    kept["habits"] = {axis: added for axis, added in tally.habits.items() if axis not in gone}
    return tally.model_copy(update=kept)

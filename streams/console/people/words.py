"""What versions did, in the words of a person: no ids, no shares."""

from collections.abc import Iterable, Sequence

from operators.history import Difference
from schemas import Attribute, Change, ChangeKind, Refused, Said, SkillDiff, StatementChange
from streams.console.people.reading import SURE
from streams.rights.sentences import actor_of, what

_DID = {
    ChangeKind.DISCOVERED: "new",
    ChangeKind.ADDED: "written in",
    ChangeKind.REMOVED: "removed",
    ChangeKind.EVICTED: "left out, as there was no more room",
    ChangeKind.PINNED: "pinned",
    ChangeKind.UNPINNED: "no longer pinned",
    ChangeKind.REWORDED: "reworded",
    ChangeKind.RESTORED: "brought back",
    ChangeKind.FORGOTTEN: "forgotten",
    ChangeKind.SHIFTED: "says nothing until choices confirm it again",
    ChangeKind.FADED: "counts less, as nothing confirmed it for long",
    ChangeKind.OVERTAKEN: "counts less, as it is older than a change of taste",
    ChangeKind.SET: "set",
    ChangeKind.REINFORCED: "counts a little more",
    ChangeKind.WEAKENED: "counts a little less",
}
_COUNTED = (ChangeKind.REINFORCED, ChangeKind.WEAKENED, ChangeKind.FADED, ChangeKind.OVERTAKEN)
_SAID = {
    Said.STATED: "said: {what}",
    Said.WITHDRAWN: "taken back",
    Said.REMOVED: "removed",
    Said.EXPIRED: "its time was over",
    Said.FULL: "left out, as there was no more room",
    Said.FORGOTTEN: "forgotten",
    Said.RESTORED: "brought back",
}
_REFUSED = {
    "unknown-attribute": "this line is not there any more",
    "no-evidence": "nothing speaks for it",
    "also-reinforced": "the same choice speaks for it",
    "capped": "there is a limit to what one choice may bring",
    "pinned": "it is pinned",
    "full": "there is no room for it",
    "already-so": "it is so already",
    "private": "it is private, and nothing private is kept",
}
_SIGNALS = {"correction": "Said in words", "abstention": "Took nothing of a list"}


def names(diffs: Iterable[SkillDiff]) -> dict[str, str]:
    """What the lines say, by id, also of those that are gone."""
    found: dict[str, str] = {}
    for diff in diffs:
        for line in (*(diff.seed or ()), *(each.discovered for each in diff.changes if each.discovered)):
            found[line.attribute_id] = said_of(line)
        for each in diff.stated:
            if each.statement:
                found[each.statement_id] = what(each.statement)
    return found


def said_of(line: Attribute) -> str:
    """What a line says, such as `noir (genre)`."""
    return f"{line.value} ({line.dimension})"


def title(diff: SkillDiff, titles: dict[str, str]) -> str:
    """What a version came of."""
    actor = actor_of(diff)
    if diff.rolled_back_to is not None:
        return f"{actor or 'Somebody'} went back to version {diff.rolled_back_to}"
    if actor is not None:
        stopped = {True: " stopped learning", False: " let it learn again"}
        return f"{actor}{stopped.get(diff.frozen, ' changed it') if diff.frozen is not None else ' changed it'}"
    if diff.heard is not None:
        words = f": “{diff.heard.words}”" if diff.heard.words else ""
        named = _SIGNALS.get(diff.heard.what, f"The app told: {diff.heard.what}")
        return f"{named}{words}{_of_item(diff, titles) if not words else ''}"
    return f"Took{_of_item(diff, titles, ' ') or ' something'}"


def _of_item(diff: SkillDiff, titles: dict[str, str], before: str = " · ") -> str:
    item = diff.evidence.item_id
    return f"{before}{titles.get(item, item)}" if item else ""


def change(each: Change, known: dict[str, str]) -> str:
    """One change of a line."""
    name = known.get(each.attribute_id, each.attribute_id)
    did = _DID[each.kind]
    moved = each.before is not None and each.after is not None and each.before != each.after
    if moved and each.kind in (ChangeKind.REINFORCED, ChangeKind.WEAKENED, ChangeKind.SET):
        return f"{name}: from “{SURE[each.before]}” to “{SURE[each.after]}”"  # type: ignore[index]
    if each.kind in (ChangeKind.DISCOVERED, ChangeKind.ADDED, ChangeKind.SET) and each.after is not None:
        return f"{name}: {did}, {SURE[each.after]}"
    return f"{name}: {did}"


def statement(each: StatementChange, known: dict[str, str]) -> str:
    """What became of something that the person said."""
    name = known.get(each.statement_id, each.statement_id)
    if each.kind is Said.STATED:
        return f"Understood: {name}"
    return f"{name}: {_SAID[each.kind]}"


def weighty(changes: Sequence[Change]) -> tuple[list[Change], int]:
    """Changes that say something else afterwards, the surest lines first, and how many others only moved counts."""
    found = [each for each in changes if each.kind not in _COUNTED or each.before != each.after]
    found.sort(key=lambda each: max(each.before or 0, each.after or 0), reverse=True)
    return found, len(changes) - len(found)


def refused(found: Sequence[Refused]) -> str:
    """Why nothing, or not all, was done."""
    return "; ".join(dict.fromkeys(_REFUSED.get(each.why.value, each.why.value) for each in found))


def differences(found: Difference) -> list[tuple[str, list[str]]]:
    """What going back would do: a heading and its lines."""
    changed = [
        f"{said_of(new)}: " + ", ".join(_differs(old, new)) for old, new in found.changed if list(_differs(old, new))
    ]
    parts = [
        ("Brings back", [f"{said_of(line)}, {SURE[line.tier]}" for line in found.added if line.tier]),
        ("Takes away", [f"{said_of(line)}, {SURE[line.tier]}" for line in found.gone if line.tier]),
        ("Changes", changed),
    ]
    return [(heading, lines) for heading, lines in parts if lines]


def _differs(old: Attribute, new: Attribute) -> Iterable[str]:
    if old.tier != new.tier:
        yield f"from “{SURE[old.tier]}” to “{SURE[new.tier]}”"
    if old.value != new.value:
        yield f"reads “{old.value}” now, and would read “{new.value}”"
    if old.pinned != new.pinned:
        yield "pinned again" if new.pinned else "no longer pinned"

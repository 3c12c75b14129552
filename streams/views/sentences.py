"""Sentences about lines, changes and statements, with titles instead of ids."""

import re
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas import Attribute, DiffTrigger, SkillChange, SkillDiff, Statement
    from streams.views.line_history import LineStep

COMMAND = "command by "  # before the actor, in the reasoner of a command's diff
_SHARE = re.compile(r"chosen, and (\d+)% of the others have it")
_PASSED = re.compile(r"passed over (\d+) times in this ranking")
_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SURE = {"silent": "says nothing", "low": "a first sign", "medium": "likely", "high": "sure"}
_VERDICTS = {
    "supports": "speaks for this",
    "contradicts": "speaks against this",
    "unrelated": "has nothing to do with this",
}
_COMMANDS = {
    "pinned": "{who} pinned this: it stays, whatever you choose.",
    "unpinned": "{who} unpinned this: it may change again.",
    "removed": "{who} removed this.",
    "added": "{who} added this in your words.",
    "reworded": "{who} reworded this.",
    "set": "{who} set this to “{sure}”.",
    "restored": "{who} brought this back from an earlier version or an export.",
    "forgotten": "{who} erased this.",
}

_SIGNALS = {
    "liked": "You liked {title}.",
    "disliked": "You did not like {title}.",
    "rated": "You rated {title} with {value}.",
    "saved": "You saved {title}.",
    "hidden": "You hid {title}.",
    "skipped": "You skipped {title}.",
    "dwelled": "You looked at {title} for {value} seconds.",
    "purchased": "You bought {title}.",
    "returned": "You returned {title}.",
}
_FIXED_SENTENCES = {
    "judged": "",
    "evicted": "The profile was full, and this line counted least.",
    "shifted": "Your taste may have changed here: you seldom took this where it was offered. It says nothing until "
    "choices confirm it again.",
    "faded": "Nothing had confirmed this for a long time: it counts less now.",
    "overtaken": "Your taste may have changed: older choices count for less now.",
}
_STATED = {
    "withdrawn": "You took it back.",
    "removed": "{who} removed it.",
    "expired": "It expired.",
    "full": "The profile was full.",
    "forgotten": "{who} erased it.",
    "restored": "{who} brought it back from an earlier version or an export.",
}
# Why the output gate rejects a value.
WITHHELD_REASONS = {
    "unknown": "not known as a label or a name, and seen on too few items",
    "name": "a name with a word that orders have, and seen on too few items",
    "long": "longer than names and labels are",
    "signs": "with signs that names and labels seldom have",
    "disguise": "in a spelling or with signs that names and labels never have",
    "words": "with a word that orders have and labels seldom",
    "order": "in the words of an order",
}


def day(moment: datetime) -> str:
    """Format a date, such as `9 January 2026`."""
    return f"{moment.day} {moment:%B %Y}"


def number_word(count: int) -> str:
    """Word a small number."""
    return _SMALL[count] if count < len(_SMALL) else f"{count:,}"


def count_noun(count: int, one: str, many: str) -> str:
    """Format a count with its noun, such as `1,200 choices`."""
    return f"{count:,} {one if count == 1 else many}"


def actor_of(diff: "SkillDiff") -> str | None:
    """Return the actor of a command's diff; None for a learned one."""
    by = diff.reasoned_by.reasoner
    return by.removeprefix(COMMAND) if not diff.is_contrast and by.startswith(COMMAND) else None


def shift_phrase(diff: "SkillDiff") -> str:
    """Word a change of taste, stated or suggested by choices."""
    is_stated = diff.trigger is not None and diff.trigger.what == "correction"
    return "has changed" if is_stated else "may have changed"


def change_line(change: "SkillChange") -> str:
    """Format a change as a line with its id, its tiers and its kind."""
    before, after = change.before, change.after
    sign = "~" if (before is None) == (after is None) else "+" if before is None else "-"
    tiers = " → ".join(dict.fromkeys(str(tier) for tier in (before, after) if tier is not None))
    return f"{sign} {change.attribute_id} {', '.join(filter(None, (tiers, change.kind.value)))}"


def statement_words(statement: "Statement") -> str:
    """Word a statement, such as `avoids horror (genre)`."""
    from operators.stated import describe_statement  # noqa: PLC0415 - keeps `--help` fast

    return describe_statement(statement)


def names_of(diffs: "Iterable[SkillDiff]") -> dict[str, str]:
    """Return the newest words of a log's lines and statements."""
    found: dict[str, str] = {}
    for diff in diffs:
        for line in (*(diff.seed or ()), *(each.discovered for each in diff.changes if each.discovered)):
            found[line.attribute_id] = f"{line.value} ({line.dimension})"
        found |= {each.statement_id: statement_words(each.statement) for each in diff.stated if each.statement}
    return found


def validity(statement: "Statement", shifted: int, now: datetime) -> str:
    """Word how long a statement holds, such as `until 2026-01-31 18:00 UTC`."""
    if statement.until is None:
        parts = ["always"]
    else:
        parts = ["over" if statement.until <= now else f"until {statement.until:%Y-%m-%d %H:%M} UTC"]
    if statement.session_id is not None:
        parts.append(f"in session {statement.session_id}")
    if statement.since < shifted:
        parts.append(f"doubtful since version {shifted}")
    return ", ".join(parts)


def statement_sentence(kind: str, words: str, actor: str | None, reason: str) -> str:
    """Word a step of a statement."""
    stated = f"You said: “{words}”." if words else "You stated it in a form, or by a strong signal."
    sentence = _STATED.get(kind, stated).format(who=_capital(actor) if actor else "Someone")
    return sentence + (f" The reason noted: “{reason}”." if reason else "")


def certainty_words(line: "Attribute | None") -> str:
    """Word how sure a line is."""
    if line is None:
        return "no longer in the profile"
    return f"{SURE[str(line.tier)]}{', and pinned' if line.pinned else ''}"


def sentence(step: "LineStep") -> str:
    """Word a step for the person."""
    if step.kind == "seeded":
        return _seeded(step)
    if step.actor:
        template = _COMMANDS.get(step.kind, "{who} changed this.")
        words = template.format(who=_capital(step.actor), sure=SURE.get(step.tier_after or "", ""))
        return words + (f" The reason given: “{step.reason}”." if step.reason else "")
    ranking = step.ranking
    request = f"You had asked for “{ranking.instruction}”." if ranking and ranking.instruction else ""
    event = _choice(step) if step.trigger is None else _signal(step, step.trigger)
    return " ".join(filter(None, (request, event, _effect(step), _verdict(step))))


def _seeded(step: "LineStep") -> str:
    if step.source == "prior" and step.interactions_before:
        total = step.interactions_before
        support = number_word(min(step.support, total))
        past = f"Before your first choice here you had taken {number_word(total)} {'thing' if total == 1 else 'things'}"
        return f"{past}, {support} with this."
    if step.source == "global":
        return "You started with what most people here share, and this is part of it."
    return "This was there when the profile began."


def _choice(step: "LineStep") -> str:
    more, ranking = _title(step), step.ranking
    also = len(ranking.taken) - 1 if ranking else 0
    others = len(set(ranking.shown).difference(ranking.taken)) if ranking else 0
    if also:
        more += f" and {number_word(also)} more"
    if others < 1:
        return f"You took {more}."
    left = f"You took {more}{',' if also else ''} and left {number_word(others)} {'other' if others == 1 else 'others'}"
    if share := _SHARE.fullmatch(step.reason):
        return f"{left}, {_amount(others - round(int(share[1]) * others / 100), others)} of them without this."
    if passed := _PASSED.fullmatch(step.reason):
        return f"{left}, {number_word(int(passed[1]))} of them with this."
    if step.taken is not None:
        have = step.others_with
        found = "" if have is None else f", {_amount(others - have, others)} of them without this"
        times = "once" if step.taken == "1" else f"{step.taken} times"
        return f"{left}{found}. Lately you took this {times}; by chance it would be {step.expected}."
    return f"{left}." + (f" The reason noted: “{step.reason}”." if step.reason else "")


def _signal(step: "LineStep", trigger: "DiffTrigger") -> str:
    if trigger.what == "correction":
        return f"You said: “{trigger.words}”." if trigger.words else "You stated it in a form."
    if trigger.what == "abstention":
        return "You took nothing of a list."
    value = trigger.value
    words = _SIGNALS.get(trigger.what, "The app reported of {title}: {what}.")
    return words.format(title=_title(step), what=trigger.what, value="" if value is None else f"{value:g}")


def _effect(step: "LineStep") -> str:
    before, after = step.tier_before, step.tier_after
    if step.kind == "overtaken" and step.trigger is not None and step.trigger.what == "correction":
        return "You said that your taste has changed: older choices count for less now."
    if step.kind in _FIXED_SENTENCES:
        return _FIXED_SENTENCES[step.kind]
    if after is None:
        return "It left the profile."
    if before is None:
        return f"It is new in the profile: {SURE[after] if after != 'silent' else 'counted, it says nothing yet'}."
    if before == after:
        return "It counts a little less now." if step.kind == "weakened" else ""
    return f"It went from “{SURE[before]}” to “{SURE[after]}”."


def _verdict(step: "LineStep") -> str:
    if step.verdict is None:
        return ""
    by = f", because of “{step.quoted}”" if step.quoted else ""
    verdict = f"A model judged that the choice {_VERDICTS[step.verdict]}{by}."
    without = " It had no effect." if step.kind == "judged" and step.verdict != "unrelated" else ""
    return verdict + without + (f" Its thoughts on the choice: “{step.analysis}”" if step.analysis else "")


def _title(step: "LineStep") -> str:
    return f"*{step.title}*" if step.title else "an item whose title is no longer known"


def _amount(count: int, total: int) -> str:
    return "all" if count == total and total > 1 else number_word(count)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]

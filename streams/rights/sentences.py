"""What happened to one line of a skill, in sentences for the person it is about: dates and titles, no ids."""

import re
from datetime import datetime
from typing import Any

_SHARE = re.compile(r"chosen, and (\d+)% of the others have it")
_PASSED = re.compile(r"passed over (\d+) times in this ranking")
_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_SURE = {"silent": "says nothing", "low": "a first sign", "medium": "likely", "high": "sure"}
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
    "forgotten": "{who} had this forgotten.",
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
_WHOLE = {
    "judged": "",
    "evicted": "The profile was full, and this was the line that it could spare.",
    "shifted": "Your taste may have changed here: you seldom took this where it was offered. It says nothing until "
    "choices confirm it again.",
    "faded": "Nothing had confirmed this for long: it counts less now.",
    "overtaken": "Your taste may have changed: older choices count for less now.",
}
_STATED = {
    "withdrawn": "You took it back.",
    "removed": "{who} removed it.",
    "expired": "Its time was over.",
    "full": "There was no room for it any more.",
    "forgotten": "{who} had it forgotten.",
    "restored": "{who} brought it back from an earlier version or an export.",
}


def day(moment: datetime) -> str:
    """A date as people write it.

    >>> day(datetime(2026, 1, 9))
    '9 January 2026'
    """
    return f"{moment.day} {moment:%B %Y}"


def number(count: int) -> str:
    """A small number as a word.

    >>> number(9), number(31)
    ('nine', '31')
    """
    return _SMALL[count] if count < len(_SMALL) else f"{count:,}"


def sentence(step: dict[str, Any]) -> str:
    """What one step did, for the person.

    Args:
        step: a step of `explained`, before it has its sentence.
    """
    if step["kind"] == "seeded":
        return _seeded(step)
    if step["actor"]:
        told = _COMMANDS.get(step["kind"], "{who} changed this.")
        said = told.format(who=_capital(step["actor"]), sure=_SURE.get(step["tier_after"] or "", ""))
        return said + (f" The reason given: “{step['reason']}”." if step["reason"] else "")
    did = _taken(step) if step.get("heard") is None else _heard(step)
    return " ".join(filter(None, (_asked(step), did, _moved(step), _thought(step))))


def state(line: dict[str, Any] | None) -> str:
    """How sure the line is now."""
    if line is None:
        return "not in the profile any more"
    pinned = ", and pinned" if line["pinned"] else ""
    return f"{_SURE[line['tier']]}{pinned}"


def _seeded(step: dict[str, Any]) -> str:
    newest = [title for title in step["newest_items"].values() if title]
    if step["source"] == "prior" and step["interactions_before"]:
        total, support = step["interactions_before"], min(step["support"], step["interactions_before"])
        things = "thing" if total == 1 else "things"
        ending = f" The newest of them: {_listed(newest)}." if newest else ""
        past = f"Before your first choice here you had taken {number(total)} {things}, {number(support)} with this."
        return past + ending
    if step["source"] == "global":
        return "You started with what most people here share, and this is part of it."
    return "This was there when the profile began."


def _asked(step: dict[str, Any]) -> str:
    ranking = step["ranking"]
    return f"You had asked for “{ranking['instruction']}”." if ranking and ranking["instruction"] else ""


def _taken(step: dict[str, Any]) -> str:
    """Name the item that was taken and count the rest of the list, as far as it is known."""
    title = step["title"] or "something whose title is not known any more"
    named = f"*{title}*" if step["title"] else title
    ranking = step["ranking"]
    also = len(ranking["taken"]) - 1 if ranking else 0
    others = len(set(ranking["shown"]).difference(ranking["taken"])) if ranking else 0
    more = f"{named} and {number(also)} more" if also else named
    if others < 1:
        return f"You took {more}."
    left = f"You took {more}{',' if also else ''} and left {number(others)} {'other' if others == 1 else 'others'}"
    if share := _SHARE.fullmatch(step["reason"]):
        without = others - round(int(share[1]) * others / 100)
        return f"{left}, {_amount(without, others)} of them without this."
    if passed := _PASSED.fullmatch(step["reason"]):
        return f"{left}, {number(int(passed[1]))} of them with this."
    if step["taken"] is not None:
        met = step["others_with"]
        found = "" if met is None else f", {_amount(others - met, others)} of them without this"
        times = "once" if step["taken"] == "1" else f"{step['taken']} times"
        return f"{left}{found}. Lately you took this {times}; by chance it would be {step['expected']}."
    return f"{left}." + (f" The reason noted: “{step['reason']}”." if step["reason"] else "")


def _heard(step: dict[str, Any]) -> str:
    """What the person told beside choices: in words, by a signal, or that nothing suits."""
    heard = step["heard"]
    if heard["what"] == "correction":
        return f"You said: “{heard['words']}”." if heard.get("words") else "You said so in a form."
    if heard["what"] == "abstention":
        return "You took nothing of a list."
    title = f"*{step['title']}*" if step["title"] else "something whose title is not known any more"
    value = heard.get("value")
    told = _SIGNALS.get(heard["what"], "Of {title} the app told: {what}.")
    return told.format(title=title, what=heard["what"], value="" if value is None else f"{value:g}")


def statement_sentence(kind: str, words: str, actor: str | None, reason: str) -> str:
    """What happened to something that the person said.

    >>> statement_sentence("stated", "no horror", None, "")
    'You said: “no horror”.'
    """
    said = f"You said: “{words}”." if words else "You said so in a form, or by a strong signal on it."
    told = _STATED.get(kind, said).format(who=_capital(actor) if actor else "Somebody")
    return told + (f" The reason noted: “{reason}”." if reason else "")


def _amount(some: int, of: int) -> str:
    return "all" if some == of and of > 1 else number(some)


def _moved(step: dict[str, Any]) -> str:
    """What it did to how sure the line is."""
    before, after = step["tier_before"], step["tier_after"]
    if step["kind"] == "overtaken" and (step.get("heard") or {}).get("what") == "correction":
        return "You said that your taste has changed: older choices count for less now."
    if step["kind"] in _WHOLE:
        return _WHOLE[step["kind"]]
    if after is None:
        return "It left the profile."
    if before is None:
        return f"It is new in the profile: {_SURE[after] if after != 'silent' else 'counted, it says nothing yet'}."
    if before == after:
        return "It counts a little less now." if step["kind"] == "weakened" else ""
    return f"It went from “{_SURE[before]}” to “{_SURE[after]}”."


def _thought(step: dict[str, Any]) -> str:
    """What a model said of it, and of the choice."""
    if step["verdict"] is None:
        return ""
    by = f", because of “{step['quoted']}”" if step["quoted"] else ""
    said = f"A model judged that the choice {_VERDICTS[step['verdict']]}{by}."
    without = " Nothing came of it." if step["kind"] == "judged" and step["verdict"] != "unrelated" else ""
    return said + without + (f" Its thoughts on the choice: “{step['analysis']}”" if step["analysis"] else "")


def _listed(titles: list[str]) -> str:
    named = [f"*{title}*" for title in titles]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]

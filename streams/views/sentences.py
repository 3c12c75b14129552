"""Steps in the history of a line or statement, with sentences."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from operators.history import Disagreement
from operators.learning.evidence import describe_proof
from schemas import DiffTrigger
from streams.analytics.read import EvidenceChoice
from streams.views.phrases import SURE, number_word, statement_words

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
    "shifted": "Your taste may have changed here: you seldom took this where it was offered. It counts for less "
    "until choices confirm it again.",
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


class LineStep(BaseModel):
    """A line's seed, a change, or a model's verdict."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    version: int
    attribute_id: str
    occurred_at: datetime
    sentence: str = ""
    tier_before: str | None = None
    tier_after: str | None = None
    taken: str | None = None  # how often it was taken lately, as a number
    expected: str | None = None  # and was to be expected without the line
    luck: str = ""  # the line's proof in words
    # only of seeds
    source: str | None = None
    support: int = 0
    interactions_before: int = 0
    # only of other steps
    event_id: str | None = None
    item_id: str | None = None
    title: str | None = None
    reasoner: str | None = None
    actor: str | None = None
    reason: str = ""
    verdict: str | None = None
    quoted: str | None = None
    quote: str = ""  # of a value that a model found in an item's text
    analysis: str = ""
    trigger: DiffTrigger | None = None
    ranking: EvidenceChoice | None = None
    others_with: int | None = None
    rank_by_line: int | None = None  # of the taken item, by a line about a number


def statement_sentence(kind: str, words: str, actor: str | None, reason: str) -> str:
    """Word a step of a statement."""
    stated = f"You said: “{words}”." if words else "You stated it in a form, or by a strong signal."
    sentence = _STATED.get(kind, stated).format(who=_capital(actor) if actor else "Someone")
    return sentence + (f" The reason noted: “{reason}”." if reason else "")


def disagreement_sentence(found: Disagreement) -> str:
    """Word a statement that the choices since then contradict."""
    words = f"“{found.statement.words}”" if found.statement.words else statement_words(found.statement)
    effect = "leave it" if found.line is None else f"follow “{found.line.value}”"
    proof = describe_proof(found.proof)
    return f"Your words and choices disagree: {words}, but your choices since then {effect}; {proof}."


def sentence(step: LineStep) -> str:
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
    reason = ranking.reasons.get(ranking.taken[0]) if ranking else None
    why = f"A model had ranked it number {ranking.place}: “{reason}”." if ranking and reason else ""
    return " ".join(filter(None, (request, event, why, _effect(step), _verdict(step))))


def _seeded(step: LineStep) -> str:
    if step.source == "prior" and step.interactions_before:
        total = step.interactions_before
        support = number_word(min(step.support, total))
        past = f"Before your first choice here you had taken {number_word(total)} {'thing' if total == 1 else 'things'}"
        return f"{past}, {support} with this."
    if step.source == "global":
        return "You started with what most people here share, and this is part of it."
    return "This was there when the profile began."


def _choice(step: LineStep) -> str:
    more, ranking = _title(step), step.ranking
    also = len(ranking.taken) - 1 if ranking else 0
    others = len(set(ranking.shown).difference(ranking.taken)) if ranking else 0
    if also:
        more += f" and {number_word(also)} more"
    if others < 1:
        return f"You took {more}."
    left = f"You took {more}{',' if also else ''} and left {number_word(others)} {'other' if others == 1 else 'others'}"
    if step.others_with is not None:
        left += f", {_amount(others - step.others_with, others)} of them without this"
    if step.rank_by_line is not None:
        left += f"; it was number {step.rank_by_line} of {others + 1} by this"
    if step.taken is not None:
        times = "once" if step.taken == "1" else f"{step.taken} times"
        left += f". Lately you took this {times}, where {step.expected} were to be expected"
        left += f"; {step.luck}" if step.luck else ""
    elif step.luck:
        left += f". {_capital(step.luck)}"
    elif step.reason:
        left += f". The reason noted: “{step.reason}”"
    return f"{left}."


def _signal(step: LineStep, trigger: DiffTrigger) -> str:
    if trigger.what == "correction":
        return f"You said: “{trigger.words}”." if trigger.words else "You stated it in a form."
    if trigger.what == "abstention":
        return "You took nothing of a list."
    value = trigger.value
    words = _SIGNALS.get(trigger.what, "The app reported of {title}: {what}.")
    return words.format(title=_title(step), what=trigger.what, value="" if value is None else f"{value:g}")


def _effect(step: LineStep) -> str:
    before, after = step.tier_before, step.tier_after
    if step.kind == "overtaken" and step.trigger is not None and step.trigger.what == "correction":
        return "You said that your taste has changed: older choices count for less now."
    if step.kind in _FIXED_SENTENCES:
        return _FIXED_SENTENCES[step.kind]
    if after is None:
        return "It left the profile."
    if before is None:
        by_model = f" A model found it in the words “{step.quote}”." if step.quote else ""
        sure = SURE[after] if after != "silent" else "counted, it says nothing yet"
        return f"It is new in the profile: {sure}.{by_model}"
    if before == after:
        return "It counts a little less now." if step.kind == "weakened" else ""
    return f"It went from “{SURE[before]}” to “{SURE[after]}”."


def _verdict(step: LineStep) -> str:
    if step.verdict is None:
        return ""
    by = f", because of “{step.quoted}”" if step.quoted else ""
    verdict = f"A model judged that the choice {_VERDICTS[step.verdict]}{by}."
    without = " The line did not move." if step.kind == "judged" and step.verdict != "unrelated" else ""
    return verdict + without + (f" Its thoughts on the choice: “{step.analysis}”" if step.analysis else "")


def _title(step: LineStep) -> str:
    return f"*{step.title}*" if step.title else "an item whose title is no longer known"


def _amount(count: int, total: int) -> str:
    return "all" if count == total and total > 1 else number_word(count)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]

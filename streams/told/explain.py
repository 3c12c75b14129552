"""Why a line is in a skill, in sentences for the person, with nothing in them that nothing vouches for."""

import re
from typing import Any

from operators.vouch import Vouching
from schemas import Signal
from streams.rights.explained import Explained, ExplainedStatement, MovedStep, SeededStep, StatementStep
from streams.rights.sentences import sentence, statement_sentence
from streams.told.gate import line_of
from streams.told.models import Happened, ToldLine

TITLE = "title"
"""What a title is about, for the gate."""
SOMEBODY = "somebody"
_COUNTED = re.compile(r"chosen, and \d+% of the others have it|passed over \d+ times in this ranking")
"""The only reasons that we write ourselves and that say nothing but numbers."""
_UNKNOWN = {
    "something whose title is not known any more": "something",
    "You said so in a form, or by a strong signal on it.": "You said so.",
    "You said so in a form.": "You said so.",
}
KNOWN = frozenset({"correction", "abstention", *(signal.value for signal in Signal)})
_WORDS = re.compile(r"(?P<value>.+) \((?P<dimension>[^()]+)\)")


def line_told(explained: Explained | ExplainedStatement, vouching: Vouching) -> ToldLine | None:
    """The explanation as a model may read it; None for a line that no model is told.

    Titles are told where something vouches for them, actors too. Nobody's own words are quoted, neither the person's
    nor a model's.

    Args:
        explained: for people.
        vouching: what may be let out.
    """
    if not _may_be_told(explained, vouching):
        return None
    if isinstance(explained, ExplainedStatement):
        steps = [_of_statement(step, vouching) for step in explained.steps]
        return ToldLine(domain=explained.domain, line_id=explained.statement_id, now=None, steps=steps)
    return ToldLine(
        domain=explained.domain,
        line_id=explained.attribute_id,
        now=None if explained.now is None else line_of(explained.now),
        steps=[_of_line(step, vouching) for step in explained.telling],
    )


def _may_be_told(explained: Explained | ExplainedStatement, vouching: Vouching) -> bool:
    if isinstance(explained, Explained) and explained.now is not None:
        return explained.unvouched is None
    if isinstance(explained, ExplainedStatement) and explained.now is not None:
        now = explained.now
        return now.bound is not None or vouching.held(now.dimension, now.value) is None
    # Of what is gone there are only words.
    words = _WORDS.fullmatch(explained.words)
    return words is not None and vouching.held(words["dimension"], words["value"]) is None


def _of_line(step: SeededStep | MovedStep, vouching: Vouching) -> Happened:
    told: dict[str, Any] = step.model_dump()
    if isinstance(step, SeededStep):
        told["newest_items"] = {
            item: title for item, title in step.newest_items.items() if _vouched(title, vouching) is not None
        }
    else:
        told |= {
            "title": _vouched(step.title, vouching),
            "actor": _actor(step.actor, vouching),
            "reason": step.reason if _COUNTED.fullmatch(step.reason) else "",
            "analysis": "",
            "quoted": None,
        }
        told["heard"] = None if step.heard is None else {**step.heard, "words": "", "what": _what(step.heard["what"])}
        told["ranking"] = None if told["ranking"] is None else {**told["ranking"], "instruction": ""}
    return Happened(version=step.version, on=step.occurred_at.date(), sentence=_withheld(sentence(told)))


def _of_statement(step: StatementStep, vouching: Vouching) -> Happened:
    said = _withheld(statement_sentence(step.kind, "", _actor(step.actor, vouching), ""))
    return Happened(version=step.version, on=step.occurred_at.date(), sentence=said)


def _withheld(said: str) -> str:
    """What stands for a title or for words that are not told, without a reason why they are not there."""
    for unknown, plain in _UNKNOWN.items():
        said = said.replace(unknown, plain)
    return said


def _vouched(title: str | None, vouching: Vouching) -> str | None:
    return title if title and vouching.held(TITLE, title) is None else None


def _actor(actor: str | None, vouching: Vouching) -> str | None:
    """Whoever may write commands on Kafka can name any actor."""
    if actor is None:
        return None
    return actor if vouching.held("name", actor) is None else SOMEBODY


def _what(heard: str) -> str:
    """What was heard; an app's own signals have names of its own."""
    return heard if heard in KNOWN else "a signal of its own"

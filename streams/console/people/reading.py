"""What a person's page tells, read from the snapshot and from what is followed live."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from operators.evidence import is_counted, number_of
from operators.stated import is_doubtful, is_over, live, unwanted
from operators.statinit import vocabulary_for
from operators.vouch import Vouching
from schemas import ONE, Attribute, Fact, Kind, PolicySkill, Session, SkillDiff, Statement, Tier, decode
from streams.http.api import Api
from streams.materializer import read
from streams.rights.sentences import holds, what, why_unvouched

SURE = {Tier.HIGH: "sure", Tier.MEDIUM: "likely", Tier.LOW: "first sign", Tier.SILENT: "says nothing yet"}
"""A tier in the words of a person."""
GROUPS = {
    Kind.PREFERENCE: ("Likes", "What draws them, from what they took and left."),
    Kind.PATTERN: ("Habits", "How they choose."),
    Kind.CRITERION: ("What decides", "What they go by between things that are alike."),
}
SOURCES = {
    "prior": "from before the first choice",
    "global": "from what most people share",
    "discovered": "learned from choices",
    "stated": "somebody wrote it",
}
BAR = 100
"""The width of a bar of evidence, in its own units."""

_NOT_UNDERSTOOD = (
    "SELECT document FROM skill_diffs WHERE user_id = $1 AND domain = $2 AND heard = 'correction' AND NOT understood "
    "ORDER BY version DESC LIMIT 3"
)
_SLIM = "SELECT text, session_text, session_until FROM slim_skills WHERE user_id = $1 AND domain = $2"


@dataclass(frozen=True)
class Line:
    """One line of a skill, to be shown.

    Attributes:
        line: the line.
        sure: its tier in words.
        source: where it came from, in words.
        taken, expected: its counts in choices; empty where it is not counted.
        taken_bar, expected_bar: the same as lengths of a bar, of at most BAR.
        held_back: why no app and no model is told it; empty: they are.
    """

    line: Attribute
    sure: str
    source: str
    taken: str
    expected: str
    taken_bar: int
    expected_bar: int
    held_back: str

    def says_something(self, unwanted: Collection[str]) -> bool:
        """Return true for a line with a tier that no live statement avoids."""
        return bool(self.line.tier) and self.line.attribute_id not in unwanted


@dataclass(frozen=True)
class Wish:
    """Something that the person said, to be shown; `over`: it says nothing any more."""

    said: Statement
    says: str
    holds: str
    doubtful: bool
    over: bool


@dataclass(frozen=True)
class FailedCorrection:
    """A correction that was not understood; `words` are empty if they are not kept."""

    words: str
    why: str
    said_at: datetime


@dataclass(frozen=True)
class Group:
    """Lines of one kind, the surest first."""

    title: str
    about: str
    lines: list[Line]


@dataclass(frozen=True)
class Person:
    """All that is shown of one skill of a person.

    Attributes:
        skill: the skill.
        domains: all domains in which they have one.
        groups: its lines that say something, by kind.
        silent: lines without a tier, and lines that a live statement avoids.
        wishes: what the person said.
        not_understood: the last corrections that were not understood, the newest first.
        examples: sentences that are understood here.
        sessions: what the newest sessions add.
        slim: what apps are told; in the newest session, `slim_now`.
        logged: the newest version that the log has; it may be some seconds behind.
    """

    skill: PolicySkill
    domains: list[str]
    groups: list[Group]
    silent: list[Line]
    wishes: list[Wish]
    not_understood: list[FailedCorrection]
    examples: tuple[str, ...]
    sessions: list[Session]
    slim: str
    slim_now: str
    logged: int


def person(
    con: DuckDBPyConnection, api: Api, user: str, domain: str | None, vouching: Vouching, now: datetime
) -> Person | None:
    """The page of a person in one domain, the first one where none is named; None if they have no skill there.

    Args:
        con: the snapshot.
        api: what is followed live: a change is seen as soon as a worker has made it.
        user: who.
        domain: which of their skills.
        vouching: decides what apps and models are told.
        now: by which statements and sessions are over or not.
    """
    skills: dict[str, PolicySkill] = {skill.domain: skill for skill in read.skill(con, user)}
    logged: dict[str, int] = {name: skill.version for name, skill in skills.items()}
    if domain is not None and domain not in skills and (fresh := api.live.skill(user, domain)):
        skills[domain] = fresh
    chosen = domain or next(iter(sorted(skills)), None)
    if chosen is None or chosen not in skills:
        return None
    skill = newest(api, skills[chosen])
    slim, slim_now = _slim(con, api, user, chosen, now)
    silent = unwanted(live(skill, now))
    lines = shown(skill.attributes, vouching)
    return Person(
        skill=skill,
        domains=sorted(skills),
        groups=[
            Group(title, about, found)
            for kind, (title, about) in GROUPS.items()
            if (found := [each for each in lines if each.line.kind is kind and each.says_something(silent)])
        ],
        silent=[each for each in lines if not each.says_something(silent)],
        wishes=[wish(skill, said, now) for said in skill.stated],
        not_understood=_not_understood(con, skill),
        examples=examples(lines, vocabulary_for(chosen, api.settings.parsers)),
        sessions=[each for each in skill.sessions if each.until > now and each.lines],
        slim=slim,
        slim_now=slim_now,
        logged=logged.get(chosen, 0),
    )


def newest(api: Api, skill: PolicySkill) -> PolicySkill:
    """The skill as the worker has it now, where that is newer than the snapshot's."""
    fresh = api.live.skill(skill.user_id, skill.domain)
    return fresh if fresh is not None and fresh.version > skill.version else skill


def shown(lines: Sequence[Attribute], vouching: Vouching) -> list[Line]:
    """Lines as they are shown, the surest first; their bars are to one scale."""
    most = max([ONE, *(max(line.taken, line.expected) for line in lines)])
    ordered = sorted(lines, key=lambda line: (-line.tier, not line.pinned, -line.taken, line.attribute_id))
    return [_line(line, most, vouching) for line in ordered]


def _line(line: Attribute, most: int, vouching: Vouching) -> Line:
    counts = is_counted(line)
    held = vouching.of_line(line)
    return Line(
        line=line,
        sure=SURE[line.tier],
        source=SOURCES[line.source.value],
        taken=number_of(line.taken) if counts else "",
        expected=number_of(line.expected) if counts else "",
        taken_bar=round(BAR * line.taken / most),
        expected_bar=round(BAR * line.expected / most),
        held_back=why_unvouched(held) if held else "",
    )


def wish(skill: PolicySkill, said: Statement, now: datetime) -> Wish:
    """Something that the person said, as it is shown."""
    return Wish(said, what(said), holds(said, skill.shifted, now), is_doubtful(skill, said), is_over(skill, said, now))


def _slim(con: DuckDBPyConnection, api: Api, user: str, domain: str, now: datetime) -> tuple[str, str]:
    slim = api.live.slim(user, domain)
    if slim is not None:
        on = slim.session_until is not None and slim.session_until > now
        return slim.text, slim.session_text if on else ""
    rows = con.execute(_SLIM, [user, domain]).fetchall()
    for text, session_text, until in rows:
        on = until is not None and until > now.replace(tzinfo=None)
        return text, session_text if on and session_text else ""
    return "", ""


def examples(lines: Sequence[Line], vocabulary: Sequence[Fact]) -> tuple[str, ...]:
    """Return two sentences that the rules understand for this person, one in English and one in German.

    Args:
        lines: of the person's skill.
        vocabulary: the closed one of the domain; without any name that is known there is no example.
    """
    sure = (each for each in lines if each.line.tier and not each.held_back)
    values = [each.line.value for each in sure if each.line.kind is Kind.PREFERENCE]
    values = values or [fact.value for fact in vocabulary if fact.value.isalpha()][:2]
    return (f"no {values[-1]}, please", f"ich mag {values[0]}") if values else ()


def _not_understood(con: DuckDBPyConnection, skill: PolicySkill) -> list[FailedCorrection]:
    rows = con.execute(_NOT_UNDERSTOOD, [skill.user_id, skill.domain]).fetchall()
    diffs = {diff.version: diff for (text,) in rows if (diff := decode(SkillDiff, text.encode()))}
    if skill.last_diff is not None:  # the snapshot may be some seconds behind
        diffs[skill.last_diff.version] = skill.last_diff
    newest_first = sorted(diffs.values(), key=lambda diff: -diff.version)
    return [
        FailedCorrection(diff.heard.words, diff.heard.explanation, diff.occurred_at)
        for diff in newest_first
        if diff.heard is not None and diff.heard.what == "correction" and not diff.heard.understood
    ][:3]

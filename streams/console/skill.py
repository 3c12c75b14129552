"""Pages of a person: search, skill, card, line history and logs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from operators.history import disagreements
from operators.language.output_policy import OutputGate
from operators.learning.evidence import is_counted
from operators.stated import avoided_ids, is_doubtful, is_expired, live_statements
from schemas import ONE, Attribute, AttributeKind, CardLine, PolicySkill, RefusedProposal, SkillChangeKind, SkillDiff
from streams.analytics import read
from streams.console.pages import PageContext, page
from streams.http.api import Api
from streams.http.problems import Problem
from streams.http.skills import NOTHING, READERS, card_of
from streams.http.tokens import ALL_USERS, Scope
from streams.policies import output_gate
from streams.views.cards import CardLineView, card_line_view, card_versions
from streams.views.line_history import UnknownLine, explain
from streams.views.phrases import WITHHELD_REASONS, actor_of, names_of, shift_phrase, statement_words, validity
from streams.views.sentences import disagreement_sentence
from streams.views.skills import UnknownUser

MOST_FOUND = 50
_USERS = f"""
    SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM cards)
    WHERE starts_with(user_id, $1) ORDER BY user_id LIMIT {MOST_FOUND + 1}
"""  # noqa: S608 - a constant


@page("GET", "/")
async def home(ctx: PageContext) -> Response:
    """Redirect to the search."""
    if ctx.reads_people:
        return ctx.redirect("/people")
    raise Problem(403, "this token opens no page: it needs the scope read-user or read-all")


@page("GET", "/people", *READERS)
async def people(ctx: PageContext) -> Response:
    """Search users by the start of their id."""
    # A token of one user skips the search.
    token, lists = ctx.token, ctx.token.allows(Scope.READ_ALL, ALL_USERS)
    if not lists and token.user not in (None, ALL_USERS):
        return ctx.redirect("/person", user=token.user)
    begins, found = ctx.fields.get("user", ""), list[str]()
    if lists:
        found = await ctx.read(lambda con: [name for (name,) in con.execute(_USERS, [begins]).fetchall()])
    more = len(found) > MOST_FOUND
    return ctx.render("people.html", begins=begins, found=found[:MOST_FOUND], more=more, lists=lists)


@page("GET", "/person", *READERS)
async def person(ctx: PageContext) -> Response:
    """Show one skill of a user, and their card."""
    user, now = ctx.user(), datetime.now(UTC)
    domain = ctx.domain() if "domain" in ctx.fields else None
    found = await ctx.read(lambda con: _skill(con, ctx.api, user, domain, now))
    card = await card_for_template(ctx, user)
    status = 404 if found is None and card is None else 200
    more = found or {"skill": None, "domain": domain}
    return ctx.render("person.html", status, user=user, card=card, may=permissions_of(ctx, user), **more)


def _skill(con: DuckDBPyConnection, api: Api, user: str, domain: str | None, now: datetime) -> dict[str, Any] | None:
    skills: dict[str, PolicySkill] = {skill.domain: skill for skill in read.skill(con, user)}
    domain = domain or min(skills, default=None)
    skill = newest_skill(api, user, domain, skills.get(domain)) if domain else None
    if skill is None:
        return None
    silent = avoided_ids(live_statements(skill, now))
    lines = sorted(skill.attributes, key=lambda line: (-line.tier, not line.pinned, -line.taken, line.attribute_id))
    speaking = [line for line in lines if line.tier and line.attribute_id not in silent]
    slim = api.cache.slim(user, skill.domain)
    groups = {kind: [line for line in speaking if line.kind is kind] for kind in AttributeKind}
    return {
        "skill": skill,
        "domain": skill.domain,
        "domains": sorted({*skills, skill.domain}),
        "groups": {kind: found for kind, found in groups.items() if found},
        "silent": [line for line in lines if line not in speaking],
        "withheld": withheld_reasons(lines, output_gate(api.settings)),
        "scale": max([ONE, *(max(line.taken, line.expected) for line in lines if is_counted(line))]),  # of the bars
        "stated": [stated(skill, each.statement_id, now) for each in skill.stated],
        "disagreements": {
            found.statement.statement_id: disagreement_sentence(found)
            for found in (disagreements(skill, read.diffs(con, user, domain)) if skill.stated else ())
        },
        "sessions": [each for each in skill.sessions if each.until > now and each.lines],
        "slim": slim and slim.text,
        "slim_now": slim and slim.is_within(now, slim.session_id) and slim.session_text,
        "model_reads": api.settings.reasoner == "llm",
    }


async def card_for_template(ctx: PageContext, user: str) -> dict[str, Any] | None:
    """Return the card for a template, surest lines first; None if empty."""
    card = await card_of(ctx.api, ctx.token, user)
    if card is None or not (card.lines or card.past):
        return None
    lines, past = ([described(ctx, line) for line in found] for found in (card.lines, reversed(card.past)))
    says = {line.line_id: line.says for line in (*lines, *past)}
    lines.sort(key=lambda line: -line.certainty)
    return {"version": card.version, "lines": lines, "past": past, "says": says}


def described(ctx: PageContext, line: CardLine) -> CardLineView:
    """Return a card's line in words."""
    return card_line_view(line, datetime.now(UTC), output_gate(ctx.api.settings))


@page("GET", "/line", *READERS)
async def line(ctx: PageContext) -> Response:
    """Show the history of a line or a statement."""
    user, domain, named = ctx.user(), ctx.domain(), ctx.line()
    found = await ctx.read(lambda con: _line(con, ctx.api, user, domain, named))
    return ctx.render("line.html", user=user, domain=domain, named=named, may=permissions_of(ctx, user), **found)


def _line(con: DuckDBPyConnection, api: Api, user: str, domain: str, named: str) -> dict[str, Any]:
    gate, now = output_gate(api.settings), datetime.now(UTC)
    skill = newest_skill(api, user, domain, next(iter(read.skill(con, user, domain)), None))
    if skill is None:
        raise _no_skill(domain)
    try:
        history = explain(con, user, domain, named, gate, now)
    except (UnknownUser, UnknownLine):  # newer than the snapshot
        history = None
    attribute = next((each for each in skill.attributes if each.attribute_id == named), None)
    statement = stated(skill, named, now)
    if history is None and attribute is None and statement is None:
        raise Problem(404, "no version of this skill has such a line")
    is_statement = history.is_statement if history else statement is not None
    rankings = [step.ranking for step in history.steps if step.ranking] if history else []
    return {
        "history": history,
        "titles": read.titles(con, user, sorted({item for each in rankings for item in each.shown})),
        "is_statement": is_statement,
        "line": statement if is_statement else attribute,
        "withheld": withheld_reasons([attribute] if attribute else [], gate),
    }


def _no_skill(domain: str) -> Problem:
    return Problem(404, f"there is no skill of this person in {domain}, or the snapshot does not have it yet")


def permissions_of(ctx: PageContext, user: str) -> dict[str, bool]:
    """Return the token's permissions to change, erase and export a user."""
    scopes = {"change": Scope.CHANGE_USER, "forget": Scope.FORGET_USER, "export": Scope.READ_USER}
    return {name: ctx.token.allows(scope, user) for name, scope in scopes.items()}


def newest_skill(api: Api, user: str, domain: str, published: PolicySkill | None) -> PolicySkill | None:
    """Return the worker's skill if it is newer than the snapshot's."""
    fresh = api.cache.skill(user, domain)
    newer = fresh is not None and (published is None or fresh.version > published.version)
    return fresh if newer else published


def withheld_reasons(lines: Sequence[Attribute], gate: OutputGate) -> dict[str, str]:
    """Return why lines are withheld from apps and models, by id."""
    return {
        line.attribute_id: WITHHELD_REASONS[rejection.value]
        for line in lines
        if (rejection := gate.line_rejection(line))
    }


def stated(skill: PolicySkill, statement_id: str, now: datetime) -> dict[str, Any] | None:
    """Return a statement with its words and state, if any."""
    each = next((each for each in skill.stated if each.statement_id == statement_id), None)
    if each is None:
        return None
    words = {"says": statement_words(each), "holds": validity(each, skill.shifted, now)}
    return {"statement": each, "over": is_expired(skill, each, now), "doubtful": is_doubtful(skill, each), **words}


_COUNTS_ONLY = (SkillChangeKind.REINFORCED, SkillChangeKind.WEAKENED, SkillChangeKind.FADED, SkillChangeKind.OVERTAKEN)
_REFUSED = {
    "unknown-attribute": "this line no longer exists",
    "no-evidence": "there is no evidence for it",
    "also-reinforced": "the same choice supports it",
    "capped": "one choice can add only a few lines",
    "pinned": "it is pinned",
    "full": "the profile is full",
    "already-so": "it is so already",
    "private": "it is private, and private data is not stored",
    "withheld": "its words may not reach a model",
}


@page("GET", "/log", *READERS)
async def log(ctx: PageContext) -> Response:
    """Show a skill's versions, newest first, each with a way back."""
    user, domain = ctx.user(), ctx.domain()

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        diffs = read.diffs(con, user, domain)
        if not diffs:
            raise _no_skill(domain)
        chosen, links = ctx.slice_log(diffs, lambda diff: diff.version)
        return {**_entries(con, chosen, diffs), **links, "newest": diffs[-1].version}

    found, may = await ctx.read(reading), permissions_of(ctx, user)
    return ctx.render("log.html", user=user, domain=domain, may=may, **found)


@page("GET", "/card/log", *READERS)
async def card_log(ctx: PageContext) -> Response:
    """Show the versions of a card, newest first."""
    user = ctx.user()
    diffs = await ctx.read(lambda con: read.card_diffs(con, user))
    if not diffs:
        raise Problem(404, f"{NOTHING}, or the snapshot does not have it yet")
    entries, links = ctx.slice_log(card_versions(diffs), lambda each: each.diff.version)
    return ctx.render("log.html", user=user, domain=None, entries=entries[::-1], **links)


def _entries(con: DuckDBPyConnection, chosen: Sequence[SkillDiff], diffs: Sequence[SkillDiff]) -> dict[str, Any]:
    """Return versions for a template, newest first."""
    items = sorted({diff.evidence.item_id for diff in chosen if diff.evidence.item_id})
    entries = []
    for diff in reversed(chosen):
        effects = [each for each in diff.changes if each.kind not in _COUNTS_ONLY or each.before != each.after]
        effects.sort(key=lambda each: max(each.before or 0, each.after or 0), reverse=True)
        shift = shift_phrase(diff) if diff.shifted else ""
        more = {"refused": refusal_text(diff.refused), "shift": shift, "counted": len(diff.changes) - len(effects)}
        entries.append({"diff": diff, "actor": actor_of(diff), "effects": effects, **more})
    return {"entries": entries, "names": names_of(diffs), "titles": read.titles(con, diffs[0].user_id, items)}


def refusal_text(found: Iterable[RefusedProposal]) -> str:
    """Word the reasons why a change was refused."""
    return "; ".join(dict.fromkeys(_REFUSED.get(each.why.value, each.why.value) for each in found))

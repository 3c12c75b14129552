"""`sager policy show` and `sager policy log`: a user's skill and how it came about, from the DuckDB snapshot."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli import policy_change, policy_forget
from streams.cli.options import AsJson, Domain, User, examples, settings
from streams.cli.output import console, note, print_json, printable, row, table
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from rich.console import Console

    from schemas import Attribute, Change, PolicySkill, SkillDiff

LAST = 20
_SIGNS = {
    "discovered": "+",
    "reinforced": "↑",
    "weakened": "↓",
    "removed": "-",
    "evicted": "-",
    "pinned": "*",
    "unpinned": "*",
    "added": "+",
    "reworded": "~",
    "set": "=",
    "restored": "<",
}


class UnknownUser(StreamsError, LookupError):
    """The snapshot has no skill of this user."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        no_args_is_help=True,
        help="A user's policy skill, and the log of its changes.",
        epilog=examples("sager policy show ann", "sager policy log ann --domain films"),
    )
    group.command("show", epilog=examples("sager policy show ann", "sager policy show ann --domain films --json"))(show)
    group.command(
        "log", epilog=examples("sager policy log ann --last 5", "sager policy log ann --domain films --json")
    )(log)
    policy_change.register(group)
    policy_forget.register(group)
    app.add_typer(group, name="policy")


def show(user: User, domain: Domain = None, as_json: AsJson = False) -> None:
    """Print the skill of a user: what draws them, how sure we are, and why.

    Read from the newest DuckDB snapshot, so it is some seconds behind. With --json: a list, one skill per domain.
    """
    from streams.materializer import read  # noqa: PLC0415

    with _snapshot() as con:
        skills = read.skill(con, user, domain)
        if not skills:
            raise UnknownUser(_unknown(con, user, domain))
    if as_json:
        print_json([skill.model_dump(mode="json", exclude={"last_diff"}) for skill in skills])
        return
    out = console()
    for skill in skills:
        _show_skill(out, skill)


def log(
    user: User,
    domain: Domain = None,
    last: Annotated[
        int | None, typer.Option(min=0, help=f"Only the newest versions; 0: all. [default: {LAST}; all with --json]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how the skill of a user came about: what each event changed, on which evidence, by which reasoner.

    Read from the newest DuckDB snapshot, so it is some seconds behind. With --json: a list of skill diffs.
    """
    from streams.materializer import read  # noqa: PLC0415

    with _snapshot() as con:
        diffs = read.diffs(con, user, domain)
        if not diffs:
            raise UnknownUser(_unknown(con, user, domain))
    most = last if last is not None else 0 if as_json else LAST
    shown = [diff for each in _by_domain(diffs) for diff in each[-most:]]
    if as_json:
        print_json([diff.model_dump(mode="json") for diff in shown])
        return
    out = console()
    for each in _by_domain(shown):
        _show_log(out, each)
    if len(shown) < len(diffs):
        note(f"the newest {len(shown)} of {len(diffs)} versions; --last 0 prints all")


@contextmanager
def _snapshot() -> "Iterator[DuckDBPyConnection]":
    from streams.materializer import read  # noqa: PLC0415

    con = read.connect(settings())
    try:
        yield con
    finally:
        con.close()


def _unknown(con: "DuckDBPyConnection", user: str, domain: str | None) -> str:
    """Why there is nothing, and what to try."""
    domains = [name for (name,) in con.execute("SELECT domain FROM skills WHERE user_id = $1", [user]).fetchall()]
    if domains:
        return f"{user!r} has no skill in the domain {domain!r}, but in {', '.join(sorted(domains))}"
    [(past,)] = con.execute("SELECT count(*) FROM interactions WHERE user_id = $1", [user]).fetchall()
    if past:
        return (
            f"{user!r} has {past} interactions but no skill yet: one starts with the first selection from a ranking. "
            "If there was one just now, the snapshot is some seconds behind"
        )
    nearest = con.execute(
        "SELECT user_id FROM skills GROUP BY user_id "
        "ORDER BY jaro_winkler_similarity(user_id, $1) DESC, user_id LIMIT 5",
        [user],
    ).fetchall()
    if not nearest:
        return "nobody has a skill yet: one starts with the first selection from a ranking. `sager demo` shows how"
    return f"there is no user {user!r}. The nearest ids: {', '.join(name for (name,) in nearest)}"


def _show_skill(out: "Console", skill: "PolicySkill") -> None:
    from operators.render import SECTIONS  # noqa: PLC0415

    title = f"{skill.user_id} · {skill.domain} · version {skill.version}"
    caption = f"learned from {skill.contrasts} contrasts, the last of them at {skill.occurred_at:%Y-%m-%d %H:%M:%S} UTC"
    made = table(
        "section", "dimension", "value", "tier", "source", "support", "against", "evidence", title=printable(title)
    )
    made.caption = caption
    for kind, heading in SECTIONS.items():
        lines = [line for line in skill.attributes if line.kind is kind]
        lines.sort(key=lambda line: (-line.tier, -line.confirmed_at, -line.support, line.attribute_id))
        for place, line in enumerate(lines):
            row(made, [heading if not place else "", *_line(line)], {1: "dim", 3: "bold"}.get(line.tier))
    out.print(made)
    strategy = skill.strategy
    told = [
        f"must include: {', '.join(strategy.must_include)}" if strategy.must_include else "",
        f"tie breaker: {strategy.tie_breaker}" if strategy.tie_breaker else "",
        f"exploration: {strategy.exploration:.0%}",
    ]
    out.print(printable("strategy: " + "; ".join(filter(None, told))), markup=False)
    out.print()


def _line(line: "Attribute") -> list[object]:
    items = [str(e.item_id or e.event_id) for e in line.evidence]
    source = f"{line.source.value}, pinned" if line.pinned else line.source.value
    return [line.dimension, line.value, line.tier, source, line.support, line.contradictions or "", ", ".join(items)]


def _by_domain(diffs: "Sequence[SkillDiff]") -> "list[list[SkillDiff]]":
    found: dict[str, list[SkillDiff]] = {}
    for diff in diffs:
        found.setdefault(diff.domain, []).append(diff)
    return list(found.values())


def _show_log(out: "Console", diffs: "Sequence[SkillDiff]") -> None:
    first = diffs[0]
    made = table(
        "version",
        "when (UTC)",
        "what changed",
        "why",
        "evidence",
        "reasoner",
        title=printable(f"{first.user_id} · {first.domain}"),
    )
    for diff in diffs:
        changes = [*_seeded(diff), *((change_of(change), change.reason) for change in diff.changes)] or [
            ("no change", "")
        ]
        if diff.refused:
            changes.append(
                (f"refused {len(diff.refused)}: {', '.join(sorted({r.why.value for r in diff.refused}))}", "")
            )
        for place, (what, why) in enumerate(changes):
            head = [diff.version, f"{diff.occurred_at:%Y-%m-%d %H:%M:%S}"] if not place else ["", ""]
            tail = [_evidence(diff), _reasoner(diff)] if not place else ["", ""]
            row(made, [*head, what, why, *tail])
    out.print(made)


def _seeded(diff: "SkillDiff") -> list[tuple[str, str]]:
    return [] if diff.seed is None else [(f"started with {len(diff.seed)} lines", "the prior")]


def change_of(change: "Change") -> str:
    """One change as a line: what, from which tier to which."""
    line = f"{_SIGNS[change.kind.value]} {change.attribute_id}"
    if change.kind.value in ("pinned", "unpinned"):
        return f"{line} {change.kind.value}"
    if change.before is not None and change.after == change.before:
        return f"{line} {change.before}, {change.kind.value}"
    if change.after is None:
        return f"{line} {change.before}, {change.kind.value}"
    return f"{line} {change.before or 'new'} → {change.after}"


def _evidence(diff: "SkillDiff") -> str:
    item = diff.evidence.item_id
    return f"{item} ({diff.evidence.event_id})" if item else str(diff.evidence.event_id)


def _reasoner(diff: "SkillDiff") -> str:
    by = diff.reasoned_by
    tokens = f", {by.prompt_tokens} + {by.completion_tokens} tokens" if by.prompt_tokens else ""
    fallback = f" instead, because {by.fallback}" if by.fallback else ""
    return f"{by.model or by.reasoner}{tokens}{fallback}"

"""The demo's report: a summary as one JSON object, or tables for people."""

import shlex
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from operators.learning.fold import format_line
from schemas import Attribute, SkillDiff, Tier
from streams.local.demo.run import DemoResult
from streams.local.demo.scenario import Scenario

SHOWN_LINES, SHOWN_DIFFS = 8, 3


def summary(result: DemoResult) -> dict[str, Any]:
    """Summarize the run as one JSON object: counts, rates, and the path of the DuckDB file."""
    seen, agreement = result.seen, result.agreement
    tokens = [slim.tokens for slim in seen.slims.values()]
    return {
        "events_in": sum(result.events_in.values()),
        "events_by_topic": result.events_in,
        "selections": result.selections,
        "contrasts": len(seen.contrasts),
        "diffs": len(seen.diffs.keys() & seen.contrasts.keys()),
        "versions_from_statements": len(seen.diffs.keys() - seen.contrasts.keys()),
        "dead_letters": len(seen.dead_letters),
        "selections_unmatched": result.selections - len(seen.contrasts),
        "users": len({user for user, _ in result.skills}),
        "slim_skills": len(tokens),
        "slim_tokens_max": max(tokens, default=0),
        **{f"hit_at_{top}_before": round(rate, 4) for top, rate in result.before.items()},
        **{f"hit_at_{top}_after": round(rate, 4) for top, rate in result.after.items()},
        "test_choices": result.test_choices,
        "agreement_before": round(agreement[0], 4),
        "agreement_after": round(agreement[1], 4),
        "fold_agrees": result.fold_agrees,
        "contrasts_per_second": round(len(seen.contrasts) / max(result.evolve_seconds, 0.001), 1),
        "evolve_seconds": round(result.evolve_seconds, 2),
        "seconds": round(result.seconds, 2),
        "duckdb": str(result.duckdb),
    }


def show(result: DemoResult, scenario: Scenario, console: Console) -> None:
    """Print the user with the most discovered lines, and a table of figures."""

    def discovered(key: tuple[str, str]) -> int:
        return sum(a.tier >= Tier.MEDIUM and a.source == "discovered" for a in result.skills[key].attributes)

    if result.skills:
        console.print(_user(result, scenario, max(result.skills, key=discovered)))
    console.print(_figures(result))
    console.print(Text(f"DuckDB file: {result.duckdb}", style="bold"))
    console.print(Text(f"Query it: sager sql --duckdb {shlex.quote(str(result.duckdb))} --list", style="bold"))


def _user(result: DemoResult, scenario: Scenario, key: tuple[str, str]) -> RenderableType:
    skill, first = result.skills[key], result.firsts[key]
    table = Table(box=None, padding=(0, 2), expand=True)
    table.add_column("before: the prior", ratio=1)
    table.add_column(f"after {skill.contrasts} choices", ratio=1)
    table.add_row(_lines(first.seed or ()), _lines(skill.attributes))
    recent = [d for d in result.seen.diffs.values() if (d.user_id, d.domain) == key and d.changes]
    recent.sort(key=lambda diff: diff.version)
    parts: list[RenderableType] = [table, Text(), *map(_diff, recent[-SHOWN_DIFFS:])]
    if (slim := result.seen.slims.get(key)) is not None:
        parts.append(Text.assemble("slim skill  ", (slim.text, "bold"), f"  ({slim.tokens} tokens)"))
    parts.append(Text(f"hidden policy  {', '.join(scenario.wants(key[0]))}", style="dim"))
    return Panel(Group(*parts), title=f"{key[0]} · {key[1]}", title_align="left")


def _lines(attributes: tuple[Attribute, ...]) -> Text:
    lines = sorted((a for a in attributes if a.tier), key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    styles = {Tier.HIGH: "bold green", Tier.MEDIUM: "green", Tier.LOW: "dim"}
    text = Text("\n").join(Text(format_line(a), style=styles[a.tier]) for a in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        text.append(f"\n  and {len(lines) - SHOWN_LINES} more", style="dim")
    return text


def _diff(diff: SkillDiff) -> Text:
    changes = [
        f"{change.kind.value} {change.attribute_id} {change.before or ''}→{change.after or ''}"
        for change in diff.changes
        if change.before != change.after
    ]
    text = Text(f"v{diff.version}  chose {diff.evidence.item_id}: ", style="cyan")
    return text.append("; ".join(changes) or "no new line, same tiers", style="default")


def _figures(result: DemoResult) -> Table:
    facts = summary(result)
    table = Table("figure", title=Text("Results", style="table.title"), title_justify="left")
    for column in ("before", "after"):
        table.add_column(column, justify="right")
    for top, before in result.before.items():
        rates = f"{before:.3f}", f"{result.after[top]:.3f}"
        table.add_row(f"hit rate at {top}, {result.test_choices} test choices", *rates)
    table.add_row("hidden policy found", *(f"{share:.0%}" for share in result.agreement))
    table.add_section()
    for name, value in (
        ("events in", facts["events_in"]),
        ("selections, contrasts, diffs", f"{facts['selections']}, {facts['contrasts']}, {facts['diffs']}"),
        ("versions from statements, signals, commands", facts["versions_from_statements"]),
        ("dead letters, unmatched selections", f"{facts['dead_letters']}, {facts['selections_unmatched']}"),
        ("slim skills, longest in tokens", f"{facts['slim_skills']}, {facts['slim_tokens_max']}"),
        ("log = skills topic = DuckDB", "yes" if result.fold_agrees else "NO"),
        ("contrasts per second", facts["contrasts_per_second"]),
        ("seconds in all", facts["seconds"]),
    ):
        table.add_row(name, "", str(value))
    return table

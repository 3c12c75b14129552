"""The demo's report: a summary as one JSON object, or tables for people."""

import shlex
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from operators.learning.fold import line_of
from operators.whatif import chosen_rank, history
from schemas import Attribute, Contrast, SkillDiff, Tier
from streams.local.demo.run import DemoResult, HitRates
from streams.local.demo.scenario import Scenario

SHOWN_LINES, SHOWN_DIFFS = 8, 3
BUCKETS = (0, 1, 2, 3, 5, 9, 17)
"""The least number of choices of each bucket of the curve; the last one is open-ended."""


class CurvePoint(NamedTuple):
    """One bucket of the curve: hit rates at 1 by how many choices a skill had learned from, with it and its seed."""

    seen: str
    choices: int
    learned: float
    prior: float


def curve(diffs: Iterable[SkillDiff], contrasts: Mapping[str, Contrast]) -> list[CurvePoint]:
    """Rank the lists that users chose from by the skill alone, as the whole log has it at each choice."""
    logs: dict[tuple[str, str], list[SkillDiff]] = defaultdict(list)
    for diff in sorted(diffs, key=lambda each: each.version):
        logs[diff.user_id, diff.domain].append(diff)
    firsts: dict[int, list[tuple[bool, bool]]] = defaultdict(list)
    for log in logs.values():
        seed = log[0].seed or ()
        for skill, diff in history(log):
            if (contrast := contrasts.get(diff.event_id)) is not None:
                both = chosen_rank(contrast, skill.attributes) == 1, chosen_rank(contrast, seed) == 1
                firsts[bisect_right(BUCKETS, skill.contrasts) - 1].append(both)
    return [
        CurvePoint(_bucket(number), len(hits), *(sum(each[side] for each in hits) / len(hits) for side in (0, 1)))
        for number, hits in sorted(firsts.items())
    ]


def _bucket(number: int) -> str:
    """Name a bucket.

    >>> [_bucket(number) for number in range(len(BUCKETS))]
    ['0', '1', '2', '3-4', '5-8', '9-16', '17+']
    """
    first, after = BUCKETS[number], (*BUCKETS, None)[number + 1]
    if after is None:
        return f"{first}+"
    return str(first) if first == after - 1 else f"{first}-{after - 1}"


def summary(result: DemoResult) -> dict[str, Any]:
    """Summarize the run as one JSON object: counts, rates, and the file's path."""
    seen, agreement = result.seen, result.agreement
    tokens = [slim.tokens for slim in seen.slims.values()]
    return {
        "events_in": sum(result.events_in.values()),
        "events_by_topic": result.events_in,
        "selections": result.selections,
        "contrasts": len(seen.contrasts),
        "diffs": len(seen.diffs.keys() & seen.contrasts.keys()),
        "words": len(seen.diffs.keys() - seen.contrasts.keys()),
        "dead_letters": len(seen.dead_letters),
        "selections_unmatched": result.selections - len(seen.contrasts),
        "users": len({user for user, _ in result.skills}),
        "slim_skills": len(tokens),
        "slim_tokens_max": max(tokens, default=0),
        **_hits(result.before, "before"),
        **_hits(result.after, "after"),
        "held_back": result.after.choices,
        "agreement_before": round(agreement[0], 4),
        "agreement_after": round(agreement[1], 4),
        "by_seen": {
            name: {"choices": count, "hit_at_1": round(learned, 4), "hit_at_1_prior": round(prior, 4)}
            for name, count, learned, prior in curve(result.learned, seen.contrasts)
        },
        "fold_agrees": result.fold_agrees,
        "contrasts_per_second": round(len(seen.contrasts) / max(result.evolve_seconds, 0.001), 1),
        "evolve_seconds": round(result.evolve_seconds, 2),
        "seconds": round(result.seconds, 2),
        "duckdb": str(result.duckdb),
    }


def _hits(hits: HitRates, when: str) -> dict[str, float]:
    rates = {1: hits.at_1, 3: hits.at_3, 5: hits.at_5}
    return {f"hit_at_{top}_{when}": round(rate, 4) for top, rate in rates.items()}


def show(result: DemoResult, scenario: Scenario, console: Console) -> None:
    """Print the run as tables: the user whose skill changed most, and the figures."""

    def discovered(key: tuple[str, str]) -> int:
        return sum(a.tier >= Tier.MEDIUM and a.source == "discovered" for a in result.skills[key].attributes)

    if result.skills:
        console.print(_user(result, scenario, max(result.skills, key=discovered)))
    table = _table("How it learns: hit rate at 1, ranked by the skill alone", "choices seen", "learned", "prior alone")
    for point in curve(result.learned, result.seen.contrasts):
        table.add_row(point.seen, f"{point.learned:.2f}", f"{point.prior:.2f}")
    console.print(table, _figures(result))
    console.print(Text(f"DuckDB file: {result.duckdb}", style="bold"))
    console.print(Text(f"Ask it: sager sql --duckdb {shlex.quote(str(result.duckdb))} --list", style="bold"))


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
    text = Text("\n").join(Text(line_of(a), style=styles[a.tier]) for a in lines[:SHOWN_LINES])
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
    return text.append("; ".join(changes) or "confirmed what was known", style="default")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title, style="table.title"), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def _figures(result: DemoResult) -> Table:
    facts = summary(result)
    table = _table("What happened", "figure", "before", "after")
    for top in (1, 3, 5):
        rates = (f"{facts[f'hit_at_{top}_{when}']:.3f}" for when in ("before", "after"))
        table.add_row(f"hit rate at {top}, {result.after.choices} held-back choices", *rates)
    table.add_row("hidden policy found", *(f"{share:.0%}" for share in result.agreement))
    table.add_section()
    for name, value in (
        ("events in", facts["events_in"]),
        ("selections, contrasts, diffs", f"{facts['selections']}, {facts['contrasts']}, {facts['diffs']}"),
        ("versions from words, signals, commands", facts["words"]),
        ("dead letters, unmatched selections", f"{facts['dead_letters']}, {facts['selections_unmatched']}"),
        ("slim skills, longest in tokens", f"{facts['slim_skills']}, {facts['slim_tokens_max']}"),
        ("log = skills topic = DuckDB", "yes" if result.fold_agrees else "NO"),
        ("contrasts per second", facts["contrasts_per_second"]),
        ("seconds in all", facts["seconds"]),
    ):
        table.add_row(name, "", str(value))
    return table

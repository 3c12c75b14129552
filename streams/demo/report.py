"""The demo's report: a summary as one JSON object, or tables for people."""

import shlex
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from operators.render import line_of
from operators.whatif import history, place
from schemas import Attribute, ChangeKind, Contrast, SkillDiff, Tier
from streams.demo.costs import Costs
from streams.demo.run import Hits, Result
from streams.demo.scenario import Simulated

SHOWN_USERS, SHOWN_LINES, SHOWN_DIFFS = 3, 8, 3
BAR_CHARS = 50
USD_DIGITS = 8
BUCKETS = (0, 1, 2, 3, 5, 9, 17)
"""The least number of choices of each bucket of the curve; the last one is open-ended."""
QUERIES = {
    "how often the ranker was right, by version of the skill": """
        SELECT skill_version, count(*) AS choices, round(avg(hit_at_1::INT), 3) AS hit_at_1
        FROM outcomes GROUP BY ALL ORDER BY ALL""",
    "what most users turned out to want": """
        SELECT attribute_id, count(*) AS users FROM skill_attributes
        WHERE tier IN ('medium', 'high') GROUP BY ALL ORDER BY users DESC LIMIT 10""",
    "how one user's policy came about": """
        SELECT version, kind, attribute_id, before, after, reason FROM skill_changes
        WHERE user_id = '{user}' ORDER BY version""",
}
"""Three questions for the DuckDB file, with their SQL."""


@dataclass(frozen=True)
class Point:
    """One bucket of the curve: hit rates at 1 by how many choices a skill had learned from.

    Attributes:
        seen: the bucket's name.
        choices: the number of choices in it.
        learned, prior: the hit rates with the skill at that choice, and with the skill that the user began with.
    """

    seen: str
    choices: int
    learned: float
    prior: float


def curve(diffs: Iterable[SkillDiff], contrasts: Mapping[str, Contrast]) -> list[Point]:
    """Rank the lists that users chose from by the skill alone, as it was at each choice.

    Args:
        diffs: the whole log.
        contrasts: the choices by event id.
    """
    logs: dict[tuple[str, str], list[SkillDiff]] = defaultdict(list)
    for diff in sorted(diffs, key=lambda each: each.version):
        logs[diff.user_id, diff.domain].append(diff)
    firsts: dict[int, list[tuple[bool, bool]]] = defaultdict(list)
    for log in logs.values():
        seed = log[0].seed or ()
        for skill, diff in history(log):
            if (contrast := contrasts.get(diff.event_id)) is not None:
                both = place(contrast, skill.attributes) == 1, place(contrast, seed) == 1
                firsts[bisect_right(BUCKETS, skill.contrasts) - 1].append(both)
    return [
        Point(_bucket(number), len(hits), *(sum(each[side] for each in hits) / len(hits) for side in (0, 1)))
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


def summary(result: Result) -> dict[str, Any]:
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
            each.seen: {
                "choices": each.choices,
                "hit_at_1": round(each.learned, 4),
                "hit_at_1_prior": round(each.prior, 4),
            }
            for each in curve(result.learned, seen.contrasts)
        },
        "fold_agrees": result.fold_agrees,
        "contrasts_per_second": round(len(seen.contrasts) / max(result.evolve_seconds, 0.001), 1),
        "evolve_seconds": round(result.evolve_seconds, 2),
        "seconds": round(result.seconds, 2),
        "duckdb": str(result.duckdb),
        "llm": None if result.llm is None else _llm(result.llm),
    }


def _hits(hits: Hits, when: str) -> dict[str, float]:
    rates = {1: hits.at_1, 3: hits.at_3, 5: hits.at_5}
    return {f"hit_at_{top}_{when}": round(rate, 4) for top, rate in rates.items()}


def _llm(costs: Costs) -> dict[str, Any]:
    return {
        "model": costs.model,
        "asked": costs.asked,
        "answered": costs.answered,
        "valid_share": round(costs.valid_share, 4),
        "gated": costs.gated,
        "fallback": costs.fallbacks,
        "dead_letters": costs.dead_letters,
        "usd": round(costs.usd, USD_DIGITS),
        "prompts": [{**vars(each), "usd": round(each.usd, USD_DIGITS)} for each in costs.prompts],
    }


def show(result: Result, scenario: Simulated, console: Console) -> None:
    """Print the run as tables: a few users, the figures, the cost of an LLM, and what to try next."""
    users = _most_changed(result)
    for key in users:
        console.print(_user(result, scenario, key))
    console.print(_curve(curve(result.learned, result.seen.contrasts)))
    console.print(_figures(result))
    if result.llm is not None:
        console.print(_costs(result.llm))
    console.print(Text(f"DuckDB file: {result.duckdb}", style="bold"))
    console.print(Text(f"Ask it: sager sql --duckdb {shlex.quote(str(result.duckdb))}", style="bold"))
    console.print("Try, for instance:")
    for what, query in QUERIES.items():
        console.print(Text(f"  -- {what}", style="dim"))
        filled = f"{query};".format(user=users[0][0] if users else "")
        for line in filled.strip().splitlines():
            console.print(Text(f"  {line.strip()}"))


def _most_changed(result: Result) -> list[tuple[str, str]]:
    """Pick the users whose skills changed most, one per domain first."""

    def discovered(key: tuple[str, str]) -> int:
        return sum(a.tier >= Tier.MEDIUM and a.source == "discovered" for a in result.skills[key].attributes)

    changed = sorted(result.skills, key=discovered, reverse=True)
    best = {domain: (user, domain) for user, domain in reversed(changed)}
    first = sorted(best.values(), key=changed.index)
    return [*first, *(key for key in changed if key not in first)][:SHOWN_USERS]


def _user(result: Result, scenario: Simulated, key: tuple[str, str]) -> RenderableType:
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
    told = [
        f"{change.kind.value} {change.attribute_id}"
        + ("" if change.kind in (ChangeKind.DISCOVERED, ChangeKind.EVICTED) else f" {change.before}→{change.after}")
        for change in diff.changes
        if change.kind in (ChangeKind.DISCOVERED, ChangeKind.EVICTED) or change.before != change.after
    ]
    text = Text(f"v{diff.version}  chose {diff.evidence.item_id}: ", style="cyan")
    return text.append("; ".join(told) or "confirmed what was known", style="default")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title, style="table.title"), title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def _curve(points: Sequence[Point]) -> Table:
    """Draw hit rates by choices seen as bars: with the learned skill, and with the prior alone."""
    table = Table(title="How it learns: hit rate at 1, ranked by the skill alone", title_justify="left")
    table.add_column("choices seen", justify="right")
    table.add_column("choices", justify="right")
    table.add_column("with what was learned, and with the prior alone", no_wrap=True)
    for point in points:
        bars = [(point.learned, "green"), (point.prior, "dim")]
        told = Text("\n").join(Text(f"{_bar(share)} {share:.2f}", style=style) for share, style in bars)
        table.add_row(point.seen, str(point.choices), told)
    return table


def _bar(share: float) -> str:
    eighths = round(share * BAR_CHARS * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _figures(result: Result) -> Table:
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


def _costs(costs: Costs) -> Group:
    """Show the cost of each prompt, and the share of usable answers."""
    table = _table(
        f"What each prompt cost, by {costs.model}",
        *("prompt", "answered", "calls", "tokens in", "tokens out", "median ms", "USD"),
    )
    for each in costs.prompts:
        sums = (each.answered, each.calls, each.prompt_tokens, each.completion_tokens, each.median_ms)
        usd = f"{each.usd:.6f}" if costs.priced else "-"
        table.add_row(Text(each.prompt), *(f"{count:,}" for count in sums), usd)
    total = "for USD set SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION"
    if costs.priced:
        total = f"{costs.usd:.6f} USD in all"
    told = (
        f"{costs.valid_share:.1%} valid replies to {costs.asked} questions; {costs.gated} choices kept from the LLM by "
        f"the gate, {costs.fallbacks} questions answered by rules instead, {costs.dead_letters} dead letters; {total}"
    )
    return Group(table, Text(told))

"""What the demo tells: a summary as one JSON object, or tables for people."""

import math
import shlex
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from operators.render import line_of
from schemas import Attribute, ChangeKind, SkillDiff, Tier
from streams.demo.costs import Costs, Who
from streams.demo.curve import Point
from streams.demo.run import Hits, Result
from streams.demo.scenario import Scenario, Simulated

SHOWN_USERS = 3
SHOWN_LINES = 8
SHOWN_DIFFS = 3
SHOWN_CALLS = 10
BAR_CHARS = 50
USD_DIGITS = 8
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


def summary(result: Result) -> dict[str, Any]:
    """The run as one JSON object: counts, rates, and where the file is."""
    tokens = [slim.tokens for slim in result.seen.slims.values()]
    agreement = result.agreement
    return {
        "events_in": sum(result.events_in.values()),
        "events_by_topic": result.events_in,
        "selections": result.selections,
        "contrasts": len(result.seen.contrasts),
        "diffs": len(result.seen.diffs.keys() & result.seen.contrasts.keys()),
        "words": len(result.seen.diffs.keys() - result.seen.contrasts.keys()),
        "dead_letters": len(result.seen.dead_letters),
        "selections_unmatched": result.selections - len(result.seen.contrasts),
        "users": len({user for user, _ in result.skills}),
        "slim_skills": len(tokens),
        "slim_tokens_max": max(tokens, default=0),
        **_hits(result.before, "before"),
        **_hits(result.after, "after"),
        "held_back": result.after.choices,
        "agreement_before": round(agreement[0], 4) if agreement else None,
        "agreement_after": round(agreement[1], 4) if agreement else None,
        "by_seen": {
            point.seen: {
                "choices": point.choices,
                "hit_at_1": round(point.learned, 4),
                "hit_at_1_prior": round(point.prior, 4),
            }
            for point in result.curve
        },
        "fold_agrees": result.fold_agrees,
        "contrasts_per_second": round(len(result.seen.contrasts) / max(result.evolve_seconds, 0.001), 1),
        "evolve_seconds": round(result.evolve_seconds, 2),
        "seconds": round(result.seconds, 2),
        "duckdb": str(result.duckdb),
        "llm": None if result.llm is None else _llm(result.llm),
    }


def _llm(costs: Costs) -> dict[str, Any]:
    http = costs.http
    return {
        "model": costs.model,
        "asked": costs.asked,
        "answered": costs.by(Who.LLM),
        "valid_share": round(costs.valid_share, 4),
        "gated": costs.by(Who.GATED),
        "nothing_to_ask": costs.by(Who.NOTHING_TO_ASK),
        "fallback": costs.by(Who.FALLBACK),
        "dead_letters": costs.dead_letters,
        "repaired_ids": costs.repaired_ids,
        "repaired_rankings": costs.repaired_rankings,
        "other_form": costs.other_form,
        "extra_calls": sum(each.extra_calls for each in costs.prompts),
        "usd": round(math.fsum(costs.usd), USD_DIGITS),
        "prompts": [{**vars(each), "usd": round(each.usd, USD_DIGITS)} for each in costs.prompts],
        "jobs": {job.value: {who.value: by.get(who, 0) for who in Who} for job, by in costs.jobs.items()},
        "http": http and {**vars(http), "usd": round(costs.http_usd, USD_DIGITS)},
        "calls": [
            {
                "user": one.user_id,
                "domain": one.domain,
                "job": one.job.value,
                "prompt": one.by.prompt,
                "calls": one.by.calls,
                "prompt_tokens": one.by.prompt_tokens,
                "completion_tokens": one.by.completion_tokens,
                "ms": one.by.latency_ms,
                "usd": round(usd, USD_DIGITS),
            }
            for one, usd in zip(costs.questions, costs.usd, strict=True)
            if one.by.calls
        ],
    }


def _hits(hits: Hits, when: str) -> dict[str, float]:
    return {
        f"hit_at_1_{when}": round(hits.at_1, 4),
        f"hit_at_3_{when}": round(hits.at_3, 4),
        f"hit_at_5_{when}": round(hits.at_5, 4),
    }


def show(result: Result, scenario: Scenario, console: Console, *, all_calls: bool = False) -> None:
    """The run as tables: a few users first, then the figures, what an LLM cost, and what to try next."""
    for key in _telling(result):
        console.print(_user(result, scenario, key))
    console.print(_curve(result.curve))
    console.print(_figures(result))
    if result.llm is not None:
        facts = _llm(result.llm)
        console.print(_calls(facts["calls"], all_calls, result.llm.priced))
        console.print(_prompts(facts, result.llm.priced))
        console.print(_answers(facts))
    console.print(_next(result))


def _telling(result: Result) -> list[tuple[str, str]]:
    """Users to show: those who moved most, one per domain first."""
    moved = sorted(
        result.skills,
        key=lambda key: -sum(a.tier >= Tier.MEDIUM and a.source == "discovered" for a in result.skills[key].attributes),
    )
    chosen: list[tuple[str, str]] = []
    for once in (True, False):
        for key in moved:
            if len(chosen) < SHOWN_USERS and key not in chosen and (not once or key[1] not in {d for _, d in chosen}):
                chosen.append(key)
    return chosen


def _user(result: Result, scenario: Scenario, key: tuple[str, str]) -> RenderableType:
    skill, first = result.skills[key], result.firsts[key]
    table = Table(box=None, padding=(0, 2), expand=True)
    table.add_column("before: the prior", ratio=1)
    table.add_column(f"after {skill.contrasts} choices", ratio=1)
    table.add_row(_lines(first.seed or ()), _lines(skill.attributes))
    parts: list[RenderableType] = [table, Text()]
    recent = [d for d in result.seen.diffs.values() if (d.user_id, d.domain) == key and d.changes]
    recent.sort(key=lambda diff: diff.version)
    parts.extend(_diff(diff) for diff in recent[-SHOWN_DIFFS:])
    slim = result.seen.slims.get(key)
    if slim is not None:
        parts.append(Text.assemble("slim skill  ", (slim.text, "bold"), f"  ({slim.tokens} tokens)"))
    if isinstance(scenario, Simulated):
        parts.append(Text(f"hidden policy  {', '.join(scenario.wants(key[0]))}", style="dim"))
    return Panel(Group(*parts), title=f"{key[0]} · {key[1]}", title_align="left")


def _lines(attributes: tuple[Attribute, ...]) -> Text:
    lines = sorted(attributes, key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    styles = {Tier.HIGH: "bold green", Tier.MEDIUM: "green", Tier.LOW: "dim"}
    lines = [line for line in lines if line.tier]
    text = Text("\n").join(Text(line_of(a), style=styles[a.tier]) for a in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        text.append(f"\n  and {len(lines) - SHOWN_LINES} more", style="dim")
    return text


def _diff(diff: SkillDiff) -> Text:
    text = Text(f"v{diff.version}  chose {diff.evidence.item_id}: ", style="cyan")
    told = []
    for change in diff.changes:
        if change.kind is ChangeKind.DISCOVERED:
            told.append(f"discovered {change.attribute_id}")
        elif change.kind is ChangeKind.EVICTED:
            told.append(f"evicted {change.attribute_id}")
        elif change.before != change.after:
            told.append(f"{change.kind.value} {change.attribute_id} {change.before}→{change.after}")
    text.append("; ".join(told) or "confirmed what was known", style="default")
    return text


def _curve(points: Sequence[Point]) -> Table:
    """Hit rates by choices seen as bars, one above the other: with what was learned, and with the prior alone."""
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
    table = Table(title="What happened", title_justify="left")
    table.add_column("figure")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for top in (1, 3, 5):
        table.add_row(
            f"hit rate at {top}, {result.after.choices} held-back choices",
            f"{facts[f'hit_at_{top}_before']:.3f}",
            f"{facts[f'hit_at_{top}_after']:.3f}",
        )
    if result.agreement:
        table.add_row("hidden policy found", f"{result.agreement[0]:.0%}", f"{result.agreement[1]:.0%}")
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


def _calls(calls: list[dict[str, Any]], every: bool, priced: bool) -> Table:
    shown = calls if every else calls[-SHOWN_CALLS:]
    more = "" if len(shown) == len(calls) else f", the last {len(shown)} of {len(calls)}; --calls shows all"
    table = Table(title=f"Questions that the LLM answered{more}", title_justify="left")
    table.add_column("user")
    table.add_column("prompt")
    for column in ("calls", "tokens in", "tokens out", "ms", *["USD"][: int(priced)]):
        table.add_column(column, justify="right")
    for one in shown:
        usd = [f"{one['usd']:.6f}"] if priced else []
        cells = (one["calls"], one["prompt_tokens"], one["completion_tokens"], one["ms"])
        table.add_row(Text(one["user"]), Text(str(one["prompt"])), *map(str, cells), *usd)
    return table


def _prompts(facts: dict[str, Any], priced: bool) -> Table:
    table = Table(title=Text(f"What each prompt cost, by {facts['model']}", style="table.title"), title_justify="left")
    table.add_column("prompt")
    for column in ("answered", "calls", "tokens in", "tokens out", "median ms", "p95 ms", *["USD"][: int(priced)]):
        table.add_column(column, justify="right")
    for each in facts["prompts"]:
        names = ("answered", "calls", "prompt_tokens", "completion_tokens", "median_ms", "p95_ms")
        usd = [f"{each['usd']:.6f}"] if priced else []
        table.add_row(Text(each["prompt"]), *(f"{each[name]:,}" for name in names), *usd)
    if priced:
        evolved = facts["jobs"].get("evolve", {}).get(Who.LLM.value, 0)
        table.caption = f"{facts['usd']:.6f} USD in all" + (
            f", {facts['usd'] / evolved:.6f} per choice that the LLM judged" if evolved else ""
        )
    else:
        table.caption = "for USD set SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION"
    return table


def _answers(facts: dict[str, Any]) -> Group:
    """Who answered what an LLM was configured for, and how well."""
    table = Table(title="Who answered", title_justify="left")
    table.add_column("wanted for")
    for who in Who:
        table.add_column(who.value.replace("-", " "), justify="right")
    for job, by in facts["jobs"].items():
        total = max(1, sum(by.values()))
        table.add_row(job, *(f"{by[who.value]} ({by[who.value] / total:.0%})" for who in Who))
    http = facts["http"] or {"outcomes": {}}
    outcomes = [f"{prompt}: {count} {how}" for prompt, by in http["outcomes"].items() for how, count in by.items()]
    health = Table(title="How well", title_justify="left")
    health.add_column("figure")
    health.add_column("value", justify="right")
    for name, value in (
        ("valid replies", f"{facts['valid_share']:.1%} of {facts['asked']} questions"),
        ("calls beyond the first: retries, corrections", facts["extra_calls"]),
        ("dead letters", facts["dead_letters"]),
        ("ids repaired", f"{facts['repaired_ids']} in {facts['repaired_rankings']} rankings"),
        ("rankings in another form than wanted", facts["other_form"]),
        *(("HTTP calls", told) for told in outcomes),
    ):
        health.add_row(name, Text(str(value)))
    return Group(table, health)


def _next(result: Result) -> Group:
    user = next(iter(_telling(result)), ("", ""))[0]
    parts: list[RenderableType] = [
        Text(f"DuckDB file: {result.duckdb}", style="bold"),
        Text(f"Ask it: sager sql --duckdb {shlex.quote(str(result.duckdb))}", style="bold"),
        Text("Try, for instance:"),
    ]
    for what, query in QUERIES.items():
        parts.append(Text(f"  -- {what}", style="dim"))
        parts.extend(Text(f"  {line.strip()}") for line in f"{query};".format(user=user).strip().splitlines())
    return Group(*parts)

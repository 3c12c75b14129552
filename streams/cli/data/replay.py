"""`sager replay`: the skills that other settings or another model would teach."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, examples, moment_ms, reachable, settings
from streams.cli.output import console, json_text, note, print_json, row, table

if TYPE_CHECKING:
    from streams.settings import Settings
    from streams.whatif.replay import Report, Totals

MEASURES = {
    "hit_at_1": "hit rate at 1",
    "hit_at_3": "hit rate at 3",
    "hit_at_5": "hit rate at 5",
    "ndcg_at_5": "NDCG@5",
    "reciprocal_rank": "MRR",
}
FIGURES = (
    ("choices learned from", "learned", ",.0f"),
    ("lines per skill", "lines", ".1f"),
    ("tokens of a slim skill", "slim_tokens", ".1f"),
    ("LLM calls", "llm_calls", ",.0f"),
    ("LLM tokens in", "prompt_tokens", ",.0f"),
    ("LLM tokens out", "completion_tokens", ",.0f"),
    ("LLM cost in dollars", "cost_dollars", ",.2f"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "replay",
        short_help="Replay past choices with other settings, and compare.",
        epilog=examples(
            "sager replay --set merge.weaken_window=2 --since 7d",
            "sager replay --set reasoner=llm --set llm_model=small-model --domain films --limit 500",
            "sager replay --set evolve_mode=incremental --user ann --json",
        ),
    )(replay)


def replay(
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A setting to change.", metavar="NAME=VALUE")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Choices since then: 30m, 24h, 7d, or a moment as 2026-01-31T18:00.", metavar="WHEN"),
    ] = None,
    domain: Domain = None,
    user: Annotated[str | None, typer.Option(help="One user only.", metavar="USER")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="About so many choices, of whole users.", metavar="N")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A new file: one JSON line per choice.", metavar="FILE")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Replay past choices with other settings or another model, and compare with the live skills.

    Reads Kafka while workers keep running, and writes nothing to it. Before either side learns from a choice, both rank
    its candidates: which skill ranks the chosen item higher? An unknown name with --set prints all settings;
    docs/whatif.md explains the result. With an LLM every choice is one call: use --limit.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.whatif.replay import Chosen, replay_all  # noqa: PLC0415
    from streams.whatif.variant import variant_of  # noqa: PLC0415

    live = settings(bootstrap=bootstrap)
    variant = variant_of(live, changes or [])
    asked = Chosen(moment_ms(since) if since else 0, user, domain, limit)
    rows: list[dict[str, Any]] = []
    with Stages() as stages:
        report = replay_all(
            reachable(live),
            variant,
            asked,
            tell=lambda done, total, cost: stages.at("choices", done, total, cost),
            write=rows.append if out else lambda _: None,
        )
    if out is not None:
        out.touch(0o600, exist_ok=False)  # the rows name users
        out.write_text("".join(f"{json_text(each)}\n" for each in rows), encoding="utf-8")
    found = _as_json(report, live, variant.settings)
    if as_json:
        print_json(found)
    else:
        _show(report, found)


def _as_json(report: "Report", live: "Settings", other: "Settings") -> dict[str, Any]:
    from operators.whatif import differences  # noqa: PLC0415

    measures = differences(report.choices)
    better, worse = measures["ndcg_at_5"].better, measures["ndcg_at_5"].worse
    users = len({user for user, *_ in report.choices})
    return {
        **vars(report),
        "users": users,
        "choices": len(report.choices),
        "measures": {
            measure: {"live": d.live, "whatif": d.other, "difference": d.delta, "margin_95": d.margin}
            for measure, d in measures.items()
        },
        "users_by_ndcg_at_5": {
            "better": better,
            "worse": worse,
            "equal": users - better - worse,
        },
        "live": _totals(report.live, live, report.skills),
        "whatif": _totals(report.other, other, report.skills),
    }


def _totals(totals: "Totals", configured: "Settings", skills: int) -> dict[str, Any]:
    return {
        **vars(totals),
        "lines": totals.lines / skills,
        "slim_tokens": totals.slim_tokens / skills,
        "cost_dollars": configured.llm_cost(totals.prompt_tokens, totals.completion_tokens),
    }


def _show(report: "Report", found: dict[str, Any]) -> None:
    changed = ", ".join(f"{name}={value}" for name, value in report.changed.items()) or "nothing changed"
    made = table("figure", "live", "what-if", "difference", title=changed)
    for column in made.columns[1:]:
        column.justify = "right"
    for measure, told in found["measures"].items():
        delta, margin = told["difference"], told["margin_95"]
        sure = margin is not None and abs(delta) > margin
        cells = [
            f"{told['live']:.3f}",
            f"{told['whatif']:.3f}",
            f"{delta:+.3f}{'' if margin is None else f' ± {margin:.3f}'}",
        ]
        row(made, [MEASURES[measure], *cells], "bold" * sure)
    for figure, name, form in FIGURES:
        one, two = found["live"][name], found["whatif"][name]
        if one or two:
            row(made, [figure, f"{one:{form}}", f"{two:{form}}", f"{two - one:+{form}}"])
    console().print(made)
    signs = found["users_by_ndcg_at_5"]
    print(
        f"{found['choices']:,} choices of {found['users']:,} users; ± is a 95% interval by users. By NDCG@5 "
        f"{signs['better']:,} users do better, {signs['worse']:,} worse, {signs['equal']:,} equal"
    )
    print(f"{report.skills:,} skills, {report.identical:,} of which end alike")
    for count, what in (
        (report.skipped, "choices left out: the live skill has not learned from them, or not yet"),
        (report.missing, "live diffs whose event Kafka no longer has: the what-if goes on without them"),
        (report.broken, "skills left out because their log has a gap: see `sager rebuild`"),
        (report.unavailable, "choices from which the what-if learned nothing, because its model did not answer"),
    ):
        if count:
            note(f"{count:,} {what}")

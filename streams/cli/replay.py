"""`sager replay`: past choices with other settings or another model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, Since, connected_settings, examples, moment_ms
from streams.cli.output import ProgressBars, json_text, print_fields, print_json, print_rows

if TYPE_CHECKING:
    from streams.operations.whatif import ReplayReport, Totals
    from streams.settings import Settings

app = typer.Typer()


@app.command(
    epilog=examples(
        "sager replay --set evolve_mode=incremental --since 7d",
        "sager replay --set reasoner=llm --set llm_model=small-model --domain films --limit 500",
    ),
)
def replay(
    changes: Annotated[list[str] | None, typer.Option("--set", help="A changed setting.", metavar="NAME=VALUE")] = None,
    since: Since = None,
    domain: Domain = None,
    user: Annotated[str | None, typer.Option(help="One user only.", metavar="USER")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Whole users, up to about N choices.", metavar="N")] = None,
    out: Annotated[Path | None, typer.Option(help="A new file: one JSON line per choice.", metavar="FILE")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Replay past choices with other settings, and compare.

    Only reads Kafka. The live and the changed skills rank the candidates of a choice before they learn from it. An
    unknown name with --set prints all settings; docs/whatif.md explains the result. With an LLM, every choice costs one
    call.
    """
    from streams.operations.whatif import ReplayFilter, replay_all, variant_of  # noqa: PLC0415

    live = connected_settings(bootstrap)
    variant, changed = variant_of(live, changes or [])
    chosen = ReplayFilter(moment_ms(since), user, domain, limit)
    rows: list[dict[str, Any]] = []
    with ProgressBars() as progress:
        show_progress = partial(progress.update, "choices")
        report = replay_all(
            live, variant, chosen, on_progress=show_progress, write=rows.append if out else lambda _: None
        )
    if out is not None:
        out.touch(0o600, exist_ok=False)  # private, because the rows name users
        out.write_text("".join(f"{json_text(each)}\n" for each in rows), encoding="utf-8")
    found = {"changed": changed, **_as_json(report, live, variant)}
    if as_json:
        print_json(found)
    else:
        _show(found)


def _as_json(report: "ReplayReport", live: "Settings", other: "Settings") -> dict[str, Any]:
    from operators.whatif import differences  # noqa: PLC0415

    measures = differences(report.choices)
    better, worse = measures["ndcg_at_5"].better, measures["ndcg_at_5"].worse
    users = len({user for user, *_ in report.choices})
    equal = users - better - worse
    return {
        **vars(report),
        "users": users,
        "choices": len(report.choices),
        "measures": {
            measure: {"live": d.live, "whatif": d.other, "difference": d.delta, "margin_95": d.margin}
            for measure, d in measures.items()
        },
        "users_by_ndcg_at_5": {"better": better, "worse": worse, "equal": equal},
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


def _show(found: dict[str, Any]) -> None:
    rows = [{"figure": measure, **both} for measure, both in found["measures"].items()]
    for name, live in found["live"].items():
        other = found["whatif"][name]
        if live or other:
            difference = {"difference": other - live, "margin_95": None}
            rows.append({"figure": name, "live": live, "whatif": other, **difference})
    print_rows(rows, ", ".join(f"{name}={value}" for name, value in found["changed"].items()) or "nothing changed")
    print(f"{found['choices']:,} choices of {found['users']:,} users, {found['skills']:,} skills")
    names = ("identical", "users_by_ndcg_at_5", "skipped", "missing", "broken", "unavailable")
    print_fields({name: found[name] for name in names})

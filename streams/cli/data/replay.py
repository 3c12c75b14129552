"""`sager replay`: what had become of skills with other knobs or another model."""

import re
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.moments import moment_ms
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table

if TYPE_CHECKING:
    from streams.settings import Settings
    from streams.whatif.report import Costs, Report


class Reasoner(StrEnum):
    """What turns a contrast into a diff."""

    RULES = "rules"
    LLM = "llm"


MEASURES = {
    "hit_at_1": "hit rate at 1",
    "hit_at_3": "hit rate at 3",
    "hit_at_5": "hit rate at 5",
    "ndcg_at_5": "NDCG@5",
    "reciprocal_rank": "MRR",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "replay",
        short_help="Replay past choices with other knobs, and compare.",
        epilog=examples(
            "sager replay --set merge.weaken_window=2 --since 7d",
            "sager replay --reasoner llm --set llm_model=small-model --domain films --limit 500",
            "sager replay --set evolve_mode=replace --user ann --json",
        ),
    )(replay)


def replay(
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="A knob to change; repeat for more.", metavar="NAME=VALUE")
    ] = None,
    reasoner: Annotated[Reasoner | None, typer.Option(help="What reasons.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Choices since then: 30m, 24h, 7d, or a moment as 2026-01-31T18:00.", metavar="WHEN"),
    ] = None,
    domain: Domain = None,
    user: Annotated[str | None, typer.Option(help="One user only.", metavar="USER")] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="About so many choices, of whole users drawn by name.", metavar="N")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The replay's name. [the moment]", metavar="NAME")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The DuckDB file for its rows. [DATA_DIR/replays/NAME.duckdb]", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Replay past choices with other knobs or another model, and compare with the live skills.

    Reads contrasts, skill-commands and the log from Kafka while workers keep running; writes one DuckDB file and
    nothing else. Both sides start alike. Before either learns from a choice, both rank its candidates: whose skill
    puts what the user took higher? Knobs are the settings of learning and ranking, the limits of the merge
    (merge.weaken_window) and the numbers of the rules (rules.discoveries); an unknown name lists all of them. Without
    any knob both sides must end alike. docs/whatif.md explains what the answer is worth.

    Memory: the encoded choices of the largest partition. With an LLM every choice is one call: bound them by --limit.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.whatif.arms import knobs_of, parsed  # noqa: PLC0415
    from streams.whatif.reading import Chosen  # noqa: PLC0415
    from streams.whatif.run import replay_all  # noqa: PLC0415

    chosen = settings(bootstrap=bootstrap)
    changed = parsed(changes or []) | ({"reasoner": reasoner.value} if reasoner else {})
    knobs = knobs_of(chosen, changed)
    named = _name(name)
    file = out or chosen.data_dir / "replays" / f"{named}.duckdb"
    asked = Chosen(moment_ms(since) if since else 0, user, domain, limit)
    with Stages() as stages:
        report = replay_all(
            reachable(chosen),
            knobs,
            asked,
            name=named,
            out=file,
            tell=lambda done, total, cost: stages.at("choices", done, total, cost),
        )
    if as_json:
        print_json(_as_json(report, chosen, knobs.settings))
    else:
        _show(report, chosen, knobs.settings)


def _name(given: str | None) -> str:
    if given is None:
        return f"replay-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}", given):
        raise typer.BadParameter("a name is made of letters, digits, `_`, `.` and `-`, at most 80")
    return given


def _as_json(report: "Report", live: "Settings", other: "Settings") -> dict[str, Any]:
    from operators.whatif import sign_test  # noqa: PLC0415

    better, worse, alike = report.tally.signs()
    return {
        "name": report.name,
        "changed": dict(report.changed),
        "file": str(report.file),
        "users": report.tally.users,
        "skills": report.skills,
        "identical": report.identical,
        "choices": report.tally.choices,
        "commands": report.commands,
        "pending": report.pending,
        "missing": report.missing,
        "broken": report.broken,
        "unavailable": report.unavailable,
        "measures": {
            measure: {"live": d.live, "whatif": d.other, "difference": d.delta, "margin_95": d.margin}
            for measure, d in report.tally.differences().items()
        },
        "users_by_ndcg_at_5": {"better": better, "worse": worse, "alike": alike, "p": sign_test(better, worse)},
        "live": _side_as_json(report.live, report.live_sizes, live, report.skills),
        "whatif": _side_as_json(report.other, report.other_sizes, other, report.skills),
    }


def _side_as_json(costs: "Costs", sizes: Any, configured: "Settings", skills: int) -> dict[str, Any]:
    return {
        "learned": costs.learned,
        "lines_per_skill": sizes.lines / skills,
        "slim_tokens": sizes.slim_tokens / skills,
        "llm_calls": costs.calls,
        "prompt_tokens": costs.prompt_tokens,
        "completion_tokens": costs.completion_tokens,
        "cost_dollars": configured.llm_cost(costs.prompt_tokens, costs.completion_tokens),
        "fallbacks": costs.fallbacks,
    }


def _show(report: "Report", live: "Settings", other: "Settings") -> None:
    from operators.whatif import sign_test  # noqa: PLC0415

    told = _as_json(report, live, other)
    changed = ", ".join(f"{name}={value}" for name, value in report.changed.items()) or "nothing changed"
    made = table("figure", "live", "what-if", "difference", title=f"{report.name}: {changed}")
    for column in made.columns[1:]:
        column.justify = "right"
    for measure, d in report.tally.differences().items():
        margin = "" if d.margin is None else f" ± {d.margin:.3f}"
        sure = d.margin is not None and abs(d.delta) > d.margin
        row(made, [MEASURES[measure], f"{d.live:.3f}", f"{d.other:.3f}", f"{d.delta:+.3f}{margin}"], "bold" * sure)
    sides = (told["live"], told["whatif"])
    for figure, name, form in (
        ("choices learned from", "learned", ",.0f"),
        ("lines per skill", "lines_per_skill", ".1f"),
        ("tokens of a slim skill", "slim_tokens", ".1f"),
        ("LLM calls", "llm_calls", ",.0f"),
        ("LLM tokens in", "prompt_tokens", ",.0f"),
        ("LLM tokens out", "completion_tokens", ",.0f"),
        ("LLM cost in dollars", "cost_dollars", ",.2f"),
        ("judged by rules instead", "fallbacks", ",.0f"),
    ):
        one, two = (side[name] for side in sides)
        if one or two:
            row(made, [figure, f"{one:{form}}", f"{two:{form}}", f"{two - one:+{form}}"])
    console().print(made)
    better, worse, alike = report.tally.signs()
    chance = sign_test(better, worse)
    told_chance = "p < 0.001" if chance < 0.001 else f"p = {chance:.3f}"  # noqa: PLR2004 - three digits
    print(
        f"{report.tally.choices:,} choices of {report.tally.users:,} users; ± is a 95% interval by users. By NDCG@5 "
        f"{better:,} users fare better, {worse:,} worse, {alike:,} alike (sign test: {told_chance})"
    )
    print(f"{report.skills:,} skills, {report.identical:,} of which end alike; rows: {report.file}")
    for count, what in (
        (report.pending, "choices that the workers have not come to yet, or passed over last: left out"),
        (report.missing, "live diffs whose event is not at hand any more: the what-if did without"),
        (report.broken, "skills left out, whose log has a gap: see `sager rebuild`"),
        (report.unavailable, "choices from which the what-if learned nothing, because its model had no answer"),
    ):
        if count:
            note(f"{count:,} {what}")

"""`sager eval online`: how skills grow while they are used, through a pipeline of its own."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.evaluation.report import RESULTS
from streams.cli.extras import need_eval
from streams.cli.options import AsJson
from streams.cli.options import settings as configured
from streams.cli.output import console, note, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.online.plan import Plan
    from evaluation.online.play import Played
    from evaluation.store import Store
    from streams.cli.progress import Stages

ARMS: Mapping[str, Mapping[str, str]] = {
    "sager": {"rank_skill": "full"},
    "sager-rules": {"rank_skill": "full", "evolve_mode": "incremental"},
    "no-skill": {"rank_skill": "none"},
}
"""The settings of each."""
DEFAULT_ARMS = "sager,no-skill"
USERS, CHOICES, IMPORTED = 60, 40, 3
PUBLISH_SECONDS = 60.0
"""Nobody reads the DuckDB file meanwhile."""


@dataclass(frozen=True)
class _Run:
    """An arm, and what came of it."""

    arm: str
    played: "Played"


def online(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with the data set's files, as of `sager import`.")],
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = USERS,
    arm: Annotated[
        list[str] | None,
        typer.Option(help="By comma or repeated. [default: sager,no-skill]", metavar="NAME"),
    ] = None,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = CHOICES,
    imported: Annotated[int, typer.Option(min=1, help="A user's first visits, which are history.", metavar="N")] = (
        IMPORTED
    ),
    others: Annotated[
        int, typer.Option(min=0, help="Users beside them, who have a history and choose nothing.", metavar="N")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the sample, the draws and the presentation.")] = 0,
    domain: Annotated[
        str | None, typer.Option(help="What the items are, instead of what they say themselves.", metavar="DOMAIN")
    ] = None,
    results: Annotated[Path, typer.Option(help="The DuckDB file that keeps the curves.", metavar="FILE")] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Let users choose one item after another through a running pipeline, and see how the first place is hit.

    Each arm has a pipeline of its own: the embedded broker, a worker, the materializer. A ranking of what a user took
    next and nine items that they never met is asked for; they take it, the skill evolves, and the next one is asked
    for. sager ranks with the skill, sager-rules with one that learns by the former rules (SAGER_EVOLVE_MODE), no-skill
    without (SAGER_RANK_SKILL); all see the same candidates. All other settings are those of the environment.

    Users go through their choices side by side, each in their own order: what others took later by the calendar may
    reach a user through the graph, in both arms alike.

    With --json: one object per arm and line. `sager eval report` draws the curves that were kept.
    """
    names = [name.strip() for each in arm or (DEFAULT_ARMS,) for name in each.split(",") if name.strip()]
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in ARMS:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(ARMS)}", ctx, param_hint="--arm")
    need_eval("numpy", "scipy")
    from evaluation.online.plan import plan  # noqa: PLC0415
    from evaluation.store import Store  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    store = Store(results)
    made = plan(data, users, seed, imported=imported, most=choices, others=others, domain=domain)
    # Ended by a signal or not, the processes that we started are ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    done = []
    with Stages() as stages:
        for name in names:
            run = _Run(name, _play(made, name, stages))
            done.append(run)
            _keep(store, made, run, seed, {"choices": choices, "imported": imported, "others": others})
            if as_json:
                _print_line(made, run, seed)
    if not as_json:
        _show(made, done, seed)


def _play(made: "Plan", name: str, stages: "Stages") -> "Played":
    """Play with one arm. The folder with the logs stays where that fails."""
    from evaluation.online.play import Play  # noqa: PLC0415
    from streams.local.launch import Local  # noqa: PLC0415

    folder = Path(tempfile.mkdtemp(prefix=f"sager-online-{name}-"))
    settings = configured(data_dir=folder, publish_seconds=PUBLISH_SECONDS, **ARMS[name])
    # A frozen skill gives no diff to wait for.
    settings = settings.model_copy(update={"warmup_rounds": None})
    note(f"{name}: starting broker, worker and materializer")
    with Local(settings) as local:
        played = Play(made, local, lambda stage, at, total: stages.at(f"{name}: {stage}", at, total)).run()
    shutil.rmtree(folder, ignore_errors=True)
    return played


def _keep(store: "Store", made: "Plan", run: _Run, seed: int, settings: Mapping[str, int]) -> None:
    from evaluation.kept import Curve, CurvePoint  # noqa: PLC0415
    from evaluation.online.curve import curve  # noqa: PLC0415

    points = tuple(
        CurvePoint(point.contrasts_seen, point.users, point.hit_at_1, *point.ci95)
        for point in curve(run.played.places, seed)
    )
    store.add_curve(Curve(made.data, "uniform", seed, run.arm, points), {"users": len(made.choices), **settings})


def _print_line(made: "Plan", run: _Run, seed: int) -> None:
    from evaluation.online.curve import curve, label  # noqa: PLC0415

    played = run.played
    told = {
        "arm": run.arm,
        "data": made.data,
        "users": len(made.choices),
        "choices": made.total,
        "seed": seed,
        "curve": [
            {
                "contrasts_seen": label(point.contrasts_seen),
                "users": point.users,
                "choices": point.choices,
                "hit_at_1": round(point.hit_at_1, 4),
                "ci95_hit_at_1": [round(bound, 4) for bound in point.ci95],
            }
            for point in curve(played.places, seed)
        ],
        "behind": played.behind,
        "import_seconds": round(played.import_seconds, 2),
        "seconds": round(played.seconds, 2),
        "choices_per_second": round(made.total / played.seconds, 2),
        "places": played.places,
    }
    print_json_line(told)


def _show(made: "Plan", done: list[_Run], seed: int) -> None:
    from evaluation.online.curve import curve, label, less  # noqa: PLC0415

    points = {run.arm: {point.contrasts_seen: point for point in curve(run.played.places, seed)} for run in done}
    compared: Mapping[int, Any] = less(done[0].played.places, done[1].played.places, seed) if len(done) > 1 else {}
    headings = [f"{run.arm}: Hit@1 [95 %]" for run in done]
    if compared:
        headings += [f"{done[0].arm} less {done[1].arm}", "p"]
    made_table = table(
        *("contrasts seen", "users", "choices", *headings),
        title=f"{made.data}: {len(made.choices):,} users, {made.total:,} choices, seed {seed}",
        caption="each user counts the same; 95 %: bootstrap over users; p: of no difference, by sign flips over users",
    )
    for start, first in points[done[0].arm].items():
        cells = [label(start), f"{first.users:,}", f"{first.choices:,}"]
        cells += ["{:.3f} [{:.3f}, {:.3f}]".format(each[start].hit_at_1, *each[start].ci95) for each in points.values()]
        if start in compared:
            found = compared[start]
            cells += ["{:+.3f} [{:+.3f}, {:+.3f}]".format(found.difference, *found.ci95), f"{found.p:.3f}"]
        row(made_table, cells)
    console().print(made_table)
    for run in done:
        played = run.played
        console().print(
            f"{run.arm}: {made.total / played.seconds:,.1f} choices per second in {played.seconds:,.1f} s, after "
            f"{played.import_seconds:,.1f} s of history; rankings with a skill that lagged: {played.behind:,}"
        )

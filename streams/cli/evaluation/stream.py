"""`sager eval stream`: how well skills rank while they learn, choice after choice, by the worker's own steps."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.extras import need_eval
from streams.cli.options import AsJson
from streams.cli.output import console, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.stream.figures import Difference
    from evaluation.stream.plan import Plan
    from evaluation.stream.play import By, Played

ARMS = "no-skill,prior,rules,sager"
USERS, CHOICES = 200, 32
BAR = 24


@dataclass(frozen=True)
class _Game:
    """A plan, and what came of it with each arm."""

    plan: "Plan"
    played: "list[Played]"


def stream(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with the data set's files, as of `sager import`.")],
    history: Annotated[
        str, typer.Option(help="How many of a user's first visits are history; several by comma.", metavar="N")
    ] = "3",
    candidates: Annotated[
        str,
        typer.Option(
            help="Who stands beside the taken item: uniform, popular, exposed; several by comma.", metavar="LISTS"
        ),
    ] = "uniform",
    arm: Annotated[str, typer.Option(help="By comma: no-skill, prior, rules, sager.", metavar="NAME")] = ARMS,
    by: Annotated[
        str,
        typer.Option(
            help="What ranks: skill (alone), mix (the sum with weights as learned), fixed (the sum with a new domain's "
            "weights); several by comma.",
            metavar="WHAT",
        ),
    ] = "mix",
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = USERS,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = CHOICES,
    seed: Annotated[int, typer.Option(help="Of the sample, the draws and the interleaving.")] = 0,
    domain: Annotated[
        str | None, typer.Option(help="What the items are, instead of what they say themselves.", metavar="DOMAIN")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let users choose one item after another, and see how often it was ranked first, by how much was learned before.

    A user's first visits are history, the following ones are choices among ten: beside what they took next stand items
    that they never take, drawn uniformly, by popularity (popular), or as a recommender would show them (exposed: the
    ten best of thirty popular ones; where the taken one is not among them, it is learned from without a list and not
    measured). Users come in a random interleaving. Skills and weights learn by the steps of the worker's agents, in
    this process: no broker is needed. What the community knows is everybody's whole history, without the user's own.

    no-skill: the community alone. prior: the skill that the history gives, frozen. rules: one tier a choice, by the
    former reasoner. sager: the product as it ships.

    With --json: one object per arm and line: `hit_at_1`, `ndcg_at_5`, `mrr` over all choices, `by_seen` (Hit@1 by the
    number of choices seen before), `minus` (the difference to each other arm, with its 95 % interval over users) and
    `growth` (the lead over `prior` after 17 choices and more, minus that after one).
    """
    from evaluation.stream.lists import Lists  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    need_eval("numpy", "scipy")
    from evaluation.exceptions import UnknownArm  # noqa: PLC0415
    from evaluation.stream.arms import known  # noqa: PLC0415
    from evaluation.stream.plan import plans  # noqa: PLC0415
    from evaluation.stream.play import By, Play  # noqa: PLC0415

    kinds = [_named(Lists, name, "--candidates", ctx) for name in _split(candidates)]
    measured = [_named(By, name, "--by", ctx) for name in _split(by)]
    histories = [_whole(name, ctx) for name in _split(history)]
    try:
        arms = known(_split(arm))
    except UnknownArm as error:
        raise typer.BadParameter(str(error), ctx, param_hint="--arm") from error
    if not (arms and kinds and measured and histories):
        raise typer.BadParameter("name at least one", ctx)
    with Stages() as stages:
        made = plans(
            data,
            kinds,
            histories,
            users,
            most=choices,
            seed=seed,
            domain=domain,
            progress=lambda done, total, stage="reading": stages.at(stage, done, total),
        )
        for plan in made:
            game = _Game(plan, [])
            for each in arms:
                stage = f"{plan.lists.value}, history {plan.history}: {each.name}"
                play = Play(each, plan, measured, seed)
                game.played.append(
                    asyncio.run(play.run(lambda done, total, _="", at=stage: stages.at(at, done, total)))
                )
            for what in measured:
                if as_json:
                    for line in _lines(game, what, seed):
                        print_json_line(line)
                else:
                    _show(game, what, seed)


def _split(names: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def _named(kind: Any, name: str, option: str, ctx: typer.Context) -> Any:
    try:
        return kind(name)
    except ValueError as error:
        told = ", ".join(kind)
        raise typer.BadParameter(f"{name!r} is none of {told}", ctx, param_hint=option) from error


def _whole(text: str, ctx: typer.Context) -> int:
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is no number of visits", ctx, param_hint="--history")
    return int(text)


def _lines(game: _Game, by: "By", seed: int) -> Iterator[dict[str, Any]]:
    """Each arm's line."""
    from evaluation.stream.arms import PRIOR  # noqa: PLC0415
    from evaluation.stream.figures import figures, growth, minus  # noqa: PLC0415

    priors = [played for played in game.played if played.arm == PRIOR]
    for played in game.played:
        found = figures(played, by)
        grown = growth(played, priors[0], by, seed) if priors and played is not priors[0] else None
        yield {
            "arm": played.arm,
            "data": game.plan.data,
            "candidates": game.plan.lists.value,
            "history": game.plan.history,
            "by": by.value,
            "users": found.users,
            "choices": found.choices,
            "hit_at_1": round(found.hit_at_1, 4),
            "ndcg_at_5": round(found.ndcg_at_5, 4),
            "mrr": round(found.mrr, 4),
            "by_seen": {name: round(bucket.hit_at_1, 4) for name, bucket in found.by_seen.items()},
            "choices_by_seen": {name: bucket.choices for name, bucket in found.by_seen.items()},
            "minus": {
                other.arm: _difference(minus(played, other, by, seed)) for other in game.played if other is not played
            },
            "growth": None if grown is None else _difference(grown),
            "cpu_ms_per_choice": round(played.cpu_ms_per_choice, 3),
            "seed": seed,
        }


def _difference(found: "Difference") -> dict[str, Any]:
    return {
        "difference": round(found.difference, 4),
        "ci95": None if found.ci95 is None else [round(bound, 4) for bound in found.ci95],
    }


def _show(game: _Game, by: "By", seed: int) -> None:
    from evaluation.stream.arms import PRIOR  # noqa: PLC0415
    from evaluation.stream.figures import BUCKETS, chart, figures, growth, minus  # noqa: PLC0415

    plan, against = game.plan, game.played[0]
    priors = [played for played in game.played if played.arm == PRIOR]
    found = {played.arm: figures(played, by) for played in game.played}
    first = found[against.arm]
    made = table(
        *("arm", "Hit@1", "NDCG@5", "MRR", f"Hit@1 less {against.arm}", "growth over prior", "CPU ms a choice"),
        title=f"{plan.data}, {plan.lists.value} lists, {plan.history} visits of history, by {by.value}: "
        f"{first.users:,} users, {first.choices:,} choices, seed {seed}",
        caption="intervals: 95 %, bootstrap over users; growth: the lead over prior after 17 choices and more, minus "
        "that after one",
    )
    for played in game.played:
        numbers = found[played.arm]
        grown = growth(played, priors[0], by, seed) if priors and played is not priors[0] else None
        row(
            made,
            [
                played.arm,
                *(f"{value:.3f}" for value in (numbers.hit_at_1, numbers.ndcg_at_5, numbers.mrr)),
                "" if played is against else _told(minus(played, against, by, seed)),
                "" if grown is None else _told(grown),
                f"{played.cpu_ms_per_choice:.2f}",
            ],
        )
    console().print(made)
    held = [name for name in BUCKETS if any(name in numbers.by_seen for numbers in found.values())]
    hits = {
        name: [bucket.hit_at_1 if (bucket := numbers.by_seen.get(name)) else None for numbers in found.values()]
        for name in held
    }
    drawn = table("choices seen", "choices", "arm", "Hit@1", "", title="Hit@1 by choices seen before")
    for name, bars in chart(hits, BAR):
        for place, (arm, bar) in enumerate(zip(found, bars, strict=True)):
            value = hits[name][place]
            several = first.by_seen[name].choices if name in first.by_seen else 0
            lead = [name, f"{several:,}"] if not place else ["", ""]
            row(drawn, [*lead, arm, "" if value is None else f"{value:.3f}", bar])
    console().print(drawn)


def _told(found: "Difference") -> str:
    if found.ci95 is None:
        return f"{found.difference:+.3f}"
    return "{:+.3f} [{:+.3f}, {:+.3f}]".format(found.difference, *found.ci95)

"""`sager eval feedback`: how fast a person is understood who answers in words, before and after their taste shifts."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.evaluation.told import passes_of, phases_of, reliabilities_of
from streams.cli.options import AsJson
from streams.cli.output import console, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.feedback.others import Others
    from evaluation.feedback.play import Played
    from evaluation.feedback.scenarios import Scenarios
    from evaluation.feedback.skills import Replies, Skills
    from streams.cli.progress import Stages

PASSES = 3


@dataclass
class _Run:
    """What was played.

    Attributes:
        played: the protocol.
        skills: who learned in it.
        others: what was said of others meanwhile.
        asking: one pass over the first phase with a question allowed per scenario.
        silent: the same without; the first pass of `played` if that is without.
        remembers: the protocol with the learner that only remembers.
    """

    played: "Played"
    skills: "Skills"
    others: "Others"
    asking: "Played"
    silent: "Played"
    remembers: "Played"


def feedback(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with people.jsonl.gz and scenarios.jsonl.gz.", metavar="DIR")],
    replies: Annotated[
        str, typer.Option(help="How replies arrive: text (words alone) or structured (a form).", metavar="HOW")
    ] = "text",
    ask: Annotated[bool, typer.Option("--ask", help="Allow one question per scenario while learning.")] = False,
    passes: Annotated[int, typer.Option(min=1, help="How often each phase is gone through.", metavar="N")] = PASSES,
    people: Annotated[
        int | None, typer.Option(min=1, help="Only the first people. [default: all]", metavar="N")
    ] = None,
    broker: Annotated[
        bool, typer.Option("--broker", help="One pass through a pipeline of its own: broker, worker, materializer.")
    ] = False,
    diagram: Annotated[
        Path | None, typer.Option(help="Write the reliability diagram to this SVG file, too.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Let people choose among things and answer in words, and see how soon what they are offered is right.

    The protocol of PAHF (arXiv 2602.16173): passes of learning over a first phase with a test after each; then tastes
    shift, and the same over a second one. A person is offered one item or none; they say that it is right, or in one
    sentence why not. Success is the share of the test in which the offer is what the person wants. Skills learn by
    the steps of the worker's agents, in this process, without any model: no broker is needed.

    Beside it: what one question per scenario saves, how soon a shift is made good, whether what is not wanted is last
    in the very next ranking, whether anything is learned from what is said of others ("my daughter likes ..."), and
    how far the told chances can be relied on.

    With --broker it is one pass through a broker, a worker and a materializer of its own, everybody at the same time;
    the host offers what is ranked first. It tells how long a correction takes until the next ranking goes by it, too.

    With --json: one object per line, the last one with `phase_1` to `phase_4`: after each pass, the share right during
    it (1 and 3) and the success in the test behind it (2 and 4).
    """
    from evaluation.feedback.scenarios import read  # noqa: PLC0415
    from evaluation.feedback.skills import Replies  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415

    try:
        how = Replies(replies)
    except ValueError as error:
        told = ", ".join(Replies)
        raise typer.BadParameter(f"{replies!r} is none of {told}", ctx, param_hint="--replies") from error
    found = read(data).of(people)
    with Stages() as stages:
        if broker:
            from streams.cli.evaluation.piped import pipe  # noqa: PLC0415

            pipe(found, how, stages, asks=ask, as_json=as_json)
            return
        run = asyncio.run(_play(found, how, passes, stages, asks=ask))
    if diagram is not None:
        _draw(run, diagram)
    if as_json:
        for line in _lines(run, found, how):
            print_json_line(line)
    else:
        _show(run, found, how)


async def _play(found: "Scenarios", how: "Replies", passes: int, stages: "Stages", *, asks: bool) -> _Run:
    from evaluation.feedback.learners import Remembers  # noqa: PLC0415
    from evaluation.feedback.others import Others  # noqa: PLC0415
    from evaluation.feedback.play import Play  # noqa: PLC0415
    from evaluation.feedback.skills import Skills  # noqa: PLC0415

    skills = Skills(how)
    others = Others(skills)
    played = await Play(found, skills, passes, asks=asks, aside=others).run(stages.at)
    compared = {}
    for each, name in ((True, "with questions"), (False, "without")):
        tell = partial(_at, stages, name)
        compared[each] = await Play(found, Skills(how), 1, asks=each, phases=(1,)).run(tell)
    remembers = await Play(found, Remembers(), passes).run(partial(_at, stages, "yardstick"))
    return _Run(played, skills, others, compared[True], compared[False], remembers)


def _at(stages: "Stages", what: str, stage: str, done: int, total: int) -> None:
    stages.at(f"{what}: {stage}", done, total)


def _lines(run: _Run, found: "Scenarios", how: "Replies") -> list[dict[str, Any]]:
    from evaluation.feedback.figures import recovery  # noqa: PLC0415

    lines = [*passes_of(run.played), _clarified(run)]
    if (shift := recovery(run.played)) is not None:
        lines.append(
            {
                "line": "shift",
                "right_before": round(shift.before, 4),
                "right_at_first": round(shift.dropped, 4),
                "choices_until_recovered": shift.after,
            }
        )
    honoured = sum(each.is_last and each.is_named for each in run.skills.directed)
    lines += [
        {
            "line": "directives",
            "said": len(run.skills.directed),
            "honoured_at_once": round(honoured / max(1, len(run.skills.directed)), 4),
        },
        {"line": "others", "sentences": run.others.said, "lines_learned": run.others.learned},
        *reliabilities_of(run.played),
        {"line": "yardstick", "learner": "remembers", **phases_of(run.remembers)},
        {
            "line": "summary",
            **phases_of(run.played),
            "llm_calls": 0,
            "clarifications": sum(turn.asked for each in run.played.passes for turn in each.turns),
            "replies": how.value,
            "people": len({user_id for user_id, _ in found.persons()}),
            "persons_and_domains": len(found.persons()),
            "outcomes": {str(name): count for name, count in sorted(run.skills.outcomes.items())},
        },
    ]
    return lines


def _clarified(run: _Run) -> dict[str, Any]:
    asking, silent = run.asking.passes[0], run.silent.passes[0]
    return {
        "line": "clarify",
        "phase": asking.phase,
        "scenarios": len(asking.turns),
        "asked": sum(turn.asked for turn in asking.turns),
        "right_with": round(asking.right, 4),
        "right_without": round(silent.right, 4),
        "saved": round(asking.right - silent.right, 4),
        "success_with": round(asking.success, 4),
        "success_without": round(silent.success, 4),
    }


def _draw(run: _Run, file: Path) -> None:
    from evaluation.feedback.diagram import reliability  # noqa: PLC0415
    from evaluation.feedback.figures import all_turns, of_candidates, of_nothing  # noqa: PLC0415

    turns = all_turns(run.played)
    drawn = reliability({"a candidate suits": of_candidates(turns), "nothing suits": of_nothing(turns)})
    file.write_text(drawn, encoding="utf-8")


def _show(run: _Run, found: "Scenarios", how: "Replies") -> None:
    from evaluation.feedback.figures import recovery  # noqa: PLC0415
    from evaluation.feedback.scenarios import TESTS  # noqa: PLC0415

    users = {user_id for user_id, _ in found.persons()}
    made = table(
        *("phase", "pass", "right", "asked", "test", "success", "remembering alone"),
        title=f"{len(users):,} people, {len(found.persons()):,} tastes, replies as {how.value}, no model",
        caption="right: while learning; success: in the test, from which nothing is learned",
    )
    for each, yardstick in zip(run.played.passes, run.remembers.passes, strict=False):
        row(
            made,
            [
                *(each.phase, each.number, f"{each.right:.3f}", sum(turn.asked for turn in each.turns)),
                *(f"phase {TESTS[each.phase]}", f"{each.success:.3f}", f"{yardstick.success:.3f}"),
            ],
        )
    console().print(made)
    asked, shift = _clarified(run), recovery(run.played)
    honoured = sum(each.is_last and each.is_named for each in run.skills.directed)
    console().print(
        f"one question allowed per scenario, first pass: asked {asked['asked']:,} times, right "
        f"{asked['right_with']:.3f} instead of {asked['right_without']:.3f}"
    )
    if shift is not None:
        after = "not recovered" if shift.after is None else f"recovered after {shift.after} choices"
        console().print(f"after the shift: right {shift.dropped:.3f} at first, {shift.before:.3f} before; {after}")
    console().print(f"what people do not want is last and named at once: {honoured:,} of {len(run.skills.directed):,}")
    console().print(f"learned from {run.others.said:,} sentences about others: {run.others.learned:,} lines")
    for line in reliabilities_of(run.played):
        drawn = table("chance told", "came true", "cases", title=f"chance of {line['of']}")
        for each in line["bins"]:
            row(drawn, [f"{each['predicted']:.2f}", f"{each['came']:.2f}", f"{each['n']:,}"])
        console().print(drawn)

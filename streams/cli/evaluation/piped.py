"""`sager eval feedback --broker`: one pass of the protocol through a pipeline of its own."""

import asyncio
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any

from streams.cli.evaluation.told import passes_of, phases_of, reliabilities_of
from streams.cli.options import settings as configured
from streams.cli.output import console, note, print_json_line, row, table

if TYPE_CHECKING:
    from evaluation.feedback.piped import Piped
    from evaluation.feedback.play import Played
    from evaluation.feedback.scenarios import Scenarios
    from evaluation.feedback.skills import Replies
    from streams.cli.progress import Stages

PUBLISH_SECONDS = 60.0
"""Nobody reads the DuckDB file meanwhile."""
_TWENTIETHS = 20


def pipe(found: "Scenarios", how: "Replies", stages: "Stages", *, asks: bool, as_json: bool) -> None:
    """Play, and tell what came of it. The folder with the logs stays where that fails."""
    from streams.local.launch import Local  # noqa: PLC0415

    # Ended by a signal or not, the processes that we started are ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = Path(tempfile.mkdtemp(prefix="sager-feedback-"))
    generic = dict.fromkeys((domain for _, domain in found.persons()), "generic")
    settings = configured(data_dir=folder, publish_seconds=PUBLISH_SECONDS, parsers=generic)
    settings = settings.model_copy(update={"warmup_rounds": None})
    note("starting broker, worker and materializer")
    with Local(settings) as local:
        local.wait_until_ready()
        played, learner = asyncio.run(_play(local, found, how, stages, asks=asks))
    shutil.rmtree(folder, ignore_errors=True)
    lines = _lines(played, learner, found, how)
    if as_json:
        for line in lines:
            print_json_line(line)
    else:
        _show(played, lines)


async def _play(
    local: Any, found: "Scenarios", how: "Replies", stages: "Stages", *, asks: bool
) -> "tuple[Played, Piped]":
    from evaluation.feedback.piped import Piped, through  # noqa: PLC0415

    async with Piped(local, how) as learner:
        return await through(found, learner, asks=asks, tell=stages.at), learner


def _lines(played: "Played", learner: "Piped", found: "Scenarios", how: "Replies") -> list[dict[str, Any]]:
    honoured = sum(each.is_last and each.is_named for each in learner.directed)
    seconds = sorted(learner.seconds)
    return [
        *passes_of(played),
        {
            "line": "directives",
            "said": len(learner.directed),
            "honoured_at_once": round(honoured / max(1, len(learner.directed)), 4),
        },
        {
            "line": "latency",
            "corrections": len(seconds),
            "seconds_p50": round(seconds[len(seconds) // 2], 3) if seconds else None,
            "seconds_p95": round(quantiles(seconds, n=_TWENTIETHS)[-1], 3) if len(seconds) > 1 else None,
            "within_one_second": round(sum(each <= 1 for each in seconds) / max(1, len(seconds)), 4),
        },
        *reliabilities_of(played),
        {
            "line": "summary",
            **phases_of(played),
            "llm_calls": 0,
            "clarifications": sum(turn.asked for each in played.passes for turn in each.turns),
            "replies": how.value,
            "people": len({user_id for user_id, _ in found.persons()}),
            "persons_and_domains": len(found.persons()),
            "outcomes": dict(sorted(learner.outcomes.items())),
            "broker": True,
        },
    ]


def _show(played: "Played", lines: list[dict[str, Any]]) -> None:
    made = table("phase", "right", "asked", "test", "success", title="one pass through a broker")
    for each in lines[: len(played.passes)]:
        row(made, [each["phase"], f"{each['right']:.3f}", each["asked"], each["test"], f"{each['success']:.3f}"])
    console().print(made)
    directives, latency = lines[len(played.passes) : len(played.passes) + 2]
    console().print(
        f"what people do not want is last and named in the next ranking: {directives['honoured_at_once']:.1%} of "
        f"{directives['said']:,}"
    )
    console().print(
        f"from a correction to the ranking that goes by it: {latency['seconds_p50']} s for half of them, "
        f"{latency['seconds_p95']} s for 95 %"
    )

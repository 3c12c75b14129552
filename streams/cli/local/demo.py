"""`sager demo`: the whole pipeline on this machine, and the skills that it learned."""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import examples, settings
from streams.cli.output import note
from streams.cli.processes import writable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.settings import Settings

USERS, ROUNDS = 45, 16
LLM_USERS, LLM_ROUNDS, LLM_HELD = 6, 2, 1
"""A call may take many seconds, and each held-back choice is ranked twice."""
LLM_TIMEOUT_SECONDS = 120.0
"""Of one call, where not set otherwise: small endpoints answer one call after another."""


class NoEndpoint(StreamsError, ConnectionError):
    """The configured LLM does not answer, or none is configured."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "demo",
        short_help="Stream choices through a local pipeline.",
        epilog=examples(
            "sager demo",
            "sager demo --users 90 --json",
            "sager demo --llm",
        ),
    )(demo)


def demo(
    users: Annotated[int | None, typer.Option(min=1, help=f"[default: {USERS}, with --llm {LLM_USERS}]")] = None,
    rounds: Annotated[
        int | None,
        typer.Option(min=1, max=500, help=f"[default: {ROUNDS}, with --llm {LLM_ROUNDS}]"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    llm: Annotated[bool, typer.Option("--llm", help="Let the configured LLM evolve and rank, at a cost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Stream choices through a local pipeline and show the skills that it learned.

    Starts the embedded broker, a worker and the materializer, produces events as an app would, and ends by itself.
    Exit code 0: every event was processed and the log, the skills topic and DuckDB agree.

    With --llm choices are judged and candidates are ranked by the endpoint of OPENAI_BASE_URL and SAGER_LLM_MODEL.
    Facets and slim skills are left to rules unless SAGER_FACETS_BY and SAGER_EXTRACT_BY say otherwise. For costs in
    USD set SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION.
    """
    from streams.cli.output import console, print_json_line  # noqa: PLC0415
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.demo.observer import Stalled  # noqa: PLC0415
    from streams.demo.report import show, summary  # noqa: PLC0415
    from streams.demo.run import Demo  # noqa: PLC0415
    from streams.demo.scenario import Simulated  # noqa: PLC0415
    from streams.local.launch import Local  # noqa: PLC0415

    folder = writable(data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}")
    chosen = settings(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3)
    scenario = (
        Simulated(users or LLM_USERS, rounds or LLM_ROUNDS, seed, held=LLM_HELD)
        if llm
        else Simulated(users or USERS, rounds or ROUNDS, seed)
    )
    note(f"sager demo: {scenario.describe()}")
    if llm:
        chosen = _with_llm(chosen)
    # The processes that we started are ended in order, also after a signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with Stages() as stages:
        try:
            with Local(chosen) as local:
                result = Demo(scenario, local, stages.at).run()
        except Stalled as error:
            raise StreamsError(f"the pipeline stalled: {error}; its logs are in {folder}") from error
    facts = summary(result)
    if as_json:
        print_json_line(facts)
    else:
        show(result, scenario, console())
    if not result.fold_agrees or facts["selections_unmatched"] or facts["dead_letters"]:
        raise StreamsError(f"not every event was processed as it should; the logs are in {folder}")


def _with_llm(settings: "Settings") -> "Settings":
    """Return these settings with an LLM that evolves and ranks, unless set otherwise.

    Raises:
        NoEndpoint: the LLM cannot be used.
    """
    from streams.demo.costs import patience_seconds  # noqa: PLC0415
    from streams.operations.doctor.findings import Status  # noqa: PLC0415
    from streams.operations.doctor.llm import endpoint  # noqa: PLC0415
    from streams.settings import RankerName, ReasonerName  # noqa: PLC0415

    [finding] = endpoint(settings)
    if finding.status is Status.ERROR:
        raise NoEndpoint(
            f"{finding.found}: {finding.todo}. --llm needs an OpenAI-compatible endpoint: set OPENAI_BASE_URL, such as "
            "http://localhost:8080/v1, OPENAI_API_KEY if it wants one, and SAGER_LLM_MODEL to the model's name there"
        )
    note(finding.found)
    wanted: dict[str, object] = {"ranker": RankerName.LISTWISE, "llm_timeout_seconds": LLM_TIMEOUT_SECONDS}
    more = {name: value for name, value in wanted.items() if name not in settings.model_fields_set}
    settings = settings.model_copy(update={"reasoner": ReasonerName.LLM, **more})
    if "watchdog_seconds" in settings.model_fields_set:
        return settings
    # The demo notices stalls itself. The worker's watchdog expects one question, and a ranking asks several.
    patience = max(settings.watchdog_seconds, patience_seconds(settings))
    return settings.model_copy(update={"watchdog_seconds": patience})

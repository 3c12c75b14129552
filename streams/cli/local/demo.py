"""`sager demo`: the whole pipeline on this machine, and what it learned."""

import json
import re
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from streams.cli.options import examples
from streams.cli.options import settings as configured
from streams.cli.processes import writable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from streams.demo.scenario import Scenario
    from streams.settings import Settings

USERS, ROUNDS = 45, 16
LLM_USERS, LLM_ROUNDS, LLM_HELD = 6, 2, 1
"""A call may take many seconds, and each held-back choice is ranked twice."""
LLM_TIMEOUT_SECONDS = 120.0
"""Of one call, where not set otherwise: small endpoints answer one call after another."""
LINE_SECONDS, SAME_LINE_SECONDS = 2.0, 30.0
HOW_TO_SET = (
    "set OPENAI_BASE_URL to an OpenAI-compatible endpoint such as http://localhost:8080/v1, OPENAI_API_KEY if it wants "
    "one, and SAGER_LLM_MODEL to the model's name there"
)
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_UNUSABLE = frozenset({"connection", "timeout", "client-error", "server-error"})
"""What no run can go on with. All else, a busy endpoint among it, is an endpoint that answers."""


class NoEndpoint(StreamsError, ConnectionError):
    """No LLM answers where the configuration says that there is one."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "demo",
        short_help="Stream choices through a local pipeline.",
        epilog=examples(
            "sager demo",
            "sager demo --users 90 --rounds 20",
            "sager demo --data path/to/movielens --users 200 --json",
            "sager demo --conversation",
            "sager demo --llm",
            "sager demo --llm --data path/to/movielens --users 3 --calls",
        ),
    )(demo)


def demo(
    data: Annotated[
        Path | None, typer.Option(help="A data set's folder; without it, simulated users of a built-in catalogue.")
    ] = None,
    users: Annotated[
        int | None, typer.Option(min=1, help=f"How many users [default: {USERS}, with --llm {LLM_USERS}].")
    ] = None,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=500,
            help=f"Choices per user [default: {ROUNDS}, with --data all, with --llm in any case {LLM_ROUNDS}].",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let the configured LLM evolve and rank, and tell what each call cost.")
    ] = False,
    calls: Annotated[bool, typer.Option("--calls", help="List every call of an LLM, not only the last ones.")] = False,
    conversation: Annotated[
        bool, typer.Option("--conversation", help="One person chats, and their card grows before your eyes.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Stream choices through a local pipeline and show what it learned.

    Starts the embedded broker, a worker and the materializer, produces events as an app would, and ends by itself.
    Exit code 0: every event was processed and the log, the skills topic and DuckDB agree.

    With --llm choices are judged and candidates are ranked by the endpoint of OPENAI_BASE_URL and SAGER_LLM_MODEL.
    Facets and slim skills are left to rules unless SAGER_FACETS_BY and SAGER_EXTRACT_BY say otherwise. For costs in
    USD set SAGER_LLM_PRICE_PROMPT and SAGER_LLM_PRICE_COMPLETION.

    With --conversation one person chats, by a script: rules understand them, or with --llm the endpoint as well.
    """
    # Imported here: DuckDB, Kafka and rich are slow to import, and `sager --help` needs none of them.
    from rich.console import Console  # noqa: PLC0415

    from streams.cli.local.demo_chat import chat  # noqa: PLC0415
    from streams.demo.observer import Stalled  # noqa: PLC0415
    from streams.demo.report import show, summary  # noqa: PLC0415
    from streams.demo.run import Demo  # noqa: PLC0415
    from streams.local.launch import Local  # noqa: PLC0415

    console = Console(stderr=as_json)
    folder = writable(data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}")
    settings = configured(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3)
    if conversation:
        if data or users or rounds or calls:
            raise typer.BadParameter("--conversation has a script of its own: leave --data, --users, --rounds, --calls")
        if llm:
            settings = _with_llm(settings)
            console.print(_endpoint(settings), markup=False, highlight=False)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with _Progress(console) as tell:
            chat(settings, console, tell, as_json=as_json)
        return
    scenario = _scenario(data, users, rounds, seed, llm=llm)
    if not as_json:
        console.print(f"[bold]sager demo[/]: {scenario.describe()}")
    if llm:
        settings = _with_llm(settings)
        console.print(_endpoint(settings), markup=False, highlight=False)
    # Ended by a signal or not, the processes that we started are ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with _Progress(console) as tell:
        tell("starting broker, worker and materializer", 0, 0)
        try:
            with Local(settings) as local:
                result = Demo(scenario, local, tell, rounds or (LLM_ROUNDS if llm else None)).run()
        except Stalled as error:
            raise StreamsError(f"the pipeline stalled: {error}; its logs are in {folder}") from error
    facts = summary(result)
    if as_json:
        json.dump(facts, sys.stdout)
        sys.stdout.write("\n")
    else:
        show(result, scenario, console, all_calls=calls)
    if not result.fold_agrees or facts["selections_unmatched"] or facts["dead_letters"]:
        raise StreamsError(f"not every event was processed as it should; the logs are in {folder}")


def _scenario(data: Path | None, users: int | None, rounds: int | None, seed: int, *, llm: bool) -> "Scenario":
    from streams.demo.scenario import Recorded, Simulated  # noqa: PLC0415

    users = users or (LLM_USERS if llm else USERS)
    if data is not None:
        return Recorded(data, users, seed)
    if llm:
        return Simulated(users, rounds or LLM_ROUNDS, seed, held=LLM_HELD)
    return Simulated(users, rounds or ROUNDS, seed)


def _with_llm(settings: "Settings") -> "Settings":
    """These settings with an LLM that evolves and ranks; what is set otherwise stays."""
    from streams.demo.costs import patience_seconds  # noqa: PLC0415
    from streams.settings import RankerName, ReasonerName  # noqa: PLC0415

    given = settings.model_fields_set
    wanted: dict[str, object] = {"ranker": RankerName.FIRST_TOKEN, "llm_timeout_seconds": LLM_TIMEOUT_SECONDS}
    more = {name: value for name, value in wanted.items() if name not in given}
    settings = settings.model_copy(update={"reasoner": ReasonerName.LLM, **more})
    if "watchdog_seconds" in given:
        return settings
    # We look for stalls ourselves; the worker's watchdog reckons with one question, and a ranking asks several.
    patience = max(settings.watchdog_seconds, patience_seconds(settings))
    return settings.model_copy(update={"watchdog_seconds": patience})


def _endpoint(settings: "Settings") -> str:
    """Who answers at the configured endpoint, in a line for people.

    Raises:
        NoEndpoint: nobody does, or none is configured.
    """
    import asyncio  # noqa: PLC0415

    from streams.worker.reasoning.llm import OPENAI_URL  # noqa: PLC0415

    if settings.llm_base_url is None and settings.llm_api_key is None:
        raise NoEndpoint(f"--llm needs an endpoint, and none is configured: {HOW_TO_SET}")
    began = time.monotonic()
    outcome, detail = asyncio.run(_asked_once(settings))
    # No credentials on a screen: some endpoints have them in their URL.
    url = _CREDENTIALS.sub("***@", settings.llm_base_url or OPENAI_URL)
    if outcome in _UNUSABLE:
        more = "; SAGER_LLM_TIMEOUT_SECONDS gives it longer" if outcome == "timeout" else ""
        raise NoEndpoint(f"the LLM's endpoint {url} does not answer ({detail}): {HOW_TO_SET}{more}")
    told = f"{settings.llm_model} at {url} answered within {time.monotonic() - began:.1f} s"
    return f"{told}, but so: {detail}" if detail else told


async def _asked_once(settings: "Settings") -> tuple[str, str]:
    """How the endpoint ranks two candidates, once and without patience: outcome, and what is amiss."""
    from operators.evolve import ReasonerUnavailable  # noqa: PLC0415
    from operators.rank import Task  # noqa: PLC0415
    from operators.rank.llm import Form, LlmRanker  # noqa: PLC0415
    from operators.tokens import count_tokens  # noqa: PLC0415
    from schemas import ItemFacts  # noqa: PLC0415
    from streams.settings import RankerName  # noqa: PLC0415
    from streams.vouching import vouching_of  # noqa: PLC0415
    from streams.worker.reasoning.llm import llm_client  # noqa: PLC0415

    form = Form.FIRST_TOKEN if settings.ranker is RankerName.DETERMINISTIC else Form(settings.ranker.value)
    task = Task([ItemFacts(item_id="a", title="A film"), ItemFacts(item_id="b", title="A book")], "something to read")
    client = llm_client(settings.model_copy(update={"llm_attempts": 1, "llm_retry_seconds": 0.0}))
    try:
        ranking = await LlmRanker(
            client, count_tokens=count_tokens, form=form, orders=1, vouching=vouching_of(settings)
        ).rank(task)
    except ReasonerUnavailable as error:
        return error.outcome, str(error)
    finally:
        await client.aclose()
    without = "it tells no log-probabilities, so that rankings are asked for as lists"
    return "ok", without if ranking.reasoned_by.fallback else ""


class _Progress:
    """One bar per stage on a terminal; elsewhere a line every few seconds."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._console = console
        self._bars = Progress(
            TextColumn("{task.description:<36}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._told = 0.0
        self._last = ("", 0)

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total or None)
        self._bars.update(self._tasks[stage], completed=done, total=total or None)
        news = (stage, done) != self._last
        wait = LINE_SECONDS if news else SAME_LINE_SECONDS
        if not self._console.is_terminal and time.monotonic() - self._told > wait:
            self._told, self._last = time.monotonic(), (stage, done)
            self._console.print(f"{stage}: {done} of {total}" if total else stage)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

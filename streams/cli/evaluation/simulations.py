"""`sager eval stream`, `feedback` and `conversations`: users choose or talk."""

import asyncio
import sys
from contextlib import aclosing, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.evaluation import FOLDER, REQUIRED_EXTRA, Budget, Domain, People, Seed, choices_of, group, print_lines
from streams.cli.options import AsJson, examples, require_extra, settings
from streams.cli.output import ProgressBars, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluation.conversations.figures import Totals
    from evaluation.conversations.layout import Person, Unreadable
    from evaluation.conversations.listening import ReaderChoice

CONVERSATIONS = "conversations-replies.duckdb"
HISTORY = 3  # first visits of a user that are history
PEOPLE_AT_ONCE = 8  # people who talk at once, with a model


@group.command(
    epilog=examples("sager eval stream --data data/ --history 0,3,10 --arm no-skill,sager --by skill,mix --json")
)
def stream(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="Visits, as for `sager import`.", metavar="DIR")] = None,
    lists: Annotated[Path | None, typer.Option(help="Lists that users saw, instead of visits.", metavar="PATH")] = None,
    mapping: Annotated[str | None, typer.Option(help="Of the lists. [default: detected]", metavar="MAPPING")] = None,
    history: Annotated[str, typer.Option(help="First visits that are history, by comma.", metavar="N")] = f"{HISTORY}",
    candidates: Annotated[str, typer.Option(help="By comma: uniform, popular, exposed.", metavar="LISTS")] = "uniform",
    arm: Annotated[str, typer.Option(help="Arms, by comma.", metavar="NAME")] = "no-skill,prior,rules,sager",
    by: Annotated[str, typer.Option(help="By comma: skill, mix (learned), fixed (start).", metavar="RANKER")] = "mix",
    users: Annotated[int, typer.Option(min=2, help="How many users choose.", metavar="N")] = 200,
    choices: Annotated[int, typer.Option(min=1, help="Of each user, the first ones.", metavar="N")] = 32,
    seed: Seed = 0,
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Measure how skills learn from choice to choice.

    With --data, each choice is among ten drawn items; with --lists, among those that the user saw. Each list is ranked
    before its choice is learned. Skills and weights learn by the steps of the worker's agents, in this process: no
    broker is needed. Arms: no-skill (the community alone), population (with the domain's numbers and tastes), prior
    (the frozen skill of the history), rules (one tier per choice), former (counts of facts, no numbers), sager (the
    product), sessions (the product in sessions, which end after two hours of silence). docs/quality.md explains the
    figures.
    """
    require_extra(*REQUIRED_EXTRA)
    from evaluation.lists import logged_plan  # noqa: PLC0415
    from evaluation.plans import ListKind, plans  # noqa: PLC0415
    from evaluation.skill_arms import STREAM_RULES, RankBy  # noqa: PLC0415
    from evaluation.stream import lines_of, simulate_user  # noqa: PLC0415

    if (data is None) == (lists is None):
        raise typer.BadParameter("name either --data or --lists", ctx)
    kinds = choices_of(candidates, ListKind, "--candidates", ctx)
    rankers = choices_of(by, RankBy, "--by", ctx)
    lengths = history.split(",")
    if not all(length.strip().isdecimal() for length in lengths):
        raise typer.BadParameter(f"{history!r} is no number of visits", ctx, param_hint="--history")
    rules = [STREAM_RULES[name] for name in choices_of(arm, STREAM_RULES, "--arm", ctx)]
    visits = [int(length) for length in lengths]
    with ProgressBars() as progress:
        played = [] if lists is None else [logged_plan(lists, mapping, domain)]
        if data is not None:
            played = plans(data, kinds, visits, users, most=choices, seed=seed, domain=domain, progress=progress.update)
        for plan in played:
            results = [
                asyncio.run(simulate_user(rule, plan, rankers, seed, progress=progress.update)) for rule in rules
            ]
            for ranker in rankers:
                print_lines(lines_of(plan, results, ranker, seed), as_json)


@group.command(epilog=examples("sager eval feedback --data pahf/ --ask --json"))
def feedback(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="The folder with people.jsonl.gz and scenarios.jsonl.gz.", metavar="DIR")],
    replies: Annotated[str, typer.Option(help="Replies as text or structured (a form).", metavar="HOW")] = "text",
    ask: Annotated[bool, typer.Option("--ask", help="Allow one question per scenario while learning.")] = False,
    passes: Annotated[int, typer.Option(min=1, help="Passes over each phase.", metavar="N")] = 3,
    people: People = None,
    as_json: AsJson = False,
) -> None:
    """Measure how soon sentences are understood, by PAHF's protocol (arXiv 2602.16173).

    Skills learn by the steps of the worker's agents, in this process. docs/quality.md explains the figures;
    with --json the last line has the shares of all passes, `phase_1` to `phase_4`.
    """
    from evaluation.feedback.learners import ReplyForm  # noqa: PLC0415
    from evaluation.feedback.protocol import evaluate  # noqa: PLC0415
    from evaluation.feedback.scenarios import read  # noqa: PLC0415

    how = choices_of(replies, ReplyForm, "--replies", ctx)[0]
    found = read(data).of(people)
    with ProgressBars() as progress:
        lines = asyncio.run(evaluate(found, how, passes, asks=ask, progress=progress.update))
    title: str | None = f"{lines[-1]['people']:,} people, replies as {how.value}, no model"
    for kind in dict.fromkeys(line["line"] for line in lines):
        print_lines([line for line in lines if line["line"] == kind], as_json, title)
        title = None


@group.command(
    epilog=examples(
        "sager eval conversations --invent people/ --held-out --json",
        "sager eval conversations --data personamem/ --llm both --questions 10 --judge gpt-4o",
    )
)
def conversations(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option(help="The folder with one JSON file per person.", metavar="DIR")] = None,
    invent: Annotated[Path | None, typer.Option(help="Invent people here, and use them.", metavar="DIR")] = None,
    held_out: Annotated[bool, typer.Option("--held-out", help="Invent with the held-out templates.")] = False,
    llm: Annotated[str, typer.Option(help="The listener: rules, model, both.", metavar="HOW")] = "rules",
    memory: Annotated[bool, typer.Option("--memory", help="Show the model the card, as SAGER_LISTEN_MEMORY.")] = False,
    questions: Annotated[int, typer.Option(min=0, help="Open questions per person, to a model.", metavar="N")] = 0,
    judge: Annotated[str | None, typer.Option(help="Their judge. [default: the same model]", metavar="MODEL")] = None,
    people: People = None,
    budget_calls: Budget = None,
    seed: Annotated[int, typer.Option(help="The seed of the invented people.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure the correct and forbidden lines on cards after conversations.

    Reads raw files of PersonaMem-v2, or invented ones in the same layout (docs/datasets.md). With --llm model or both,
    the endpoint of SAGER_LLM_* reads chunks; with --questions it answers the files' questions with and without the
    card, and a model of the endpoint judges both. Its replies are cached. docs/quality.md explains the figures.
    """
    if (data is None) == (invent is None):
        raise typer.BadParameter("name one of --data and --invent", ctx, param_hint="--data")
    from evaluation.conversations.invented import PEOPLE, write  # noqa: PLC0415
    from evaluation.conversations.layout import files, read  # noqa: PLC0415
    from evaluation.conversations.listening import ReaderChoice  # noqa: PLC0415

    by = choices_of(llm, ReaderChoice, "--llm", ctx)[0]
    if questions:
        require_extra(*REQUIRED_EXTRA)
    if invent is not None:
        write(invent, people or PEOPLE, seed, held_out=held_out)
    folder = invent or data
    assert folder is not None  # noqa: S101 - one of both is given
    total = min(len(files(folder)), people or sys.maxsize)
    with ProgressBars() as progress:

        def show(done: int) -> None:
            progress.update("people", done, max(done, total))

        model = _Model(by, memory, questions, judge, budget_calls, seed)
        found, lines = asyncio.run(model.run(read(folder, people), show))
    _note_losses(found)
    counts = {"unreadable": len(found.unreadable), "failed": len(found.failed)}
    print_lines([{"line": "summary", "llm": llm, "memory": memory, **counts, **found.shares()}], as_json)
    if lines:
        print_lines(lines, as_json)
    if found.failed:
        raise typer.Exit(1)


def _note_losses(found: "Totals") -> None:
    for path, why in found.unreadable:
        note(f"{path}: {why}")
    for who, error in found.failed:
        note(f"{who} failed: {error}")
    for why, times in found.skipped.items():
        note(f"{times:,} {why}")


@dataclass(frozen=True)
class _Model:
    """The part of a model in conversations: it reads them, answers questions, and judges the answers."""

    by: "ReaderChoice"
    memory: bool
    questions: int
    judge: str | None
    budget_calls: int | None
    seed: int

    async def run(
        self, persons: "Iterator[Person | Unreadable]", show: "Callable[[int], None]"
    ) -> "tuple[Totals, list[dict[str, Any]]]":
        """Return the totals, and the lines of the questions; unusable answers are noted."""
        from evaluation.conversations.figures import run  # noqa: PLC0415

        if self.by.value == "rules" and not self.questions:
            return await run(persons, progress=show), []
        from evaluation.conversations.listening import ModelListener  # noqa: PLC0415
        from evaluation.replies import Replies, client_of  # noqa: PLC0415

        given, asked, after = settings(), None, None
        at_once = min(PEOPLE_AT_ONCE, given.in_flight)
        of_judge = given.model_copy(update={"llm_model": self.judge or given.llm_model})
        with closing(Replies(FOLDER / CONVERSATIONS, self.budget_calls)) as replies:
            async with aclosing(client_of(given, replies)) as client, aclosing(client_of(of_judge, replies)) as judge:
                model = ModelListener(client, self.by, has_memory=self.memory)
                if self.questions:
                    from evaluation.conversations.questions import OpenQuestions  # noqa: PLC0415

                    asked = OpenQuestions(client, judge, self.questions, self.seed)
                    after = asked.ask
                totals = await run(persons, listen=model.listen, concurrency=at_once, progress=show, after=after)
        if model.unusable:
            note(f"{model.unusable:,} answers of the model were unusable and replaced by the rules")
        if asked is not None and asked.unusable:
            note(f"{asked.unusable:,} questions without a usable answer and verdict are left out")
        return totals, [] if asked is None else list(asked.lines())

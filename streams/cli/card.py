"""`sager card`: what a person said of themselves in conversations, and how it came about."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Domain, User, examples
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.common import LAST, MOMENTS, Last, gate, snapshot

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import Card
    from streams.rights.cards import CardVersion, ToldCard

TEXT_TOKENS, MOST_TOKENS = 300, 4_096
WIDE = 120
"""The width of a terminal from which a line's id has a column of its own."""

AsOf = Annotated[
    datetime | None, typer.Option("--as-of", help="As it was at this moment, in UTC.", formats=MOMENTS, metavar="TIME")
]
Budget = Annotated[
    int | None, typer.Option(help="How many tokens it may have.", min=1, max=MOST_TOKENS, metavar="TOKENS")
]


group = typer.Typer(
    no_args_is_help=True,
    help="See a person's card.",
    epilog=examples("sager card show ann", "sager card log ann"),
)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="card")


@group.command(
    epilog=examples(
        "sager card show ann",
        'sager card show ann --request "where to eat tonight?" --text --budget 100',
        "sager card show ann --as-of 2026-01-31",
    )
)
def show(
    user: User,
    request: Annotated[str, typer.Option(help="The request at hand: lines about it come first.")] = "",
    budget: Budget = None,
    domain: Domain = None,
    as_of: AsOf = None,
    text: Annotated[bool, typer.Option("--text", help="Print only the text that goes into a prompt.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the lines of a card: what a person said of themselves.

    Each line has its date, how plainly the user said it, and its certainty, which fades without confirmation. With
    --request the lines about the request come first, each with the reason. Replaced lines come last, with their
    successors. Lines marked `unvouched` are for people only: no prompt and no SKILL.md has them. Read from the newest
    DuckDB snapshot, so it is some seconds behind.
    """
    from streams.rights.cards import card_told  # noqa: PLC0415

    if text and as_json:
        raise typer.BadParameter("--text and --json are two forms: give one of them")
    at = _moment(as_of)
    with snapshot() as con:
        card = _card(con, user, as_of)
    if text:
        _print_text(card, at, request, budget or TEXT_TOKENS, domain)
        return
    shown = card_told(card, at, gate(), request=request, budget_tokens=budget, domain=domain)
    if as_json:
        print_json(shown.model_dump(mode="json"))
    else:
        _show(shown, with_reason=bool(request.strip()))


@group.command(epilog=examples("sager card log ann --last 5", "sager card log ann --json"))
def log(user: User, last: Last = None, as_json: AsJson = False) -> None:
    """Print how a card came about, version by version.

    Each version has its conversation, command or signal, and its changes. Statements that are not kept appear by their
    kind only, without their words. With --json: a list of card diffs.
    """
    from streams.rights.cards import card_versions, logged_card  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged_card(con, user)
    most = last if last is not None else 0 if as_json else LAST
    shown = diffs[-most:]
    if as_json:
        print_json([diff.model_dump(mode="json") for diff in shown])
        return
    for version in card_versions(diffs)[-most:]:
        _show_version(version)
    if len(shown) < len(diffs):
        note(f"the newest {len(shown)} of {len(diffs)} versions; --last 0 prints all")


def _print_text(card: "Card", at: datetime, request: str, budget: int, domain: str | None) -> None:
    """Print what goes into a prompt; if that is nothing, say why."""
    from operators.cards.views import as_text  # noqa: PLC0415

    def text(tokens: int) -> str:
        return as_text(card, at, request=request, budget_tokens=tokens, domain=domain, vouching=gate())

    if lines := text(budget):
        print(printable(lines))
    elif text(MOST_TOKENS):
        note(f"no line of the card fits into {budget} tokens beside its heading: give a larger --budget")
    else:
        note("the card has no line that a prompt may have here: without --text it shows all, with their marks")


def _moment(as_of: datetime | None) -> datetime:
    return datetime.now(UTC) if as_of is None else as_of.replace(tzinfo=UTC)


def _card(con: "DuckDBPyConnection", user: str, as_of: datetime | None) -> "Card":
    from streams.materializer import read  # noqa: PLC0415
    from streams.rights.cards import card_at, logged_card, unknown_card  # noqa: PLC0415

    if as_of is not None:
        return card_at(logged_card(con, user), user, _moment(as_of))
    found = read.card(con, user)
    if found is None:
        raise unknown_card(user)
    return found


def _show(card: "ToldCard", *, with_reason: bool) -> None:
    out = console()
    out.print(printable(f"{card.user_id} · version {card.version}"), style="bold", markup=False)
    ids = out.width >= WIDE
    columns = ["line", "certain", "since", "how", *(["why"] if with_reason else []), *(["id"] if ids else [])]
    made = table(*columns, whole=("certain", "since", "how", "id"))
    for line in card.lines:
        how = line.strength.value + (f", {line.times} times" if line.times > 1 else "") + ", pinned" * line.pinned
        how += ", unvouched" * line.held_back
        says = line.says if ids else f"{line.says}\n{line.line_id}"
        cells = [says, f"{line.certainty:.0%}", f"{line.since:%Y-%m-%d}", how]
        row(made, [*cells, *([line.reason] if with_reason else []), *([line.line_id] if ids else [])])
    out.print(made)
    if card.left_out > 0:
        note(f"{card.left_out} more {'line is' if card.left_out == 1 else 'lines are'} not about this, or had no room")
    names = {line.line_id: line.says for line in (*card.lines, *card.past)}
    for line in card.past:
        then = names.get(line.overtaken_by or "", "")
        until = f", until {line.overtaken_at:%Y-%m-%d}" if line.overtaken_at else ""
        out.print(printable(f"past: {line.says}{until}{f'; now {then}' if then else ''}"), style="dim", markup=False)


def _show_version(version: "CardVersion") -> None:
    diff, came_of = version.diff, f"a {version.came_of}"
    if diff.conversation_id:
        came_of = f"conversation {diff.conversation_id} · {diff.reasoned_by.model or diff.reasoned_by.reasoner}"
    print(printable(f"version {diff.version} · {diff.occurred_at:%Y-%m-%d %H:%M:%S} UTC · {came_of}"))
    for change, says in version.changes:
        print(printable(f"  {change.kind.value}: {says}{f' ({change.reason})' if change.reason else ''}"))
    for why in version.not_kept:
        print(printable(f"  not kept: {why}"))

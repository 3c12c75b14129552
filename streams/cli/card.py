"""`sager card`: a person's own statements from conversations."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Domain, User, examples
from streams.cli.output import note, print_json, print_rows, printable
from streams.cli.policy.common import output_policy, snapshot
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from streams.views.cards import CardView

app = typer.Typer()


@app.command(
    short_help="Print a person's card.",
    epilog=examples("sager card ann", 'sager card ann --request "where to eat tonight?" --json'),
)
def card(
    user: User,
    request: Annotated[str, typer.Option(help="The request at hand: lines about it come first.")] = "",
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Print a person's own statements from conversations, and how certain each one is.

    Lines marked `unvouched` are for people only: no prompt has them. Read from the newest DuckDB snapshot, which is
    some seconds behind.
    """
    from streams.analytics import read  # noqa: PLC0415
    from streams.views.cards import card_view  # noqa: PLC0415

    with snapshot() as con:
        found = read.card(con, user)
    if found is None:
        raise StreamsError(
            f"{user!r} has no card: one starts with a statement in a conversation, or with a line that the console "
            "adds. If that was just now, try again in some seconds, after the next DuckDB snapshot"
        )
    shown = card_view(found, datetime.now(UTC), output_policy(), request=request, domain=domain)
    if as_json:
        print_json(shown.model_dump(mode="json"))
    else:
        _show(shown, with_reason=bool(request.strip()))


def _show(card: "CardView", *, with_reason: bool) -> None:
    rows = []
    for line in card.lines:
        how = line.strength.value + (f", {line.times} times" if line.times > 1 else "") + ", pinned" * line.pinned
        how += ", unvouched" * line.held_back + f"; {line.reason}" * with_reason
        since = f"{line.since:%Y-%m-%d}"
        rows.append({"line": line.says, "certain": line.certainty, "since": since, "how": how, "id": line.line_id})
    print_rows(rows, f"{card.user_id} · version {card.version}", whole=["certain", "since", "id"])
    if card.left_out > 0:
        note(f"not shown, because they are not about this or exceed the limit: {card.left_out} more")
    names = {line.line_id: line.says for line in (*card.lines, *card.past)}
    for line in card.past:
        until = f", until {line.overtaken_at:%Y-%m-%d}" if line.overtaken_at else ""
        now = names.get(line.overtaken_by or "", "")
        print(printable(f"past: {line.says}{until}{f'; now {now}' if now else ''}"))

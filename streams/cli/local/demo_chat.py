"""`sager demo --conversation`: what one person says, and the card that grows of it."""

import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from operators.cards.ageing import certainty
from operators.cards.words import in_words, names, why_not
from schemas import Role
from streams.cli.output import row, table
from streams.demo.chats import ASKED, WHO, Chats, Heard, Talked, script
from streams.demo.costs import patience_seconds, uses_llm
from streams.demo.observer import STALLED_SECONDS, Stalled
from streams.exceptions import StreamsError
from streams.local.launch import Local

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from schemas import CardChange
    from streams.demo.chats import Progress
    from streams.settings import Settings

SPEAKERS = {Role.USER: WHO.capitalize(), Role.ASSISTANT: "Assistant", Role.OTHER: "Other"}
LABEL_CHARS = 9


def chat(settings: "Settings", console: "Console", tell: "Progress", *, as_json: bool) -> None:
    """Run the script on a local pipeline and show what came of it.

    Raises:
        StreamsError: the pipeline stalled, or log and card do not agree.
    """
    if not as_json:
        told = "Ann chats; her card is what prompts may know"
        console.print(f"[bold]sager demo --conversation[/]: {told}")
    waiting = patience_seconds(settings) if uses_llm(settings) else 0.0
    tell("starting broker, worker and materializer", 0, 0)
    try:
        with Local(settings) as local:
            show = (lambda _: None) if as_json else (lambda heard: _show(heard, console))
            talked = Chats(local, tell, show, STALLED_SECONDS + waiting).run(script())
    except Stalled as error:
        raise StreamsError(f"the pipeline stalled: {error}; its logs are in {settings.data_dir}") from error
    if as_json:
        json.dump(_summary(talked), sys.stdout)
        sys.stdout.write("\n")
    else:
        _conclude(talked, console)
    if not (talked.fold_agrees and talked.is_forgotten):
        raise StreamsError(f"the card and its log do not agree; the logs are in {settings.data_dir}")


def _show(heard: Heard, console: "Console") -> None:
    """One conversation, then what it did to the card, then the card."""
    days = heard.chat.days_ago
    console.print(f"\n[bold]{heard.chat.name}[/], {f'{days} days ago' if days else 'today'}")
    _rows(console, [(SPEAKERS[said.role], said.text) for said in heard.chat.turns])
    known = names(heard.before) | names(heard.card)
    _rows(console, [(change.kind.value, _did(change, known)) for change in heard.diff.changes], "cyan")
    _rows(console, [("not kept", _times(why_not(each.kind), each.times)) for each in heard.diff.not_kept], "yellow")
    _rows(console, [("the card", "; ".join(in_words(line) for line in heard.card.lines) or "empty")], "bold")


def _did(change: "CardChange", known: dict[str, str]) -> str:
    """What became of a line, and what took its place; `known`: what lines say by their ids."""
    if change.line is None:
        return f"{known.get(change.line_id, 'a line')}: no word of it stays, in the log neither"
    heir = known.get(change.line.overtaken_by or "")
    return in_words(change.line) + (f", now: {heir}" if heir else "")


def _conclude(talked: Talked, console: "Console") -> None:
    console.print("\n[bold]The card: what holds, since when, and what it rests on[/]")
    made = table("line", "certain", "since", "how", "events behind it", whole=("certain", "since"))
    now = datetime.now(UTC)
    for line in talked.card.lines:
        how = _times(line.strength.value, line.times)
        row(made, [in_words(line), f"{certainty(line, now):.0%}", f"{line.since:%Y-%m-%d}", how, len(line.evidence)])
    console.print(made)
    console.print("[bold]What a prompt is told of them[/]")
    console.print(talked.text, markup=False, highlight=False)
    console.print(f"\n[bold]The same for the request {ASKED!r}, two lines at most[/]")
    console.print(talked.for_request, markup=False, highlight=False)
    console.print()
    gone = "is in no record of log and card" if talked.is_forgotten else "IS STILL THERE"
    kinds = ", ".join(_times(why_not(kind), times) for kind, times in sorted(talked.not_kept.items()))
    facts = [
        ("past", "; ".join(in_words(line) for line in talked.card.past) or "nothing"),
        ("not kept", kinds or "nothing"),
        ("forgotten", f"what was to be forgotten {gone}"),
        ("the log", f"folds to the card, byte for byte: {'yes' if talked.fold_agrees else 'NO'}"),
        ("took", f"{talked.seconds:.0f} s, {talked.calls} calls of a model"),
    ]
    _rows(console, facts)


def _times(what: str, times: int) -> str:
    return what if times == 1 else f"{what}, {times} times"


def _rows(console: "Console", rows: "Iterable[tuple[str, str]]", style: str = "") -> None:
    """Print names and texts in two columns; a text that needs several lines stays in its own."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    made = Table.grid(padding=(0, 2))
    made.add_column(width=2)
    made.add_column(width=LABEL_CHARS)
    made.add_column()
    for name, text in rows:
        made.add_row("", Text(name, style=style or "bold"), Text(text, style=style))
    console.print(made)


def _summary(talked: Talked) -> dict[str, object]:
    return {
        "conversations": len(talked.heard),
        "turns": sum(len(each.chat.turns) for each in talked.heard),
        "changes": [[change.kind.value for change in each.diff.changes] for each in talked.heard],
        "lines": [in_words(line) for line in talked.card.lines],
        "past": [in_words(line) for line in talked.card.past],
        "not_kept": dict(talked.not_kept),
        "text": talked.text,
        "for_request": talked.for_request,
        "fold_agrees": talked.fold_agrees,
        "is_forgotten": talked.is_forgotten,
        "calls": talked.calls,
        "seconds": round(talked.seconds, 1),
    }

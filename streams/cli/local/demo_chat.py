"""`sager demo --conversation`: what one person says, and the card that grows of it."""

import json
import sys
from typing import TYPE_CHECKING

from operators.cards.words import in_words
from schemas import Role
from streams.demo.chats import ASKED, WHO, Chats, Heard, Talked, script
from streams.demo.costs import patience_seconds, uses_llm
from streams.demo.observer import STALLED_SECONDS, Stalled
from streams.exceptions import StreamsError
from streams.local.launch import Local

if TYPE_CHECKING:
    from rich.console import Console

    from schemas import CardLine
    from streams.demo.chats import Progress
    from streams.settings import Settings

SPEAKERS = {Role.USER: WHO.capitalize(), Role.ASSISTANT: "Assistant", Role.OTHER: "Other"}
REASONS = {"somebody-else": "about somebody else", "forgotten": "was to be forgotten"}
"""Kinds of what is not kept that are no categories, in words."""


def chat(settings: "Settings", console: "Console", tell: "Progress", *, as_json: bool) -> None:
    """Run the script on a local pipeline and show what came of it.

    Raises:
        StreamsError: the pipeline stalled, or log and card do not agree.
    """
    if not as_json:
        told = "one person chats; the card is what a prompt may know of them"
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
    for said in heard.chat.turns:
        console.print(f"  {SPEAKERS[said.role]}: {said.text}", markup=False, highlight=False)
    known: dict[str, CardLine] = {} if heard.before is None else {each.line_id: each for each in heard.before.lines}
    for change in heard.diff.changes:
        line = change.line or known.get(change.line_id)
        words = in_words(line) if line is not None else "a line"
        console.print(f"    {change.kind.value:<10} {words}", style="cyan", markup=False, highlight=False)
    for refused in heard.diff.not_kept:
        why = REASONS.get(refused.kind, refused.kind)
        console.print(f"    {'not kept':<10} {why}, {refused.times}", style="yellow", markup=False, highlight=False)
    lines = "; ".join(in_words(line) for line in heard.card.lines)
    console.print(f"    {'card':<10} {lines or 'empty'}", markup=False, highlight=False)


def _conclude(talked: Talked, console: "Console") -> None:
    console.print("\n[bold]What a prompt may be told[/]")
    console.print(talked.text, markup=False, highlight=False)
    console.print(f"\n[bold]The same for somebody who asks for {ASKED!r}, two lines at most[/]")
    console.print(talked.for_request, markup=False, highlight=False)
    past = "; ".join(in_words(line) for line in talked.card.past)
    console.print(f"\npast, and kept as such: {past or 'nothing'}", markup=False, highlight=False)
    refused = sum(talked.not_kept.values())
    gone = "is in no record of log and card" if talked.is_forgotten else "is still there"
    console.print(
        f"not kept: {refused} ({', '.join(sorted(talked.not_kept)) or 'nothing'}); what was to be forgotten {gone}; "
        f"the log folds to the card: {'yes' if talked.fold_agrees else 'NO'}; {talked.seconds:.0f} s",
        markup=False,
        highlight=False,
    )


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

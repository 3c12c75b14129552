"""The log of a card, and a card as it was after one of its versions."""

from dataclasses import dataclass
from functools import partial

from starlette.responses import Response

from operators.cards.fold import with_diff
from schemas import Card, CardChangeKind, CardDiff
from streams.console.people.card_shown import shown_at
from streams.console.people.pages import PEOPLE, READERS, UNDER
from streams.console.visit import Visit
from streams.http.cards import NOTHING
from streams.http.problems import Problem
from streams.rights.cards import CameOf, CardVersion, card_versions
from streams.vouching import vouching_of

PAGE = 40
"""Versions on a page."""
_CAME_OF = {
    CameOf.CONVERSATION: "A conversation",
    CameOf.COMMAND: "Somebody changed it",
    CameOf.SIGNAL: "What came of something that they took",
}
_DID = {
    CardChangeKind.ADDED: "new",
    CardChangeKind.CONFIRMED: "said again",
    CardChangeKind.CONTRADICTED: "something speaks against it",
    CardChangeKind.OVERTAKEN: "said otherwise since",
    CardChangeKind.WITHDRAWN: "taken back",
    CardChangeKind.MERGED: "said in other words",
    CardChangeKind.REWARDED: "counts a little more or less",
    CardChangeKind.FADED: "faded, as nothing confirmed it for long",
    CardChangeKind.CROWDED_OUT: "left out, as there was no more room",
    CardChangeKind.SET: "written in",
    CardChangeKind.PINNED: "pinned",
    CardChangeKind.UNPINNED: "no longer pinned",
    CardChangeKind.REMOVED: "removed",
    CardChangeKind.FORGOTTEN: "forgotten",
}


@dataclass(frozen=True)
class Entry:
    """One version of a card, to be shown.

    Attributes:
        diff: the version.
        title: what it came of.
        lines: what it did, line by line.
        not_kept: what was said and is not kept, by its kind; empty: nothing.
    """

    diff: CardDiff
    title: str
    lines: list[str]
    not_kept: str


@PEOPLE.get("/card/log", needs=READERS, under=UNDER)
async def log_of_card(visit: Visit) -> Response:
    """The versions of a card, the newest first."""
    user = visit.reads(visit.user())
    before = visit.number("before") if "before" in visit.query else None
    diffs = await _logged(visit, user)
    upto = [each for each in card_versions(diffs) if before is None or each.diff.version < before]
    return visit.page(
        "people/card_log.html",
        user=user,
        entries=[_entry(each) for each in reversed(upto[-PAGE:])],
        older=upto[-PAGE].diff.version if len(upto) > PAGE else None,
        before=before,
    )


@PEOPLE.get("/card/version", needs=READERS, under=UNDER)
async def version_of_card(visit: Visit) -> Response:
    """What a version of a card changed, and the card as it was then."""
    user, number = visit.reads(visit.user()), visit.number("version")
    diffs = await _logged(visit, user)
    card: Card | None = None
    for diff in diffs:
        if diff.version <= number:
            card = with_diff(card, diff)
    if card is None or card.version != number:
        raise Problem(404, "the log has no such version of this card")
    return visit.page(
        "people/card_version.html",
        user=user,
        number=number,
        newest=diffs[-1].version,
        entry=next(_entry(each) for each in card_versions(diffs) if each.diff.version == number),
        card=shown_at(card, card.occurred_at, vouching_of(visit.api.settings)),
    )


async def _logged(visit: Visit, user: str) -> list[CardDiff]:
    diffs = await visit.read(partial(visit.api.snapshot.card_log, user))
    if not diffs:
        raise Problem(404, f"{NOTHING}, or the snapshot does not have it yet")
    return diffs


def _entry(version: CardVersion) -> Entry:
    lines = [f"{says}: {_DID[change.kind]}" for change, says in version.changes]
    return Entry(version.diff, _CAME_OF[version.came_of], lines, "; ".join(version.not_kept))

"""Cards over HTTP: read as they are now, and changed by commands. The API and the console share it."""

from datetime import UTC, datetime
from functools import partial
from typing import Any

from pydantic import ValidationError

from operators.cards.commands import is_as_it_was, resolve_command
from operators.cards.lines import why_not
from schemas import Card, CardCommand, CardDiff
from streams.http.api import Api
from streams.http.problems import Problem, not_valid
from streams.http.tokens import Token
from streams.privacy import privacy_of

NOTHING = "nothing is on a card of this person yet"
CHANGES_NOTHING = "the command would change nothing"


async def card_of(api: Api, token: Token, user: str) -> Card | None:
    """The card as it is now; where topics are not followed, or not read yet, as the snapshot has it."""
    if (card := api.live.card(user)) is not None or api.live.is_ready:
        return card
    return await api.read(token, partial(api.snapshot.card, user))


def card_command(user: str, actor: str, event_id: str, at: datetime, asked: dict[str, Any]) -> CardCommand:
    """A command.

    Args:
        user: whose card.
        actor: the token's name.
        event_id: its id.
        at: when.
        asked: `action`, `line_id`, `line` and `reason`.

    Raises:
        Problem: it is not valid.
    """
    envelope = {"event_id": event_id, "occurred_at": at, "user_id": user, "actor": actor}
    try:
        return CardCommand.model_validate({**asked, **envelope}, extra="forbid")
    except ValidationError as error:
        raise not_valid(error) from None


def would_be(api: Api, card: Card | None, command: CardCommand) -> CardDiff:
    """What a command would do to the card as it is now.

    Raises:
        Problem: nothing; it says why.
    """
    diff = resolve_command(card, command, None, privacy_of(api.settings))
    if diff is not None and not is_as_it_was(card, diff):
        return diff
    not_kept = [each.kind for each in diff.not_kept] if diff is not None else []
    if not_kept:
        why = f"{', '.join(why_not(kind) for kind in not_kept)} is not kept"
    else:
        lines = () if card is None else (*card.lines, *card.past)
        known = command.line_id is None or any(line.line_id == command.line_id for line in lines)
        why = "it is so already" if known else "the card has no such line"
    raise Problem(409, f"{CHANGES_NOTHING}: {why}", refused=[{"why": kind} for kind in not_kept])


async def carry_out(api: Api, token: Token, command: CardCommand) -> CardDiff | None:
    """The diff that a worker made of a command; None if none arrived in time.

    Raises:
        Problem: Kafka does not accept the command, or too many wait.
    """
    mine = (command.event_id, command.user_id)

    def is_it(diff: CardDiff) -> bool:
        return (diff.event_id, diff.user_id) == mine

    with (
        api.waiting(token, command.user_id),
        api.answers.expect(CardDiff, command.user_id, is_it, command.event_id) as answer,
    ):
        await api.sender.send([api.sender.outgoing(command)])
        return await answer.within(api.settings.http_wait_seconds)


def now() -> datetime:
    """The moment by which lines have faded."""
    return datetime.now(UTC)

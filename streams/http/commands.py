"""Commands from request bodies. Their actor is always the name of the token."""

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from confluent_kafka import KafkaException
from pydantic import ValidationError

from operators.history import at_version
from schemas import Action, Correction, ForgetRequest, Receipt, SkillCommand, SkillDiff
from streams.exceptions import NotProduced, StreamsError
from streams.http.problems import Problem, not_valid
from streams.kafka.producer import Outbox
from streams.rights import portable
from streams.rights.commander import Commander
from streams.settings import Settings

OURS = {"event_id", "schema_version", "occurred_at", "user_id", "actor", "lines"}
"""Fields of a command that the server sets: the actor, the time, the user and what comes from the log."""
THEIRS = frozenset(SkillCommand.model_fields) - OURS
_MAY = f"You may set {', '.join(sorted(THEIRS))}"

_Result = TypeVar("_Result")

History = Callable[[str, str], list[SkillDiff]]
"""All diffs of a user in a domain."""


def command_of(asked: dict[str, Any], user: str, actor: str, history: History) -> SkillCommand:
    """Builds the command that a body asks for. Blocks, because it may read the log.

    Args:
        asked: the body.
        user: the user in the path.
        actor: the token's name.
        history: reads all diffs of a skill, to restore an earlier version.

    Raises:
        Problem: the body is not a valid command.
    """
    asked = _fields(asked)
    if asked.get("action") == Action.ROLL_BACK:
        asked["lines"] = _lines(asked, user, history)
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "actor": actor}
    try:
        return SkillCommand.model_validate({**asked, **envelope}, extra="forbid")
    except ValidationError as error:
        raise not_valid(error) from None


class Changes:
    """Sends commands and waits for their results. Each thread keeps a producer, because a new one needs a second.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own = threading.local()

    def carry_out(self, command: SkillCommand | Correction) -> SkillDiff | None:
        """The diff that a worker made of the command, or of what a person says; None if none arrived in time. Blocks.

        Raises:
            Problem: Kafka does not accept the command, or does not answer.
        """
        seconds = self._settings.http_wait_seconds
        return self._with(command.user_id, lambda commander: commander.carry_out(command, seconds))

    def forget(self, request: ForgetRequest) -> Receipt | None:
        """The receipt of a worker that has forgotten; None if none arrived in time. Blocks.

        Raises:
            Problem: Kafka does not accept the request, or does not answer.
        """
        seconds = self._settings.http_wait_seconds
        return self._with(request.user_id, lambda commander: commander.forget(request, seconds))

    def take_in(
        self, bundle: portable.Bundle, user: str, order: portable.Order, *, domain: str | None, interactions: bool
    ) -> portable.Imported:
        """Imports a checked folder; it waits for each of its skills and for what the person said. Blocks.

        Raises:
            NotPortable: there is nothing to import.
            Problem: Kafka does not accept all of it, or does not answer.
        """
        seconds = self._settings.http_wait_seconds
        try:
            return portable.take_in(
                self._settings, bundle, user, order, seconds, domain=domain, interactions=interactions
            )
        except ValidationError as error:
            raise not_valid(error) from None
        except (KafkaException, NotProduced) as error:
            raise _not_acknowledged() from error

    def _with(self, user: str, ask: Callable[[Commander], _Result]) -> _Result:
        try:
            self._own.outbox = getattr(self._own, "outbox", None) or Outbox(self._settings)
            with Commander(self._settings, user, self._own.outbox) as commander:
                return ask(commander)
        except (KafkaException, StreamsError) as error:
            self._own.outbox = None  # it keeps reporting what it could not send
            raise _not_acknowledged() from error


def _not_acknowledged() -> Problem:
    return Problem(503, "Kafka did not acknowledge it; it may or may not be carried out", {"Retry-After": "5"})


def _fields(asked: dict[str, Any]) -> dict[str, Any]:
    others = set(asked) - THEIRS
    if ours := sorted(others & OURS):
        raise Problem(422, f"the server sets these fields: {', '.join(ours)}. {_MAY}")
    if others:
        raise Problem(422, f"there are fields that a command does not have. {_MAY}")
    return dict(asked)


def _lines(asked: dict[str, Any], user: str, history: History) -> list[Any]:
    """The lines of the version to go back to, from the log: a client must not supply its own."""
    domain, version = asked.get("domain"), asked.get("to_version")
    if not isinstance(domain, str) or type(version) is not int or version < 0:
        raise Problem(422, "roll-back needs domain and to_version, a whole number")
    then = at_version(history(user, domain), version)
    if then is None:
        raise Problem(409, "there is no such version of this skill, or the snapshot does not have it yet")
    return [line.model_dump() for line in then.attributes]

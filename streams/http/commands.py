"""A change to a skill, out of a request's body: in the name of the token that sent it, whatever the body says."""

import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
from confluent_kafka import KafkaException
from pydantic import ValidationError

from operators.history import at_version
from schemas import Action, SkillCommand, SkillDiff
from streams.exceptions import StreamsError
from streams.http.problems import Problem, not_valid
from streams.kafka.producer import Outbox
from streams.rights.commander import Commander
from streams.settings import Settings

OURS = {"event_id", "schema_version", "occurred_at", "user_id", "actor", "lines"}
"""Fields of a command that the server fills in: who says so, when, about whom, and what the log says."""
THEIRS = frozenset(SkillCommand.model_fields) - OURS

History = Callable[[str, str], list[SkillDiff]]
"""All diffs of a user in a domain."""


def command_of(body: bytes, user: str, actor: str, history: History) -> SkillCommand:
    """The command that a body asks for. May read the log, and so blocks.

    Args:
        body: JSON, as it came.
        user: whose skill it is about, by the path.
        actor: who sent it, by the token.
        history: where the lines of an earlier version are found.

    Raises:
        Problem: it asks for nothing that can be sent.
    """
    asked = _fields(body)
    if asked.get("action") == Action.ROLL_BACK:
        asked["lines"] = _lines(asked, user, history)
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "actor": actor}
    try:
        return SkillCommand.model_validate({**asked, **envelope})
    except ValidationError as error:
        raise not_valid(error) from None


class Changes:
    """Sends commands and waits for what comes of them. Each thread keeps a producer: a new one needs a second.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._own = threading.local()

    def carry_out(self, command: SkillCommand) -> SkillDiff | None:
        """What a worker makes of it; None if none has come to it in time. Blocks.

        Raises:
            Problem: Kafka does not take it, or does not answer.
        """
        try:
            self._own.outbox = getattr(self._own, "outbox", None) or Outbox(self._settings)
            with Commander(self._settings, command.user_id, self._own.outbox) as commander:
                return commander.carry_out(command, self._settings.http_wait_seconds)
        except (KafkaException, StreamsError) as error:
            self._own.outbox = None  # it goes on telling of what it could not send
            raise Problem(
                503, "Kafka did not confirm the command; it may or may not be carried out", {"Retry-After": "5"}
            ) from error


def _fields(body: bytes) -> dict[str, Any]:
    try:
        asked = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise Problem(400, "the body is no JSON") from None
    if not isinstance(asked, dict):
        raise Problem(422, "the body must be a JSON object")
    if others := sorted(set(asked) - THEIRS):
        told = ", ".join(name[:40] for name in others[:5])
        raise Problem(422, f"these fields are not for you to fill: {told}. Yours are {', '.join(sorted(THEIRS))}")
    return asked


def _lines(asked: dict[str, Any], user: str, history: History) -> list[Any]:
    """The lines of the version to go back to, as the log has them: nobody is to bring lines of their own."""
    domain, version = asked.get("domain"), asked.get("to_version")
    if not isinstance(domain, str) or not isinstance(version, int):
        raise Problem(422, "roll-back needs domain and to_version")
    then = at_version(history(user, domain), version)
    if then is None:
        raise Problem(409, "there is no such version of this skill, or the snapshot does not have it yet")
    return [line.model_dump() for line in then.attributes]

"""Forgetting: the request, the receipt that remains, and the digests that stand for what must not be named."""

import hashlib
import hmac
from datetime import datetime
from typing import Annotated, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import to_json

from .base import Event, Model
from .fields import DomainField, Identifier, Label, UserIdField, UtcDatetime

MAX_DOMAINS = 64
MAX_LINES = 256
MAX_KNOWN = 2_048
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 in hexadecimal digits."""


def subject_of(user_id: str) -> str:
    """The digest that stands for a person in a receipt: one-way, the same everywhere, and computable in DuckDB.

    It hides the id, but anyone with a list of ids can still match them.
    """
    return hashlib.sha256(b"sager " + user_id.encode()).hexdigest()


def line_of(user_id: str, domain: str, attribute_id: str) -> str:
    """The digest that stands for a line to forget, so that the line is not quoted."""
    return hashlib.sha256(to_json([user_id, domain, attribute_id])).hexdigest()


def known_as(user_id: str, event_id: str, secret: bytes = b"") -> str:
    """The digest by which a receipt knows an event of a person that was forgotten, or a request that was carried out.

    Args:
        user_id: the person.
        event_id: the event's id among theirs.
        secret: the deployment's; with it nobody else can test ids that can be guessed.
    """
    return hmac.digest(secret, to_json(["forgotten event", user_id, event_id]), "sha256").hex()[:16]


class ForgetRequest(Event):
    """Asks to forget a person, one of their domains or one line: everything learned or kept until now.

    It has a topic of its own, kept for one month (commands: three), and quotes nothing of what it erases.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"required": ["line"], "properties": {"line": {"not": {"type": "null"}}}},
            "then": {"required": ["domain"], "properties": {"domain": {"not": {"type": "null"}}}},
        }
    )
    TOPIC: ClassVar[str] = "forget-requests"

    user_id: UserIdField
    domain: DomainField | None = Field(default=None, description="Only this domain; none: all of them.")
    line: Digest | None = Field(default=None, description="Only this line of the domain, by its digest.")
    actor: Label

    @model_validator(mode="after")
    def _a_line_is_of_a_domain(self) -> Self:
        if self.line is not None and self.domain is None:
            raise ValueError("line needs domain")
        return self


class Forgotten(Model):
    """One thing that was forgotten: events up to `until` are never learned from again."""

    event_id: Identifier = Field(description="The request.")
    until: UtcDatetime
    actor: Label
    done: bool = Field(default=False, description="Whether the worker has removed everything that it holds itself.")
    versions: int = Field(default=0, ge=0, description="How many versions of skills were removed or rewritten.")


class Receipt(Event):
    """What was forgotten, when, and at whose request. People, lines and events appear only as digests.

    `event_id` is that of the newest request; `occurred_at` is when Kafka had it, whatever it says itself.
    """

    TOPIC: ClassVar[str] = "receipts"

    subject: Digest
    person: Forgotten | None = None
    domains: dict[DomainField, Forgotten] = Field(default_factory=dict, max_length=MAX_DOMAINS)
    lines: dict[Digest, Forgotten] = Field(default_factory=dict, max_length=MAX_LINES)
    known: tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")], ...] = Field(
        default=(),
        max_length=MAX_KNOWN,
        description="Forgotten events that are not learned from again, whatever their times say; newest last.",
    )
    seal: Digest | None = Field(default=None, description="Says that a worker wrote it, with the deployment's secret.")

    @property
    def scopes(self) -> tuple[Forgotten, ...]:
        """Everything that was forgotten, widest scope first."""
        person = () if self.person is None else (self.person,)
        return (*person, *self.domains.values(), *self.lines.values())

    def covers(self, domain: str | None, *moments: datetime) -> bool:
        """Whether an event at any of these moments is forgotten; without a domain, only with the whole person."""
        scopes = [self.person, self.domains.get(domain) if domain is not None else None]  # type: ignore[call-overload]
        return any(scope is not None and moment <= scope.until for scope in scopes for moment in moments)

    def covers_line(self, line: str, moment: datetime) -> bool:
        """Whether a line must not be learned from an event at this moment."""
        scope = self.lines.get(line)
        return scope is not None and moment <= scope.until

"""Erasure: the request, the receipt that remains, and digests in place of names."""

from datetime import datetime
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from .base import DomainField, Event, Identifier, Label, Model, UserIdField, UtcDatetime

MAX_DOMAINS = 64
MAX_LINES = 256
MAX_KNOWN = 2_048
# A SHA-256 in hexadecimal digits.
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ShortDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class ForgetRequest(Event):
    """A request to erase a person, one of their domains or one line: everything learned or kept until now.

    It has a topic of its own, kept for one month (commands: three), and quotes nothing of what it erases.
    """

    TOPIC: ClassVar[str] = "forget-requests"
    user_id: UserIdField
    domain: DomainField | None = Field(None, description="Only this domain; none: all of them.")
    line: Digest | None = Field(None, description="Only this line of the domain, by its digest.")
    actor: Label

    @model_validator(mode="after")
    def _a_line_is_of_a_domain(self) -> Self:
        if self.line is not None and self.domain is None:
            raise ValueError("line needs domain")
        return self


class ErasedScope(Model):
    """One erased scope: no event up to `until` is ever learned from again. `event_id` is the request's."""

    event_id: Identifier
    until: UtcDatetime
    actor: Label
    done: bool = Field(False, description="True if the worker has removed everything in its own stores.")
    versions: int = Field(0, ge=0, description="How many versions of skills were removed or rewritten.")


class Receipt(Event):
    """A person's erasures: what, when, and at whose request. People, lines and events appear only as digests.

    `event_id` is that of the newest request; `occurred_at` is the time at which Kafka received it. Events in `known`
    are never learned from, whatever their times.
    """

    TOPIC: ClassVar[str] = "receipts"
    subject: Digest
    person: ErasedScope | None = None
    domains: dict[DomainField, ErasedScope] = Field(default_factory=dict, max_length=MAX_DOMAINS)
    lines: dict[Digest, ErasedScope] = Field(default_factory=dict, max_length=MAX_LINES)
    known: tuple[ShortDigest, ...] = Field((), max_length=MAX_KNOWN)
    seal: Digest | None = Field(None, description="The worker's proof, with the deployment's secret.")

    @property
    def scopes(self) -> tuple[ErasedScope, ...]:
        """All erased scopes, widest first."""
        person = () if self.person is None else (self.person,)
        return (*person, *self.domains.values(), *self.lines.values())

    def covers(self, domain: str | None, *moments: datetime) -> bool:
        """Return True if an event at any of these moments is erased; without a domain, only with the whole person."""
        scopes = [self.person, self.domains.get(domain) if domain is not None else None]  # type: ignore[call-overload]
        return any(scope is not None and moment <= scope.until for scope in scopes for moment in moments)

    def covers_line(self, line: str, moment: datetime) -> bool:
        """Return True if a line must not be learned from an event at this moment."""
        scope = self.lines.get(line)
        return scope is not None and moment <= scope.until

"""Erasure: the request, and the receipt that remains, with digests instead of names."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import DomainField, Event, Identifier, Label, Model, UserEvent, UtcDatetime

MAX_DOMAINS = 64
MAX_LINES = 256
MAX_KNOWN = 2_048
# A SHA-256 in hexadecimal digits.
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
ShortDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class ForgetRequest(UserEvent, topic="forget-requests"):
    """A request to erase all data of a user, one domain or one line. It quotes no erased data."""

    domain: DomainField | None = Field(None, description="Only this domain; none: all of them.")
    line: Digest | None = Field(None, description="Only this line of the domain, by its digest.")
    actor: Label

    @model_validator(mode="after")
    def _check_domain(self) -> Self:
        if self.line is not None and self.domain is None:
            raise ValueError("line needs domain")
        return self


class ErasedScope(Model):
    """One erased scope: events up to `until` are never learned from. `event_id` is the request's."""

    event_id: Identifier
    until: UtcDatetime
    actor: Label
    done: bool = Field(False, description="True once the worker's stores are clean.")
    versions: int = Field(0, ge=0, description="Removed or rewritten versions of skills.")


class Receipt(Event, topic="receipts"):
    """A user's erasures: scope, time and actor. Users, lines and events appear only as digests.

    `event_id` is that of the newest request; `occurred_at` is the time when Kafka received it. Events in `known` are
    never learned from, whatever their times.
    """

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
        """Return True if an event at any of these moments is erased; without a domain, only by a full erasure."""
        scopes = [self.person, self.domains.get(domain) if domain is not None else None]  # type: ignore[call-overload]
        return any(scope is not None and moment <= scope.until for scope in scopes for moment in moments)

    def covers_line(self, line: str, moment: datetime) -> bool:
        """Return True if a line must not be learned from an event at this moment."""
        scope = self.lines.get(line)
        return scope is not None and moment <= scope.until

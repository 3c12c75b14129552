"""Commands that change a skill, requests to erase, and their receipts."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from .base import (
    AttributeId,
    Digest,
    DomainField,
    Event,
    Identifier,
    Label,
    Model,
    UserDomainEvent,
    UserEvent,
    UtcDatetime,
    is_empty,
)
from .skills import MAX_ATTRIBUTES, MAX_HYPOTHESES, Attribute, AttributeKind, HypothesisCounts, Tier

MAX_DOMAINS = 64
MAX_LINES = 256
MAX_KNOWN = 2_048
# A receipt with more lines erases any line: this digest matches all of them.
ANY_LINE = "0" * 64
ShortDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]


class ForgetRequest(UserEvent, topic="forget-requests"):
    """A request to erase a user, one domain or one line."""

    domain: DomainField | None = Field(None, description="Only this domain; none: all of them.")
    line: Digest | None = Field(None, description="Only this line of the domain, by its digest.")
    actor: Label

    @model_validator(mode="after")
    def _check_domain(self) -> Self:
        if self.line is not None and self.domain is None:
            raise ValueError("line needs domain")
        return self


class ErasedScope(Model):
    """One erased scope: events up to `until` are never learned from."""

    event_id: Identifier
    until: UtcDatetime
    actor: Label
    done: bool = Field(False, description="True once the worker's stores are clean.")
    versions: int = Field(0, ge=0, description="Removed or rewritten versions of skills.")


class Receipt(Event, topic="receipts"):
    """A user's erasures; users, lines and events appear only as digests.

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

    @property
    def reach(self) -> datetime:
        """The last moment that any scope covers."""
        return max((scope.until for scope in self.scopes), default=self.occurred_at)

    def has_done(self, request_id: str) -> bool:
        """Return True if this request is carried out."""
        return any(scope.done and scope.event_id == request_id for scope in self.scopes)

    def covers(self, domain: str | None, *moments: datetime) -> bool:
        """Return True if an event at any of these moments is erased."""
        scopes = [self.person, self.domains.get(domain) if domain is not None else None]  # type: ignore[call-overload]
        return any(scope is not None and moment <= scope.until for scope in scopes for moment in moments)

    def covers_line(self, line: str, moment: datetime) -> bool:
        """Return True if the line is erased for events at this moment."""
        scopes = [self.lines.get(name) for name in (line, ANY_LINE)]
        return any(scope is not None and moment <= scope.until for scope in scopes)


class Action(StrEnum):
    """The action of a skill command."""

    PIN = "pin"
    UNPIN = "unpin"
    REMOVE = "remove"
    ADD = "add"
    REWORD = "reword"
    SET_TIER = "set-tier"
    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    ROLL_BACK = "roll-back"
    IMPORT = "import"


def _not_silent(tier: Tier) -> Tier:
    if tier is Tier.SILENT:
        raise ValueError("must be 'low', 'medium' or 'high': remove the line instead of silencing it")
    return tier


AssignableTier = Annotated[Tier, AfterValidator(_not_silent)]


class SkillLineInput(Model):
    """A new line in a command."""

    kind: AttributeKind = AttributeKind.PREFERENCE
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    tier: AssignableTier = Tier.HIGH


_NEEDED = {
    Action.PIN: ("attribute_id",),
    Action.UNPIN: ("attribute_id",),
    Action.REMOVE: ("attribute_id",),
    Action.ADD: ("line",),
    Action.REWORD: ("attribute_id", "value"),
    Action.SET_TIER: ("attribute_id", "tier"),
    Action.ROLL_BACK: ("lines", "to_version"),
    Action.IMPORT: ("lines",),
}


class SkillCommand(UserDomainEvent, topic="skill-commands"):
    """A person's change of a skill, merged like a contrast."""

    action: Action
    attribute_id: AttributeId | None = Field(None, description="pin, unpin, remove, reword, set-tier: the line.")
    line: SkillLineInput | None = Field(None, description="add: the new line.")
    value: Label | None = Field(None, description="reword: the line's new text.")
    tier: AssignableTier | None = Field(None, description="set-tier: the line's new tier.")
    to_version: int | None = Field(None, ge=0, description="roll-back: the version to restore; 0: the seed.")
    version_at: UtcDatetime | None = Field(None, exclude_if=is_empty, description="roll-back: the version's time.")
    lines: tuple[Attribute, ...] | None = Field(None, max_length=MAX_ATTRIBUTES, description="roll-back, import.")
    hypotheses: dict[AttributeId, HypothesisCounts] = Field(
        default_factory=dict, max_length=MAX_HYPOTHESES, exclude_if=is_empty, description="roll-back, import."
    )
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _check_required_fields(self) -> Self:
        missing = [name for name in _NEEDED.get(self.action, ()) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"{self.action.value} needs {', '.join(missing)}")
        return self

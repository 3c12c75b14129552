"""The errors of this package."""


class SchemaError(Exception):
    """Base of all errors of the package `schemas`."""


class BadRecord(SchemaError, ValueError):
    """A record's bytes do not decode to the event of its topic.

    Args:
        reason: one of `REASONS`, a closed set that serves as a metric label.
        detail: for a person; clipped to 1,000 characters.
    """

    REASONS = ("empty", "not-json", "unknown-version", "invalid", "wrong-user", "from-the-future")

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail[:1000]


class UnknownTopic(SchemaError, KeyError):
    """No topic of this name is in the registry."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

"""Errors of portable folders."""

from streams.exceptions import StreamsError


class NotPortable(StreamsError, ValueError):
    """A folder is not a person's export, or was changed since; or a new one cannot be created there."""

"""What goes wrong with portable folders."""

from streams.exceptions import StreamsError


class NotPortable(StreamsError, ValueError):
    """A folder is no export of a person, or not as it was exported; or there is no place for a new one."""

"""What goes wrong in the materializer, in words that say what to do next."""

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot go on; the message says what to do."""

"""The materializer: writes public topics to DuckDB effectively once, and publishes snapshots."""

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot continue."""


class Damaged(MaterializerError):
    """The live file is damaged; the snapshot and Kafka have its rows."""

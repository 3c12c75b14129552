"""The materializer: writes every public topic to DuckDB, effectively once, and publishes snapshots for analysts."""

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot continue."""


class Damaged(MaterializerError):
    """The live file is damaged. The snapshot and Kafka hold its rows."""

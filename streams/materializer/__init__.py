"""The materializer: writes every public topic to DuckDB, effectively once, and publishes snapshots for analysts."""

from streams.materializer.exceptions import MaterializerError

__all__ = ["MaterializerError"]

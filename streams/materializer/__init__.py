"""The materializer: every public topic into DuckDB, exactly once in effect, and a snapshot of it for analysts."""

from streams.materializer.exceptions import MaterializerError

__all__ = ["MaterializerError"]

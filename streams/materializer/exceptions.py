"""The materializer's errors; their messages say what to do next."""

from pathlib import Path

from streams.exceptions import StreamsError


class MaterializerError(StreamsError, RuntimeError):
    """The materializer, or a reader of its snapshot, cannot continue; the message says what to do."""


class AnotherDeployment(MaterializerError):
    """A snapshot has another topic prefix, perhaps another tenant's.

    Args:
        path: the file.
        found: the file's prefix.
        ours: the configured prefix.
    """

    def __init__(self, path: Path, found: str, ours: str) -> None:
        super().__init__(
            f"{path} belongs to the prefix {found!r}, not {ours!r}: set SAGER_PREFIX to that, or SAGER_DATA_DIR or "
            "SAGER_DUCKDB to this deployment's own file"
        )
        self.found = found

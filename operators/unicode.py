"""Unicode's compatibility form in linear time: Python's own takes the square of what hostile text makes of it."""

import unicodedata

_CHUNK = 128


def nfkc(text: str, most: int) -> str:
    r"""The first `most` characters of the text in NFKC.

    `unicodedata.normalize` sorts runs of combining marks by insertion, and copies all that it has whenever a
    character becomes several (U+FDFA becomes 18): 4,000 such characters take it a fifth of a second. So it gets the
    text in pieces, which are cut before ASCII where there is any, and may part a letter from its marks only where
    there is none for 64 characters.

    >>> nfkc("ﬁction", 60), nfkc("\ufdfa" * 4_000, 3), nfkc("plain", 3)
    ('fiction', 'صلى', 'pla')
    """
    if text.isascii():
        return text[:most]
    parts: list[str] = []
    start = size = 0
    while start < len(text) and size < most:
        end = _end(text, start)
        parts.append(unicodedata.normalize("NFKC", text[start:end]))
        size += len(parts[-1])
        start = end
    return "".join(parts)[:most]


def _end(text: str, start: int) -> int:
    end = start + _CHUNK
    if end >= len(text):
        return len(text)
    # Nothing composes with an ASCII character that follows it.
    return next((at for at in range(end, start + _CHUNK // 2, -1) if text[at].isascii()), end)

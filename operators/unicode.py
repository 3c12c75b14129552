"""Unicode's compatibility form in linear time, and invisible characters.

Python's own normalisation takes the square of what hostile text makes of it, and Python does not know the property
`Default_Ignorable_Code_Point` (Unicode 18.0, DerivedCoreProperties.txt, under the Unicode License V3).
"""

import unicodedata
from bisect import bisect_right

_CHUNK = 128
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_STARTS = tuple(first for first, _ in IGNORABLE)


def is_ignorable(character: str) -> bool:
    r"""True for an invisible character: a filler, selector, joiner or tag.

    >>> is_ignorable("\u034f"), is_ignorable("\u3164"), is_ignorable("a")
    (True, True, False)
    """
    point = ord(character)
    at = bisect_right(_STARTS, point) - 1
    return at >= 0 and point <= IGNORABLE[at][1]


def nfkc(text: str, limit: int) -> str:
    r"""The first `most` characters of the text in NFKC.

    `unicodedata.normalize` takes quadratic time for runs of combining marks and for characters that become several
    (U+FDFA becomes 18). So it gets the text in pieces, which are cut before ASCII where there is any, and may part a
    letter from its marks only where there is none for 64 characters.

    >>> nfkc("ﬁction", 60), nfkc("\ufdfa" * 4_000, 3), nfkc("plain", 3)
    ('fiction', 'صلى', 'pla')
    """
    if text.isascii():
        return text[:limit]
    parts: list[str] = []
    start = size = 0
    while start < len(text) and size < limit:
        end = _end(text, start)
        parts.append(unicodedata.normalize("NFKC", text[start:end]))
        size += len(parts[-1])
        start = end
    return "".join(parts)[:limit]


def _end(text: str, start: int) -> int:
    end = start + _CHUNK
    if end >= len(text):
        return len(text)
    # Nothing composes with an ASCII character that follows it.
    return next((at for at in range(end, start + _CHUNK // 2, -1) if text[at].isascii()), end)

"""Scripts of letters, and their allowed mixtures (UTS 39, simplified)."""

import unicodedata
from functools import lru_cache
from typing import Final

# Scripts that part words by spaces and whose languages the list of words covers.
SPACED: Final = frozenset(
    {
        *("LATIN", "CYRILLIC", "GREEK", "ARABIC", "HEBREW", "HANGUL"),
        *("DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM"),
    }
)
UNSPACED: Final = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})
MARKS: Final = frozenset({"Mn", "Mc"})
# Scripts without a list of words: only very short values in them are phrases by shape.
TOLD_BY_FEW: Final = frozenset({"ARMENIAN", "GEORGIAN", "ETHIOPIC", "SINHALA", "ORIYA", "TIBETAN", "MONGOLIAN"})
_KNOWN: Final = SPACED | UNSPACED | TOLD_BY_FEW
_TOGETHER: Final = (frozenset({"CJK", "HIRAGANA", "KATAKANA"}), frozenset({"CJK", "HANGUL"}))
_LATIN_END, _MORE_LATIN, _MORE_LATIN_END = 0x250, 0x1E00, 0x1F00
_CYRILLIC_END = 0x0500


@lru_cache(maxsize=8_192)
def script_of(character: str) -> str:
    r"""Return a letter's script; "" if catalogues do not use it.

    Small capitals and letters of phonetics look like others: they are Latin by name only, and count as none.

    >>> script_of("e"), script_of("é"), script_of("ж"), script_of("\u1d07"), script_of("字"), script_of("\u3164")
    ('LATIN', 'LATIN', 'CYRILLIC', '', 'CJK', '')
    """
    name = unicodedata.name(character, "")
    script = name.partition(" ")[0].partition("-")[0]
    code = ord(character)
    if name == "KATAKANA-HIRAGANA PROLONGED SOUND MARK":
        return "KATAKANA"
    if name == "IDEOGRAPHIC ITERATION MARK":
        return "CJK"
    if "FILLER" in name or script not in _KNOWN:
        return ""
    if script == "LATIN" and not (code < _LATIN_END or _MORE_LATIN <= code < _MORE_LATIN_END):
        return ""
    if script == "CYRILLIC" and code >= _CYRILLIC_END:
        return ""
    return script


def go_together(scripts: frozenset[str]) -> bool:
    """Return True for one script, or those that Japanese and Korean mix."""
    return len(scripts) <= 1 or any(scripts <= allowed for allowed in _TOGETHER)


@lru_cache(maxsize=16_384)
def scripts_of(text: str) -> frozenset[str]:
    """The scripts of a text's letters."""
    return frozenset(script_of(c) for c in text if c.isalpha())


def words_of(text: str) -> list[str]:
    """The words of a text: letters, marks and digits together."""
    return "".join(c if c.isalnum() or unicodedata.category(c) in MARKS else " " for c in text).split()

"""Pasted text in a turn, by its shape or announcement."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from sager_language.corrections.language import LANGUAGES
from sager_language.preferences.language import sections
from sager_language.preferences.quotes import is_title, quotations
from sager_language.text import Lazy

# Text after this many was pasted, not typed.
MAX_COLONS: Final = 60
MAX_REQUESTS: Final = 60
MAX_INTRO_CHARS: Final = 240
MIN_BODY_CHARS: Final = 80

_QUOTE_LINE: Final = Lazy(r"(?:^[ \t]*(?:>|\||&gt;).*\n?)+", re.MULTILINE)
_FENCE: Final = Lazy(r"^[ \t]*(```+|~~~+).*$", re.MULTILINE)
_INLINE_FENCE: Final = Lazy(r"```+")
_INLINE_CODE: Final = Lazy(r"`[^`\n]{1,400}`")
_INDENTED: Final = Lazy(r"(?:^(?: {4,}|\t).*\n?)+", re.MULTILINE)
_RULE: Final = Lazy(r"^[ \t]*(?:([-=_*~#+.<>\"'\u2014\u2500])\1{2,}|[-=*~#+<>]{2,}[ \t]*\w).*$", re.MULTILINE)
_TAG: Final = Lazy(r"[<\[](/?)([A-Za-z][\w-]{0,30})(?:[ =][^<>\[\]\n]{0,200})?[>\]]")
_HEADER: Final = Lazy(
    r"^[ \t*_]*(?:subject|from|to|cc|bcc|date|sent|reply-to|re|fwd?|betreff|von|an|gesendet|datum|objet|de|asunto)"
    r"[*_]*[ \t]?:",
    re.MULTILINE | re.IGNORECASE,
)
_WROTE: Final = Lazy(
    r"^(?![^\n]{0,160}\b(?:i|ich)(?:['\u2019]ve)? (?:\w+ ){0,2}(?:wrote|schrieb|schreibe)\b)[^\n]{0,160}\b"
    r"(?:wrote|writes|schrieb|schreibt|\u00e9crit|escribi\u00f3|ha scritto|schreef|skrev|escreveu)\b"
    r"(?! ich\b)[^\n:]{0,80}:[ \t]*$"
    r"|^[ \t]*[-_=*>]{2,}.{0,30}\b(?:original|forwarded|weitergeleitete?|urspr\u00fcngliche)\b.*$"
    r"|^[ \t]*begin forwarded message.*$",
    re.MULTILINE | re.IGNORECASE,
)
_SALUTATION: Final = Lazy(
    r"^[ \t\"']*(?:dear|sehr geehrte[rsn]?|liebe[rs]?|lieber|hi|hello|hey|hallo|guten tag)\b[^\n.!?]{1,60},[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_GREETS: Final = Lazy(r"^[ \t]*(?:hi|hello|hey|hallo|guten tag)\b", re.IGNORECASE)
_LOG: Final = Lazy(
    r"(?:^[ \t]*(?:[\[(]?\d{1,4}[-:/.]\d{1,2}[-:/.\d T,]*(?:[ap]m)?[\])]?\s.*"
    r"|\[?(?:trace|debug|info|warn|warning|error|fatal|critical)\]?[ :\]].*)\n?)+",
    re.MULTILINE | re.IGNORECASE,
)
_TABLE: Final = Lazy(r"(?:^[^\n|\t;]*(?:\|[^\n|]*\||\t[^\n\t]*\t|;[^\n;]*;[^\n;]*;).*\n?)+", re.MULTILINE)
_SPEAKER: Final = Lazy(
    r"^[ \t*_\[]*([A-Z\u00c0-\u00de][\w.'\u2019-]{0,30}(?: [A-Z\u00c0-\u00de][\w.'\u2019-]{0,30}){0,3}"
    r"(?: \([^)\n]{1,30}\))?)[*_\]]*[ \t]?:(?=\s).*$",
    re.MULTILINE,
)
_COLON: Final = Lazy(r"[:\uff1a](?=[\s\"'\u201c\u201e\u201d\u00ab\u00bb\u300c\u2018\u201a]|$)")
_WORD: Final = Lazy(r"[^\W\d_]+")
_SENTENCE_BREAK: Final = Lazy(r"[.!?\n\u3002]")


Span = tuple[int, int]


def pasted(text: str) -> Iterator[Span]:
    """The parts that were pasted, in no order; they may overlap."""
    for pattern in (_QUOTE_LINE, _LOG, _TABLE, _INLINE_CODE):
        yield from ((match.start(), match.end()) for match in pattern.finditer(text))
    yield from _code(text)
    yield from _mail(text)
    yield from _transcript(text)
    yield from _tagged(text)
    yield from _ruled(text)
    quoted = quotations(text)
    yield from ((start, end) for start, end in quoted if not is_title(text[start:end]))
    yield from _announced(text, dict(quoted))


def words_of(section: str) -> tuple[str, ...]:
    """The words of a section in every language."""
    return tuple(word for name in LANGUAGES for line in sections(name).get(section, ()) for word in line.split(" | "))


@cache
def any_of(section: str) -> re.Pattern[str]:
    """One of a section's words, in any language, by themselves."""
    longest_first = sorted(words_of(section), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)


def _code(text: str) -> Iterator[Span]:
    fences = [match.start() for match in _INLINE_FENCE.finditer(text)]
    fences += [match.start() for match in _FENCE.finditer(text) if match[1][0] == "~"]
    fences.sort()
    for at in range(0, len(fences), 2):
        end = fences[at + 1] + 3 if at + 1 < len(fences) else len(text)
        yield fences[at], end
    yield from ((match.start(), match.end()) for match in _INDENTED.finditer(text))


def _mail(text: str) -> Iterator[Span]:
    for match in _WROTE.finditer(text):
        behind = text[match.end() :].lstrip()
        if not behind.startswith(">"):
            yield match.start(), len(text)
            break
        # Its lines may be wrapped: the quotation ends with a blank line that no further quotation follows.
        yield match.start(), _paragraph_end(text, text.find(">", match.end()))
    if header := _HEADER.search(text):
        yield header.start(), len(text)
    for match in _SALUTATION.finditer(text):
        if text[: match.start()].strip() or not _GREETS.match(match[0]):
            yield match.start(), len(text)
            break


def _transcript(text: str) -> Iterator[Span]:
    known = {word.casefold() for word in words_of("headings")}
    for match in _SPEAKER.finditer(text):
        if match[1].casefold() not in known and not any_of("text-nouns").search(match[1]):
            yield match.start(), match.end()


def _tagged(text: str) -> Iterator[Span]:
    tags = list(_TAG.finditer(text))
    closes = {tag[2].lower(): tag.end() for tag in tags if tag[1]}
    until = 0
    for tag in tags:
        if not tag[1] and tag.start() >= until and (end := closes.get(tag[2].lower(), 0)) > tag.end():
            yield tag.start(), end
            until = end
        elif not tag[1] and tag[2].lower() in {"blockquote", "quote", "pre", "code", "email", "text", "document"}:
            yield tag.start(), len(text)
            return


def _ruled(text: str) -> Iterator[Span]:
    lines = [match for match in _RULE.finditer(text) if not match[0].lstrip().startswith(("- ", "* ", "+ ", "# "))]
    lines = [line for line in lines if not re.match(r"[ \t]*#{1,6} ", line[0])]
    for at in range(0, len(lines), 2):
        end = lines[at + 1].end() if at + 1 < len(lines) else len(text)
        yield lines[at].start(), end


def _announced(text: str, quoted: dict[int, int]) -> Iterator[Span]:
    start = _behind_colon(text)
    if start is None:
        start = _behind_request(text)
    if start is None:
        return
    begins = start + len(text[start:]) - len(text[start:].lstrip())
    yield start, quoted.get(begins, len(text))


def _behind_colon(text: str) -> int | None:
    for count, colon in enumerate(_COLON.finditer(text)):
        if count == MAX_COLONS:
            return colon.end()
        intro = _sentence_before(text, colon.start())
        if any(any_of(name).search(intro) for name in ("text-nouns", "text-verbs", "look-verbs", "reports")):
            return colon.end()
        behind = text[colon.end() :]
        is_list = re.match(r"\s*\n\s*(?:[-*\u2022\u2013+]|\d{1,2}[.)])\s", behind)
        if re.match(r"[ \t]*\r?\n", behind) and not is_list and len(behind) > MIN_BODY_CHARS:
            return colon.end()
    return None


def _behind_request(text: str) -> int | None:
    works, looks = frozenset(words_of("text-verbs")), frozenset(words_of("look-verbs"))
    verbs = (word for word in _WORD.finditer(text) if word[0].lower() in works or word[0].lower() in looks)
    for count, verb in enumerate(verbs):
        begins = verb.start() - len(_sentence_before(text, verb.start()))
        ends = _SENTENCE_BREAK.search(text, verb.end(), verb.end() + MAX_INTRO_CHARS)
        end = ends.end() if ends else min(len(text), verb.end() + MAX_INTRO_CHARS)
        if count == MAX_REQUESTS:
            return end
        asks = text[begins:end]
        is_of_text = any_of("text-nouns").search(asks) is not None
        is_of_this = verb[0].lower() in works and any_of("deictics").search(asks) is not None
        if (is_of_text or is_of_this) and text[end:].strip():
            return end
    return None


def _sentence_before(text: str, end: int) -> str:
    before = text[max(0, end - MAX_INTRO_CHARS) : end]
    breaks = [match.end() for match in _SENTENCE_BREAK.finditer(before)]
    return before[breaks[-1] :] if breaks else before


def _paragraph_end(text: str, at: int) -> int:
    while True:
        blank = re.compile(r"\n[ \t]*\r?\n").search(text, at)
        if blank is None:
            return len(text)
        if not text[blank.end() :].lstrip().startswith(">"):
            return blank.start()
        at = blank.end()

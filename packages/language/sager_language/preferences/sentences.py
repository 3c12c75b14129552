"""A text's sentences that may be about its writer."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sager_language.corrections.tokens import tokens
from sager_language.corrections.units import Spelt, Unit
from sager_language.preferences.language import Language, language_of
from sager_language.text import Lazy

# A longer one is not read: spoken sentences are shorter, and its parts are ambiguous.
MAX_SENTENCE_CHARS: Final = 600
_SENTENCE: Final = Lazy(r"(?:[^.!?\n\u2026\u3002]|[.](?=\w)|\n(?=[a-z\u00e4\u00f6\u00fc]))+[.!?\u2026\u3002]*")
_OF_ONESELF: Final = {
    "en": Lazy(
        r"\b(?:i|im|ive|i['\u2019]\w+|me|my|forget|favou?rites?|recommend\w*|suggest\w*|remember\w*|erase|delete|remove"
        r"|purge|scrub|wipe|disregard|discard|ignore|unremember|unlearn|expunge|redact|blot|shred|get rid"
        r"|we(?:['\u2019]\w+)?|off the record|drop|lose (?:the|that|this|all|any|every|what)|strike|scrap|scratch|ditch"
        r"|dump|dispose|throw"
        r"|retract|withdraw|revoke|pretend|as if|mention\w*|bring(?:ing)? up|on file"
        r"|(?:don['\u2019]?t|do not|stop) (?:store|keep|save|bring|note|record|hold|track|use|log|storing|keeping)"
        r"|your (?:notes|memory|files|records|head|list)"
        r"|no record|nothing about|take|leave|keep|you (?:know|saved|stored|have|noted|kept)"
        r"|no more|there(?:['\u2019]s| is) nothing|nothing (?:beats|tops|compares|comes close))\b"
        r"|kidding|joking|^\W*(?:psych|jk|not)\b"
        # Without a subject, as people write in a hurry.
        r"|^\W*(?:went|gone|done with|over|so over|no longer|stopped|quit|gave up|switched|moved|swapped|traded|ditched"
        r"|bored|sick of|tired of|fed up|can['\u2019]?t|never)\b"
        r"|^\W*(?:\w+,? )?(?:love|adore|hate|(?:big|huge|massive|lifelong|proud) fan|obsessed|hooked"
        r"|addicted|in love|count)\b"
        r"|all the way\b|you (?:\w+ )?can['\u2019]?t beat\b|hard pass|\b(?:is|are) (?:out|history|over)\b"
        # Lasting requests to an assistant.
        r"|\bplease\b|\b(?:from (?:now|here)|going forward|in future|your (?:answers?|repl(?:y|ies)|responses?))\b"
        r"|^\W*(?:\w+,? )?(?:always|only|never|answer|reply|respond|write|speak|talk|been)\b|\b(?:fan|person|here)\W*$",
        re.IGNORECASE,
    ),
    "de": Lazy(
        r"\b(?:ich|mir|mich|wir|meine?[nmrs]?|vergiss|vergesse\w*|vergessen|merke?|l\u00f6sch\w*|streiche?|entferne"
        r"|nichts mehr|scherz|spa(?:\u00df|ss)|tilge\w*|radier\w*|verwirf|wirf|nimm|lass|raus|weg|behalt\w*|speicher\w*"
        r"|notier\w*|erw\u00e4hn\w*|denk|dich nichts|dein\w* (?:notizen|ged\u00e4chtnis|akte|kopf)|gespeichert"
        r"|du (?:brauchst|musst)|tu so|nie wieder|schmei\u00df|nicht mehr"
        r"|geh(?:t|en) (?:\w+ )?(?:immer|gar nicht|\u00fcberhaupt nicht|nichts)|nichts geht"
        r"|es gibt (?:\w+ ){0,2}nichts|fan (?:von|vom|der|des))\b"
        r"|bitte|ab (?:sofort|jetzt)|von nun an|k\u00fcnftig|in zukunft|(?:bei|f\u00fcr) uns|antworte|duze?|sieze?"
        r"|^\W*(?:\w+,? )?(?:hasse?|mag|ess?e?|trinke?|bin|habe?|stehe?|kann|immer|nur)\b"
        r"|^\W*lieber (?:\w+ ){1,3}als\b",
        re.IGNORECASE,
    ),
}
# They distinguish languages if a sentence has cues of several: English `im` is `I am`, German `im` is `in the`.
_FUNCTION_WORDS: Final = {
    "en": Lazy(
        r"\b(?:i|i['\u2019]\w+|my|the|an?|is|are|of|to|and|for|with|on|it|that|this|you|your|not|do|don['\u2019]?t|at)\b",
        re.IGNORECASE,
    ),
    "de": Lazy(
        r"\b(?:ich|mir|mich|mein\w*|der|das|den|dem|des|ein|eine[nmrs]?|und|ist|sind|nicht|kein\w*|mit|auf|f\u00fcr|von"
        r"|zu[mr]?|im|beim?|vo[mr]|aus|nach|seit|auch|noch|nur|immer|mehr|als|wie|du|dir|dich|dein\w*|bitte|es)\b",
        re.IGNORECASE,
    ),
}
_OF_OTHERS: Final = {
    "en": Lazy(r"\b(?:loves?|likes?|hates?|prefers?|enjoys?|adores?|dislikes?|avoids?|stand)\b", re.IGNORECASE),
    "de": Lazy(
        r"\b(?:mag|m\u00f6gen|liebt|lieben|hasst|hassen|bevorzug\w+|isst|trinkt|gef\u00e4llt|meidet)\b", re.IGNORECASE
    ),
}
_GERMAN: Final = Lazy(
    r"\b(?:der|die|das|den|dem|ist|sind|und|mehr|jetzt|heute|nicht|kein\w*|statt|f\u00fcr|mit|von|war|waren|zu|hallo)\b",
    re.IGNORECASE,
)
_OF_PLAY: Final = {
    "en": Lazy(
        r"role|pretend|imagine|once upon|\bact(?:ing)? as\b|character|viewpoint|point of view|speak as|the voice of"
        r"|perspective|first person|\bmaster\b|narrator|back to reality|in which i\b|where i\b"
        r"|\b(?:pirate|knight|wizard|detective|customer|patient|vampire|king|queen|captain|elf|waiter|witch|robot)\b",
        re.IGNORECASE,
    ),
    "de": Lazy(
        r"rolle|tu so|tun wir so|stell dir|\bspiele?\b|sicht|perspektive|realit\u00e4t|es war einmal|in der ich"
        r"|\b(?:pirat|figur|ritter|zauberer|detektiv|kunde|kundin|patient|vampir|k\u00f6nig|elf|kellner|arzt)",
        re.IGNORECASE,
    ),
}


@dataclass(frozen=True)
class Sentence:
    """A sentence as units.

    Attributes:
        text: of the whole span, to which places refer, on one line.
        start: where it begins.
        units: its words and pauses.
        spelt: the same as one text.
        is_question: whether it ends with a question mark.
        language: that it is in.
    """

    text: str
    start: int
    units: tuple[Unit, ...]
    spelt: Spelt
    is_question: bool
    language: Language


def sentences(text: str, budget: int, known: Callable[[str], bool] = lambda _: False) -> Iterator[Sentence]:
    """Return the sentences that may contain a statement, in order."""
    return _told(text, budget, (_OF_ONESELF, _OF_OTHERS), known)


def sentences_of_play(text: str, budget: int) -> Iterator[Sentence]:
    """Return the sentences that may begin or end a role play."""
    return _told(text, budget, (_OF_PLAY,))


def units_before(text: str, start: int) -> tuple[Unit, ...]:
    """Return the units of the sentence before this place, if any."""
    before = [match[0] for match in _SENTENCE.finditer(text[max(0, start - MAX_SENTENCE_CHARS) : start])]
    said = [each for each in before if any(map(str.isalnum, each))]
    return tuple(Unit(token.text, token.start, token.end) for token in tokens(said[-1])) if said else ()


def _spoken_in(said: str, cues: Mapping[str, Lazy]) -> str | None:
    names = [name for name, pattern in cues.items() if pattern.search(said)]
    if not names[1:]:
        return next(iter(names), None)
    return max(names, key=lambda name: len(_FUNCTION_WORDS[name].findall(said)))


def _told(
    text: str,
    budget: int,
    cues: Sequence[Mapping[str, Lazy]],
    known: Callable[[str], bool] = lambda _: False,
) -> Iterator[Sentence]:
    for match in _SENTENCE.finditer(text):
        said = match[0]
        if len(said) > MAX_SENTENCE_CHARS:
            continue
        name = next(filter(None, (_spoken_in(said, cue) for cue in cues)), None)
        if name is None and known(said):
            name = "de" if _GERMAN.search(said) else "en"
        if name is None:
            continue
        budget -= len(said)
        if budget < 0:
            return
        flat = said.replace("\n", " ").replace("\r", " ")
        body = flat.rstrip(".!?\u2026\u3002 ")
        units = tuple(
            Unit(token.text, token.start + match.start(), token.end + match.start()) for token in tokens(body)
        )
        yield Sentence(text, match.start(), units, Spelt.of(units), "?" in flat[len(body) :], language_of(name))


MAX_PIECE_CHARS: Final = 200
_PIECE: Final = re.compile(r"(?:[^.!?\n\u2026\u3002]|[.](?=\w)|\n(?=[a-z\u00e4\u00f6\u00fc]))+[.!?\u2026\u3002]*")
_PAUSE: Final = re.compile(r"[,;:\u2013\u2014](?=\s)")


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sentences; long ones are cut at pauses.

    >>> text = "Well. I run at 6.30 every day!"
    >>> [text[start:end] for start, end in pieces(text)]
    ['Well.', 'I run at 6.30 every day!']
    """
    for match in _PIECE.finditer(text):
        start, end = match.span()
        while end - start > MAX_PIECE_CHARS:
            cut = _cut(text, start)
            yield from _stripped(text, start, cut)
            start = cut
        yield from _stripped(text, start, end)


def _cut(text: str, start: int) -> int:
    last = start + MAX_PIECE_CHARS
    pauses = [match.end() for match in _PAUSE.finditer(text, start, last)]
    if pauses:
        return pauses[-1]
    space = max(text.rfind(" ", start, last), text.rfind("\n", start, last))
    return space if space > start else last


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    said = text[start:end]
    begins, ends = start + len(said) - len(said.lstrip()), start + len(said.rstrip())
    if begins < ends:
        yield begins, ends

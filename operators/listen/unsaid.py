"""What waits of conversations without what tells of something forgotten: nobody is asked about it any more."""

import re
from collections.abc import Collection
from datetime import datetime
from typing import Final

from operators.cards.lines import Words, all_words, words_of
from operators.tokens import count_tokens
from schemas import Chunk, Listening, Turn

_SENTENCE: Final = re.compile(r"[^.!?\n\u2026\u3002]+[.!?\u2026\u3002]*[ \t]*|[.!?\n\u2026\u3002]+")


def unsaid(
    listening: Listening, values: Collection[str], until: datetime | None = None, but: Chunk | None = None
) -> Listening:
    """What waits, without the sentences that have all the words of what is forgotten. It leans to forgetting.

    Args:
        listening: what waits of a person's conversations.
        values: what the forgotten lines said, or what the person calls what they want forgotten.
        until: what was said later stays; None: none of what waits was.
        but: a chunk that stays as it is, because it is done with. So does what was thought over.
    """
    gone = [(words, value.casefold()) for value in values if (words := words_of(value))]
    if not gone:
        return listening
    chunks = [
        each if each == but or each.thought is not None else _chunk(each, gone, until) for each in listening.chunks
    ]
    return listening.model_copy(update={"chunks": tuple(each for each in chunks if each.turns)})


def _chunk(chunk: Chunk, gone: Collection[tuple[Words, str]], until: datetime | None) -> Chunk:
    turns = tuple(turn if until is not None and turn.said_at > until else _turn(turn, gone) for turn in chunk.turns)
    if turns == chunk.turns:
        return chunk
    less = sum(
        count_tokens(before.text) - count_tokens(after.text)
        for before, after in zip(chunk.turns, turns, strict=True)
        if before is not after
    )
    kept = tuple(turn for turn in turns if turn.text.strip())
    return chunk.model_copy(update={"turns": kept, "tokens": max(chunk.tokens - less, 0)})


def _turn(turn: Turn, gone: Collection[tuple[Words, str]]) -> Turn:
    told = _told(turn.text, gone)
    if not told:
        return turn
    kept = (said for said in _SENTENCE.findall(turn.text) if not _told(said, told))
    return turn.model_copy(update={"text": "".join(kept).strip()})


def _told(text: str, gone: Collection[tuple[Words, str]]) -> list[tuple[Words, str]]:
    """What of it a text tells."""
    words, folded = all_words(text), text.casefold()
    # In other alphabets words may stand without spaces between them.
    return [each for each in gone if each[0] <= words or (not each[1].isascii() and each[1] in folded)]

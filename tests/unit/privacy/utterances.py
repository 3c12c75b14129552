"""The utterances that a person's listening is judged by: what they say that must not be kept, and what is harmless.

Every number has the check digits of its country and was made up, as were all names and streets.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from streams.privacy import DEFAULT

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Said:
    """One turn.

    Attributes:
        id, language, kind: its name, and what is in it.
        text: what was said.
        before: the turn before it, where that asks for what this one tells.
        never: the parts that must not be kept; a harmless one has none.
    """

    id: str
    language: str
    kind: str
    text: str
    before: str = ""
    never: tuple[str, ...] = ()


def read(name: str) -> Iterator[Said]:
    """The utterances of a file: `private` or `harmless`."""
    for row in (HERE / f"utterances-{name}.jsonl").read_text(encoding="utf-8").splitlines():
        told = json.loads(row)
        yield Said(**(told | {"never": tuple(told.get("never", ()))}))


def turned(said: Said) -> str:
    """What is kept of it until it is thought over."""
    return DEFAULT.turn(said.text, before=said.before).text


def left(said: Said, kept: str) -> list[str]:
    """The parts that are still there, however they are spaced and in whatever digits."""
    held = _bare(kept)
    return [part for part in said.never if _bare(part) in held]


def kept(utterances: Sequence[Said], keeps: Callable[[Said], str] = turned) -> list[tuple[str, list[str]]]:
    """Which of those that are private were kept, and what of them."""
    return [(said.id, parts) for said in utterances if (parts := left(said, keeps(said)))]


def refused(utterances: Sequence[Said]) -> list[tuple[str, str]]:
    """Which of those that are harmless were changed, and what became of them."""
    return [(said.id, told) for said in utterances if (told := turned(said)) != said.text]


def languages(utterances: Sequence[Said]) -> Counter[str]:
    """How many there are in each language."""
    return Counter(said.language for said in utterances)


def _bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())

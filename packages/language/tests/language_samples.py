"""Objects that fit the protocols of `sager_language.types`, and readers of the corpora in `data`."""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from sager_language.personal import redact_turn
from sager_language.preferences import Extraction, extract_preferences
from sager_language.types import FREE, Fact, Value

DATA: Final = Path(__file__).parent / "data"
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Shown:
    """An item on the screen."""

    item_id: str
    title: str
    facts: tuple[Value, ...] = ()
    measures: Mapping[Any, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Spoken:
    """A turn of a conversation."""

    event_id: str
    text: str
    stated_at: datetime
    role: str = "user"
    domain: str | None = None


@dataclass(frozen=True)
class Known:
    """A preference that earlier conversations stated."""

    value: str
    stance: str = "prefers"
    dimension: str = FREE
    domain: str | None = None
    words: str = ""


def facts(*named: str) -> tuple[Value, ...]:
    """Return facts that are written as `dimension: value`."""
    return tuple(Value(*text.split(": ", 1)) for text in named)


def shown(item_id: str, *named: str, title: str, **measures: float) -> Shown:
    """Return an item with facts that are written as `dimension: value`."""
    return Shown(item_id, title, facts(*named), measures)


def turn(text: str, role: str = "user", at: int = 0, domain: str | None = None) -> Spoken:
    """Return the turn at a place of a conversation."""
    return Spoken(f"turn-{at}", text, NOON + timedelta(seconds=at), role, domain)


def extracted(
    *texts: str | Spoken, known: Sequence[Known] = (), vocabulary: Callable[[str], Sequence[Fact]] = lambda _: ()
) -> Extraction:
    """Return the preferences in these turns."""
    turns = [text if isinstance(text, Spoken) else turn(text, at=at) for at, text in enumerate(texts)]
    return extract_preferences(turns, vocabulary, known=known)


def lines(name: str) -> list[str]:
    """Return the lines of a corpus that are no comments."""
    read = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in read if line and not line.startswith("# ")]


def cases(name: str) -> Iterator[dict[str, Any]]:
    """Return the objects of a corpus of JSON lines."""
    return map(json.loads, lines(name))


@dataclass(frozen=True)
class Utterance:
    """One turn, private or harmless.

    Attributes:
        id, language, kind: its name, and the kind of what it contains.
        text: its words.
        before: the turn before it, if that asks for the private part.
        never: the private parts; a harmless one has none.
    """

    id: str
    language: str
    kind: str
    text: str
    before: str = ""
    never: tuple[str, ...] = ()


def utterances(name: str) -> list[Utterance]:
    """Return the utterances that are `private` or `harmless`."""
    return [Utterance(**(case | {"never": tuple(case.get("never", ()))})) for case in cases(f"utterances-{name}.jsonl")]


def redacted(said: Utterance) -> str:
    """Return the text of an utterance without personal data."""
    return redact_turn(said.text, said.before, frozenset()).text


def left(said: Utterance, kept: str) -> list[str]:
    """Return the private parts that a text still contains, in any spacing and digits."""
    held = _bare(kept)
    return [part for part in said.never if _bare(part) in held]


def leaks(said: Sequence[Utterance], keeps: Callable[[Utterance], str] = redacted) -> list[tuple[str, list[str]]]:
    """Return the ids of utterances of which a private part is kept, with these parts."""
    return [(each.id, parts) for each in said if (parts := left(each, keeps(each)))]


def languages(said: Sequence[Utterance]) -> Counter[str]:
    """Count the utterances of each language."""
    return Counter(each.language for each in said)


def _bare(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())

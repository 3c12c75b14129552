"""Persons and conversations in the layout of PersonaMem-v2, one per file.

Missing values count as nothing; values of an unexpected type are skipped and counted. An unreadable file stops no
other.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from evaluation.exceptions import QualityError
from schemas import MAX_UTTERANCE_CHARS, Speaker

FILES: Final = "*persona*.json"
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
SENSITIVE_TYPES: Final = frozenset({"therapy_background", "health_and_medical_conditions", "sensitive_information"})
_SPEAKERS: Final = {"user": Speaker.USER, "human": Speaker.USER} | dict.fromkeys(
    ("assistant", "ai", "chatgpt", "bot", "model"), Speaker.ASSISTANT
)
_SPEAKER: Final = re.compile(rf"^\s*\**({'|'.join(_SPEAKERS)})\**\s*:\**[ \t]*", re.IGNORECASE | re.MULTILINE)
# Characters of file names that do not belong in an id.
_UNFIT: Final = re.compile(r"[^\w.-]+")
_SELF: Final = frozenset({"", "self", "user", "me"})
# Names of a person's likes: `interests`, `hobbies`, `hobbies_and_interests`.
_LIKED: Final = re.compile(r"interest|hobb")
_QUOTED: Final = re.compile(r"'(.+)'", re.DOTALL)


class PreferenceKind(StrEnum):
    """The purpose that a conversation was written for."""

    PREFERENCE = "preference"
    FORGET = "forget"
    # Health, therapy, numbers and addresses, of which nothing may be kept.
    SENSITIVE = "sensitive"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn of a conversation."""

    role: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, and the truth behind it.

    `preference` is in the third person, such as "Enjoys early walks"; for FORGET it is the one to be forgotten.
    `before` is the preference that it replaces, `secret` a value that must not be kept, `strength` `said` or `implied`.
    `query` is a later question, which the preference changes the answer to, and `correct_answer` an example.
    """

    kind: str
    about: PreferenceKind
    preference: str
    turns: tuple[SpokenTurn, ...]
    of_others: bool = False
    before: str | None = None
    strength: str | None = None
    secret: str | None = None
    pref_type: str = ""
    query: str = ""
    correct_answer: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """The person of a file, with talks in order.

    `sensitive` values must not be kept; `described` are likes apart from any conversation; `skipped` counts unreadable
    parts by reason.
    """

    user_id: str
    talks: tuple[Talk, ...]
    sensitive: Mapping[str, str] = field(default_factory=dict)
    described: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file without a person, and why."""

    path: Path
    why: str


def read(folder: Path, most: int | None = None) -> Iterator[Person | Unreadable]:
    """The persons below a folder, by file name; QualityError if none."""
    count = 0
    for path in files(folder):
        try:
            for user_id, document in _persons(path):
                if most is not None and count >= most:
                    return
                count += 1
                yield person(user_id, document)
        except (OSError, ValueError, RecursionError) as error:
            yield Unreadable(path, str(error) or type(error).__name__)


def files(folder: Path) -> list[Path]:
    """The files of persons, `persona9` before `persona10`; QualityError if there is none."""
    if paths := sorted(folder.rglob(FILES), key=_natural):
        return paths
    raise QualityError(f"{folder} has no file {FILES}; see docs/datasets.md for the layout")


def _natural(path: Path) -> list[int | str]:
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", str(path)))]


def _persons(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The file's persons with their ids; ValueError if none."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
    document = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - the file is wrong, not the call
    found = document if "conversations" not in document else {"": document}
    persons = [each for each in found.values() if isinstance(each, dict) and "conversations" in each]
    if not persons:
        raise ValueError("no object in it has conversations")
    name = _UNFIT.sub("-", path.stem)[:200]
    for place, each in enumerate(persons):
        yield (name if place == 0 else f"{name}-{place}"), each


def person(user_id: str, document: Mapping[str, Any]) -> Person:
    """The person in one object of a file."""
    skipped: Counter[str] = Counter()
    by_kind = document.get("conversations")
    if isinstance(by_kind, list):
        by_kind = {"conversations": by_kind}
    if not isinstance(by_kind, dict):
        by_kind, skipped["conversations that are no object"] = {}, 1
    talks: list[Talk] = []
    for kind, elements in by_kind.items():
        for element in elements if isinstance(elements, list) else [elements]:
            talk = _talk(str(kind), element) if isinstance(element, dict) else None
            if talk is None:
                skipped["conversations without turns"] += 1
                continue
            talks.append(talk)
            if any(len(said.text) == MAX_UTTERANCE_CHARS for said in talk.turns):
                skipped[f"conversations with a turn of more than {MAX_UTTERANCE_CHARS:,} characters, cut to those"] += 1
    leaves = _leaves(document.get("sensitive_information"))
    sensitive = {name: value for name, found in leaves if (value := _text(found))}
    for talk in talks:
        if talk.secret is not None and talk.secret not in sensitive.values():
            sensitive[f"told-{len(sensitive)}"] = talk.secret
    liked = (value for key, value in document.items() if _LIKED.search(key))
    described = (_text(each) for value in liked for each in (value if isinstance(value, list) else [value]))
    return Person(user_id, in_order(talks), sensitive, tuple(filter(None, described)), dict(skipped))


def in_order(talks: Sequence[Talk]) -> tuple[Talk, ...]:
    """The talks in file order, but none before its predecessor.

    A file is sorted by kind of conversation, so an update may stand in an earlier kind than its original.
    """
    waiting, done = list(talks), list[Talk]()
    while waiting:
        ahead = {talk.preference for talk in waiting if talk.about is not PreferenceKind.FORGET and not talk.of_others}
        ready = [talk for talk in waiting if talk.before is None or talk.before not in ahead]
        first = (ready or waiting)[0]  # in a circle, the file's order
        waiting.remove(first)
        done.append(first)
    return tuple(done)


def _talk(kind: str, element: Mapping[str, Any]) -> Talk | None:
    turns = turns_of(element.get("conversations", element.get("conversation")))
    if not turns:
        return None
    preference = _text(element.get("preference"))
    before = _text(element.get("prev_pref")) or None
    pref_type = _text(element.get("pref_type")).lower()
    secret = element.get("sensitive_info")
    if isinstance(secret, dict):
        secret = next(iter(secret.values()), None)
    if pref_type == "ask_to_forget":
        about = PreferenceKind.FORGET
        quoted = _QUOTED.search(preference)
        before = preference = before or (quoted[1] if quoted else preference)
    elif "sensitive_info" in element or pref_type in SENSITIVE_TYPES:
        about = PreferenceKind.SENSITIVE
    else:
        about = PreferenceKind.PREFERENCE if preference else PreferenceKind.NOTHING
    strength = _text(element.get("strength")).lower()
    return Talk(
        kind=kind,
        about=about,
        preference=preference,
        turns=turns,
        of_others=_text(element.get("who")).lower() not in _SELF,
        before=before,
        strength=strength if strength in {"said", "implied"} else None,
        secret=_text(secret).partition(": ")[2] or _text(secret) or None,
        pref_type=pref_type,
        query=_query(element.get("user_query")),
        correct_answer=_text(element.get("correct_answer")),
    )


def _query(value: object) -> str:
    """The words of a question: a turn, its JSON, or a text."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    turns = turns_of([value] if isinstance(value, dict) else value)
    return turns[0].text if turns else ""


def turns_of(value: object) -> tuple[SpokenTurn, ...]:
    r"""The turns: objects with `role` and `content`, or one text.

    >>> [(turn.role.value, turn.text) for turn in turns_of("User: I ski.\nAssistant: Where?")]
    [('user', 'I ski.'), ('assistant', 'Where?')]
    """
    pairs: list[tuple[str, object]] = []
    if isinstance(value, str):
        parts = _SPEAKER.split(value)
        pairs = list(zip(parts[1::2], parts[2::2], strict=True)) or [("user", value)]
    for each in value if isinstance(value, list) else []:
        if isinstance(each, str):
            pairs += [(turn.role.value, turn.text) for turn in turns_of(each)]
        elif isinstance(each, dict):
            pairs.append((_text(each.get("role") or "user"), each.get("content", each.get("text"))))
    turns = [
        SpokenTurn(_SPEAKERS.get(role.strip().lower(), Speaker.OTHER), _content(content)) for role, content in pairs
    ]
    return tuple(turn for turn in turns if turn.text)


def _content(content: object) -> str:
    """The words of a turn, without pictures."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _text(content)[:MAX_UTTERANCE_CHARS].strip()


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Each value by the path of names and places to it."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{name}-{key}" if name else str(key))
    else:
        yield name, value


def _text(value: object) -> str:
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, str)), "")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    # JSON may hold lone surrogates, which no log takes.
    return str(value).encode("utf-8", "replace").decode().strip()

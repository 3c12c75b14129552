"""Persons with their conversations, as the raw files of PersonaMem-v2 have them: one person a file.

What a file lacks is taken as nothing; what is of another type than expected is skipped and counted. No file can stop
the others: one that is no such file is told with its path.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from evaluation.exceptions import QualityError
from schemas.utterances import MAX_UTTERANCE_CHARS, Role

FILES: Final = "*persona*.json"
MAX_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_NAME_CHARS: Final = 200
MAX_WRONG: Final = 9
"""More answers beside the right one nobody is asked about."""
FORGET: Final = "ask_to_forget"
SENSITIVE_TYPES: Final = frozenset({"therapy_background", "health_and_medical_conditions", "sensitive_information"})
_SPEAKERS: Final = {
    "user": Role.USER, "human": Role.USER, "assistant": Role.ASSISTANT, "ai": Role.ASSISTANT, "chatgpt": Role.ASSISTANT,
    "bot": Role.ASSISTANT, "model": Role.ASSISTANT,
}  # fmt: skip
_SPEAKER: Final = re.compile(rf"^\s*\**({'|'.join(_SPEAKERS)})\**\s*:\**[ \t]*", re.IGNORECASE | re.MULTILINE)
_UNFIT: Final = re.compile(r"[^\w.-]+")
"""What the name of a file may have and an id had better not."""
_SELF: Final = frozenset({"", "self", "user", "me"})
_LIKED: Final = re.compile(r"interest|hobb")
"""Names of what a person likes: `interests`, `hobbies`, `hobbies_and_interests`."""
_QUOTED: Final = re.compile(r"'(.+)'", re.DOTALL)


class BadPersons(QualityError, ValueError):
    """The folder has no file of a person."""


class About(StrEnum):
    """What a conversation was written to tell."""

    PREFERENCE = "preference"
    FORGET = "forget"
    SENSITIVE = "sensitive"
    """Health, therapy, numbers and addresses: nothing of it may be kept."""
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Said:
    """One turn."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A request with answers of which one suits the person best."""

    query: str
    right: str
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation, and what it tells.

    Attributes:
        kind: such as `personal_email`.
        pref_type: such as `stereotypical_pref`, as the file has it.
        about: what it was written to tell.
        preference: in the third person, such as "Enjoys early walks"; for FORGET what is to be forgotten.
        of_others: whether it is somebody else's.
        before: the preference that this one takes the place of.
        strength: `said` or `implied`, where the file tells.
        secret: a value that the person tells here and that must not be kept.
    """

    kind: str
    about: About
    preference: str
    turns: tuple[Said, ...]
    of_others: bool = False
    before: str | None = None
    strength: str | None = None
    secret: str | None = None
    question: Question | None = None
    pref_type: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a file.

    Attributes:
        talks: in the order in which they were held.
        sensitive: what must not be kept, by its name.
        described: what the file says that the person likes, apart from any conversation.
        skipped: what the file has that could not be read, by reason.
    """

    user_id: str
    talks: tuple[Talk, ...]
    sensitive: Mapping[str, str] = field(default_factory=dict)
    described: tuple[str, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is no file of a person, and why."""

    path: Path
    why: str


def read(folder: Path, most: int | None = None) -> Iterator[Person | Unreadable]:
    """The persons of a folder, by file name.

    Args:
        folder: with files whose names have `persona` in them and end in `.json`; those of folders below count too.
        most: stop after so many persons.

    Raises:
        BadPersons: there is no such file.
    """
    told = 0
    for path in files(folder):
        try:
            for user_id, document, beside in _persons(path):
                if most is not None and told >= most:
                    return
                told += 1
                yield person(user_id, document, beside)
        except (OSError, ValueError, RecursionError) as error:
            yield Unreadable(path, str(error) or type(error).__name__)


def files(folder: Path) -> list[Path]:
    """The files of a folder that may be of persons, as people sort.

    Raises:
        BadPersons: there is none.
    """
    if paths := sorted(folder.rglob(FILES), key=_natural):
        return paths
    raise BadPersons(f"{folder} has no file {FILES}; see docs/datasets.md for the layout")


def _natural(path: Path) -> list[int | str]:
    """As people sort: `persona9` before `persona10`."""
    parts = re.split(r"(\d+)", str(path))
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def _persons(path: Path) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    """The persons of one file, by an id that is unique over the folder; with the first, how many objects are none.

    Raises:
        ValueError: the file is none of persons.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES:,} bytes")
    document = json.loads(path.read_text(encoding="utf-8-sig", errors="replace"))
    if not isinstance(document, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - the file is wrong, not the call
    found = document if "conversations" not in document else {"": document}
    persons = {name: each for name, each in found.items() if isinstance(each, dict) and "conversations" in each}
    if not persons:
        raise ValueError("no object in it has conversations")
    name = _UNFIT.sub("-", path.stem)[:MAX_NAME_CHARS]
    for place, each in enumerate(persons.values()):
        yield (name if place == 0 else f"{name}-{place}"), each, 0 if place else len(found) - len(persons)


def person(user_id: str, document: Mapping[str, Any], beside: int = 0) -> Person:
    """The person in one object of a file, beside so many that have no conversations."""
    skipped: Counter[str] = Counter({"objects of a file without conversations": beside} if beside else {})
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
            else:
                talks.append(talk)
                skipped.update(_left_out(element, talk))
    sensitive = _sensitive(document.get("sensitive_information"))
    # What a conversation was written to let slip, should the list lack it.
    for talk in talks:
        if talk.secret is not None and talk.secret not in sensitive.values():
            sensitive[f"told-{len(sensitive)}"] = talk.secret
    described = tuple(text for key, told in document.items() if _LIKED.search(key) for text in _texts(told))
    return Person(user_id, in_order(talks), sensitive, described, dict(skipped))


def _left_out(element: Mapping[str, Any], talk: Talk) -> Iterator[str]:
    """What an element has that its talk has not, by reason."""
    if talk.question is None and any(element.get(key) for key in ("user_query", "topic_query", "incorrect_answers")):
        yield "questions without a right and a wrong answer"
    if talk.question is not None and len(talk.question.wrong) == MAX_WRONG < len(element["incorrect_answers"]):
        yield f"questions with more than {MAX_WRONG} wrong answers, asked with those"
    if any(len(said.text) == MAX_UTTERANCE_CHARS for said in talk.turns):
        yield f"conversations with a turn of more than {MAX_UTTERANCE_CHARS:,} characters, cut to those"


def in_order(talks: Sequence[Talk]) -> tuple[Talk, ...]:
    """The talks as the file has them, but none before the one that it takes something back of.

    A file is sorted by kind of conversation, an update may stand in an earlier kind than what it updates.
    """
    waiting, done = list(talks), list[Talk]()
    while waiting:
        ahead = {talk.preference for talk in waiting if talk.about is not About.FORGET and not talk.of_others}
        ready = [talk for talk in waiting if talk.before is None or talk.before not in ahead]
        if not ready:  # a circle: as the file has it
            ready = waiting[:1]
        first = ready[0]
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
    if pref_type == FORGET:
        about = About.FORGET
        quoted = _QUOTED.search(preference)
        preference = before or (quoted[1] if quoted else preference)
        before = preference
    elif "sensitive_info" in element or pref_type in SENSITIVE_TYPES:
        about = About.SENSITIVE
    else:
        about = About.PREFERENCE if preference else About.NOTHING
    strength = _text(element.get("strength")).lower()
    return Talk(
        kind=kind,
        about=about,
        preference=preference,
        turns=turns,
        of_others=_text(element.get("who")).lower() not in _SELF,
        before=before,
        strength=strength if strength in {"said", "implied"} else None,
        secret=_secret(element.get("sensitive_info")),
        question=_question(element),
        pref_type=pref_type,
    )


def turns_of(told: object) -> tuple[Said, ...]:
    r"""The turns of a conversation: objects with `role` and `content`, or one text with the speakers' names.

    >>> [(turn.role.value, turn.text) for turn in turns_of("User: I ski.\nAssistant: Where?")]
    [('user', 'I ski.'), ('assistant', 'Where?')]
    """
    if isinstance(told, str):
        parts = _SPEAKER.split(told)
        pairs: list[tuple[str, object]] = list(zip(parts[1::2], parts[2::2], strict=True)) or [("user", told)]
    else:
        pairs = []
        for each in told if isinstance(told, list) else []:
            if isinstance(each, str):
                pairs += [(turn.role.value, turn.text) for turn in turns_of(each)]
            elif isinstance(each, dict):
                pairs.append((_text(each.get("role") or "user"), each.get("content", each.get("text"))))
    turns = [Said(_SPEAKERS.get(role.strip().lower(), Role.OTHER), _content(content)) for role, content in pairs]
    return tuple(turn for turn in turns if turn.text)


def _content(content: object) -> str:
    """The words of a turn: a text, or parts of which some are text and others pictures."""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        content = "\n".join(part for part in parts if isinstance(part, str))
    return _text(content)[:MAX_UTTERANCE_CHARS].strip()


def _question(element: Mapping[str, Any]) -> Question | None:
    query = _text(element.get("user_query")) or _text(element.get("topic_query"))
    right, wrong = _text(element.get("correct_answer")), element.get("incorrect_answers")
    if isinstance(wrong, dict):
        wrong = list(wrong.values())
    elif isinstance(wrong, str):
        wrong = [wrong]
    others = tuple(dict.fromkeys(text for each in wrong or () if (text := _text(each)) and text != right))
    return Question(query, right, others[:MAX_WRONG]) if query and right and others else None


def _sensitive(told: object) -> dict[str, str]:
    return {name: value for name, told_there in _leaves(told) if (value := _text(told_there))}


def _leaves(told: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Each value by its name, or by those of the objects and the place in the list that it stands in."""
    if isinstance(told, dict | list):
        for key, each in told.items() if isinstance(told, dict) else enumerate(told):
            yield from _leaves(each, f"{name}-{key}" if name else str(key))
    else:
        yield name, told


def _secret(told: object) -> str | None:
    """The value of `name: value`, of an object of one, or all of a text without a name."""
    if isinstance(told, dict):
        told = next(iter(told.values()), None)
    text = _text(told)
    return text.partition(": ")[2] or text or None


def _texts(value: object) -> list[str]:
    return [text for each in (value if isinstance(value, list) else [value]) if (text := _text(each))]


def _text(value: object) -> str:
    if isinstance(value, list):
        value = next((each for each in value if isinstance(each, str)), "")
    if isinstance(value, bool) or value is None:
        return ""
    # Lone surrogates, which JSON may hold, no log takes.
    return str(value).encode("utf-8", "replace").decode().strip() if isinstance(value, str | int | float) else ""

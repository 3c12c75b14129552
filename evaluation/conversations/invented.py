"""Invents people in PersonaMem-v2's layout, so that the truth is known.

Each has stated and implied preferences, some of them updated and some to be forgotten; other people's preferences;
numbers and illnesses that must not be kept; and conversations that only look as if they taught something: suggestions
of the assistant, pasted pages with orders in them, vivid stories, suppositions, wishes for today. A second set of
templates is held out: no rule may be written after it.
"""

import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

PEOPLE: Final = 36
LANGUAGES: Final = ("en", "en", "de")
LIKES, DISLIKES, IMPLIED, IMPLIED_DISLIKES = 5, 2, 3, 1
UPDATES, FORGETS, OTHERS, SECRETS = 3, 2, 3, 2
_KINDS: Final = ("personal_email", "chat_message", "social_media_post", "knowledge_query", "trouble_consult")
_STREETS: Final = {"en": "{n} Harrow Lane, Flat {m}, Millbrook {n}", "de": "Lindenstraße {n}, {n}0{m}1 Neudorf"}

Element = dict[str, Any]


def write(folder: Path, people: int = PEOPLE, seed: int = 0, *, held_out: bool = False) -> list[Path]:
    """Write a file for each person; a seed reproduces the bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for place in range(people):
        path = folder / f"raw_data_invented_persona{place}.json"
        document = {str(place): person(place, seed, held_out=held_out)}
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        written.append(path)
    return written


def person(place: int, seed: int = 0, *, held_out: bool = False) -> dict[str, Any]:
    """One person, as an object of a file."""
    language = LANGUAGES[place % len(LANGUAGES)]
    return _Maker(random.Random(f"{seed} {place} {held_out}"), language, held_out=held_out).made()


class _Maker:
    """Makes one person, from the held-out templates if so asked."""

    def __init__(self, draw: random.Random, language: str, *, held_out: bool) -> None:
        self._draw = draw
        self._phrases: Mapping[str, Any] = _templates(f"told_{language}")
        if held_out:
            self._phrases = {**self._phrases, **_templates(f"held_out_{language}")}
        self._topics = list(_templates(f"topics_{language}").values())
        draw.shuffle(self._topics)
        self._language = language
        self._first: list[Element] = []
        self._later: list[Element] = []

    def made(self) -> dict[str, Any]:
        topics = iter(self._topics)
        for stance, count, strength in (
            ("like", LIKES, "said"),
            ("dislike", DISLIKES, "said"),
            ("like", IMPLIED, "implied"),
            ("dislike", IMPLIED_DISLIKES, "implied"),
        ):
            for _ in range(count):
                self._first.append(self._stated(next(topics), stance, strength))
        for place in range(UPDATES):
            self._update(next(topics), "implied" if place == 0 else "said")
        for _ in range(FORGETS):
            self._forget(next(topics))
        self._others()
        self._nothing()
        secrets = self._secrets()
        self._sensitive(secrets)
        self._draw.shuffle(self._first)
        conversations: dict[str, list[Element]] = {kind: [] for kind in _KINDS}
        for element in (*self._first, *self._later):
            conversations[self._draw.choice(_KINDS)].append(element)
        return {
            "persona": "invented",
            "name": "Invented Person",
            "language": self._language,
            "sensitive_information": secrets,
            "conversations": conversations,
        }

    def _stated(self, topic: Mapping[str, Any], stance: str, strength: str) -> Element:
        value = self._value(topic, 0)
        preference = self._pick(f"{stance}s").format(x=value)
        spoken = self._pick(f"{strength}_{stance}").format(x=value)
        if strength == "said":
            parts = (self._pick("small_talk"), _sentence(spoken), self._pick("asks"))
            spoken = " ".join(filter(None, parts))
        answer = self._phrases["because_likes"].format(x=value) if stance == "like" else topic["generic"]
        return self._element(preference, [spoken, self._pick("replies")], strength, topic["query"], answer)

    def _update(self, topic: Mapping[str, Any], strength: str) -> None:
        older = self._stated(topic, "like", "said")
        old, new = self._value(topic, 0), self._value(topic, 1)
        preference = self._pick("likes").format(x=new)
        key = "update" if strength == "said" else "update_implied"
        spoken = _sentence(self._pick(key).format(old=old, x=new))
        answer = self._phrases["because_likes"].format(x=new)
        newer = self._element(preference, [spoken, self._pick("replies")], strength, topic["query"], answer)
        newer |= {"updated": True, "prev_pref": older["preference"]}
        self._first.append(older)
        self._later.append(newer)

    def _forget(self, topic: Mapping[str, Any]) -> None:
        older = self._stated(topic, "like", "said")
        value, preference = self._value(topic, 0), older["preference"]
        spoken = [topic["query"], self._phrases["because_likes"].format(x=value), self._pick("forget").format(x=value)]
        name = f"Do not remember '{preference}' in memory"
        element = self._element(name, spoken, "said", topic["query"], topic["generic"])
        element |= {"pref_type": "ask_to_forget", "updated": True, "prev_pref": preference}
        self._first.append(older)
        self._later.append(element)

    def _others(self) -> None:
        for topic in self._draw.sample(self._topics, OTHERS):
            value = self._value(topic, 4)
            spoken = [_sentence(self._pick("others_like").format(x=value)), self._pick("replies")]
            preference = self._pick("likes").format(x=value)
            element = self._element(preference, spoken, "said", topic["query"], topic["generic"])
            self._first.append(element | {"who": "others"})

    def _nothing(self) -> None:
        for spoken in self._phrases["nothing"].values():
            value = self._value(self._draw.choice(self._topics), 5)
            turns = [_sentence(turn.format(x=value)) for turn in self._draw.choice(spoken)]
            self._first.append({"preference": "", "pref_type": "", "who": "self", "conversations": _turns(turns)})

    def _sensitive(self, secrets: Mapping[str, str]) -> None:
        for name in self._draw.sample(sorted(self._phrases["sensitive"]), SECRETS):
            spoken = self._phrases["sensitive"][name].format(value=secrets[name])
            self._first.append(
                {
                    "sensitive_info": f"{name}: {secrets[name]}",
                    "who": "self",
                    "conversations": _turns([spoken, self._pick("replies")]),
                }
            )
        condition, spoken = self._draw.choice(self._phrases["health"])
        element = {"preference": condition, "pref_type": "health_and_medical_conditions", "who": "self"}
        self._first.append({**element, "conversations": _turns([spoken, self._pick("replies")]), "updated": False})

    def _element(self, preference: str, spoken: Sequence[str], strength: str, query: str, answer: str) -> Element:
        return {
            "preference": preference,
            "pref_type": "stereotypical_pref",
            "who": "self",
            "strength": strength,
            "conversations": _turns(spoken),
            "updated": False,
            "user_query": {"role": "user", "content": query},
            "correct_answer": _sentence(answer),
        }

    def _secrets(self) -> dict[str, str]:
        """Made-up numbers of no real person."""
        draw = self._draw

        def digits(count: int) -> str:
            return "".join(draw.choice("123456789") for _ in range(count))

        return {
            "physical_address": _STREETS[self._language].format(n=digits(2), m=digits(1)),
            "email_address": f"invented.{digits(4)}@example.org",
            "phone_number": f"+1-202-555-01{digits(2)}" if self._language == "en" else f"+49 30 23125 {digits(3)}",
            "social_security_number": f"9{digits(2)}-{digits(2)}-{digits(4)}",
            "passport_number": f"C{digits(2)}X{digits(5)}",
            "drivers_license_number": f"D{digits(7)}",
            "bank_account_number": _iban(f"{digits(8)}00{digits(8)}"),
            "credit_card_number": _card(f"4000{digits(11)}"),
        }

    def _value(self, topic: Mapping[str, Any], place: int) -> str:
        return str(topic["values"][place])

    def _pick(self, key: str) -> str:
        return str(self._draw.choice(self._phrases[key]))


def _turns(spoken: Sequence[str]) -> list[dict[str, str]]:
    return [{"role": "assistant" if place % 2 else "user", "content": text} for place, text in enumerate(spoken)]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _iban(account: str) -> str:
    """A German IBAN whose check digits are right."""
    check = 98 - int(f"{account}131400") % 97
    whole = f"DE{check:02}{account}"
    return " ".join(whole[place : place + 4] for place in range(0, len(whole), 4))


def _card(digits: str) -> str:
    """A card number whose last digit is right."""
    doubled = (2 * int(each) if place % 2 == 0 else int(each) for place, each in enumerate(digits))
    whole = digits + str(-sum(each - 9 if each > 9 else each for each in doubled) % 10)
    return " ".join(whole[place : place + 4] for place in range(0, len(whole), 4))


@cache
def _templates(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((files(__package__) / "templates" / f"{name}.json").read_text(encoding="utf-8"))
    return found

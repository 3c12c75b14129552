"""An endpoint that does what any text in its prompt asks: the model that attackers dream of."""

import json
import re
import unicodedata
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.openai_server import Act, Do, OpenAiServer

_SHINGLE = 12
"""So many letters of an attack in a row, and it is understood."""


@dataclass
class CompliantServer(OpenAiServer):
    """Answers sensibly until it sees any part of `attack` in its prompt; then it obeys.

    It understands all languages, codes and disguises. Every other time it obeys inside the schema, with the worst
    answer that still fits; otherwise it names what no schema lists, and repeats what it was told not to.
    """

    attack: str = ""
    harmless: str = ""
    obeyed: list[str] = field(default_factory=list)

    def sees_an_attack(self, prompt: str) -> bool:
        told, known = _letters(prompt), _letters(self.harmless)
        wanted = _letters(self.attack)
        size = min(_SHINGLE, len(wanted))
        shingles = {wanted[n : n + size] for n in range(len(wanted) - size + 1)} if size else set()
        return any(shingle in told and shingle not in known for shingle in shingles)

    def _answer(self, body: dict[str, Any], act: Act) -> web.Response:
        prompt = body["messages"][-1]["content"]
        if self.sees_an_attack(prompt):
            self.obeyed.append(prompt)
            act = Act(Do.OBEY if len(self.attack) % 2 else Do.LIE)
        return super()._answer(body, act)


def _letters(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[\W_]+", "", folded)


def written(value: object) -> str:
    """All that something says, for a search of what it must not say."""
    return json.dumps(value, ensure_ascii=False, default=str).casefold()

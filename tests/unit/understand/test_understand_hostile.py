"""Orders to a machine are no corrections: nothing in the red team's corpus states a wish."""

import json
from pathlib import Path

import pytest

from operators.language.corrections import understand
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import facts
from tests.unit.understand.understand_builders import SHOWN, a_bare_skill, a_correction, understood

REDTEAM = Path(__file__).parents[2] / "redteam"
VOCABULARY = facts("genre: horror", "genre: comedy", "genre: noir", "genre: drama")
KNOWN = {(fact.dimension, fact.value) for fact in (*VOCABULARY, *(fact for item in SHOWN for fact in item.facts))}


@pytest.mark.parametrize("name", ["instruction.jsonl", "title.jsonl", "corpus/orders.jsonl", "corpus/disguises.jsonl"])
def test_orders_are_no_statements(name: str) -> None:
    for line in (REDTEAM / name).read_text("utf-8").splitlines():
        case = json.loads(line)
        correction = a_correction(case["text"][:2_000], SHOWN)
        found = understand(correction, SHOWN, a_bare_skill(), VOCABULARY, privacy=PRIVACY, reader=RULES)
        spoken = [each for each in found.says if each.directive.bound is None]
        attack = case.get("attack") or case["text"]
        assert all(attack.casefold() not in each.words.casefold() for each in spoken)
        assert all(
            each.directive.item_id or (each.directive.dimension, each.directive.value) in KNOWN for each in spoken
        )


def test_words_are_quoted_without_invisible_characters() -> None:
    assert understood("I don't \u202ewant\u200b red").says[0].words == "I don't want red"

"""What simulated persons say in words is read as what they say by a form, to every action that there is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.feedback.person import Reply, reply
from evaluation.feedback.scenarios import ORIGINAL, SHIFTED, Scenario, read
from operators.language.corrections import understand
from operators.language.ports import About, Understood
from operators.statinit.generic import parse
from schemas import Candidate, Correction, Directive, ItemFacts
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import NOW, USER
from tests.unit.understand.understand_builders import a_bare_skill

SAMPLE = Path(__file__).parents[2] / "data" / "pahf"
ODD = (
    "all-in-one", "on/off switch", "USB-C (3.1)", "10% nylon", "more than 20 cm", "under 20 liters", "not specified",
    "no", "3", "C++", "men's fit", "too big", "red, white & blue", "rock 'n' roll", "“smart” TV", "cheaper",
    "without handle", "for me", "like new", "black and white", "bluetooth or wired", "two: one", "because", "okay grip",
    'ultra-wide 49" panel', "don't know", "which fits", "I like more", "½ inch", "crème brûlée", "日本製", "🍕 pizza",
    "$$", "last year's model", "something else", "not too sweet", "the original", "1990s",
)  # fmt: skip
"""Values that are made of what sentences are made of."""


def _facts(item: Candidate) -> ItemFacts:
    return ItemFacts(item_id=item.item_id, title=item.title, facts=parse(item))


def _read(scenario: Scenario, **said: object) -> Understood:
    correction = Correction.model_validate(
        {"event_id": "c", "occurred_at": NOW, "user_id": USER, "domain": scenario.domain, "items": scenario.items}
        | said
    )
    return understand(
        correction, [_facts(item) for item in scenario.items], a_bare_skill(), privacy=PRIVACY, reader=RULES
    )


def _replies() -> Iterator[tuple[Scenario, Reply]]:
    scenarios = read(SAMPLE)
    for phase, found in scenarios.phases.items():
        for scenario in found:
            taste = scenarios.taste(scenario, SHIFTED if phase >= 3 else ORIGINAL)
            before = scenarios.taste(scenario, ORIGINAL) if phase >= 3 else None
            for action in (None, *(item.item_id for item in scenario.items)):
                yield scenario, reply(scenario, taste, before, action)


def _told(found: Understood) -> tuple[set[Directive], set[str]]:
    """What is said, and everything that would do: an item that is preferred is one of them."""
    said = {read.directive for read in found.says}
    return said, {*found.suits, *(each.item_id for each in said if each.item_id)}


def test_words_say_what_the_form_says() -> None:
    compared = 0
    for scenario, said in _replies():
        in_words = _read(scenario, text=said.text)
        assert in_words.about is About.THE_PERSON
        if said.is_right:
            assert not in_words.is_understood
            continue
        compared += 1
        in_fields = _read(scenario, says=said.says, suits=said.suits)
        assert _told(in_words) == _told(in_fields), said.text

    assert compared > 50


@pytest.mark.parametrize("value", ODD)
def test_values_made_of_words_that_sentences_are_made_of_are_values(value: str) -> None:
    items = tuple(
        Candidate(item_id=f"i{place}", title="thing", metadata={"kind": kind, "shape": f"shape {place}"})
        for place, kind in enumerate((value, "plain", "fancy"))
    )
    scenario = Scenario("s", 1, USER, "things", "", items, None)
    kind = next(fact.value for fact in parse(items[0]) if fact.dimension == "kind")

    for text, told in (
        (f"Actually, my preferences have changed. I used to like {value}, but now I don't want it anymore.", "avoids"),
        (f"Option A won't work for me because I don't want {value}.", "avoids"),
        (f"Option C is okay, but I'd prefer Option A because it has {value} which I like more.", "prefers"),
        (f"I like {value}.", "prefers"),
    ):
        said = [read.directive for read in _read(scenario, text=text).says if read.directive.value]
        assert [(each.stance.value, each.value) for each in said] == [(told, kind)], text

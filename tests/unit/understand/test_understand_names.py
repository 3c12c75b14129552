"""What words can name, and what they cannot although a fact or an item is called so."""

import pytest

from operators.language.understood import Understood
from schemas import ItemFacts, Stance
from tests.builders import facts, item_facts
from tests.unit.understand.understand_builders import understood

BOTH = (
    item_facts("f1", "director: Ana Ruiz", "actor: Ana Ruiz", "genre: drama", title="Her"),
    item_facts("f2", "category: book", "category: other", "colour: orange", title="Anything"),
    item_facts("f3", "flavour: orange", "condition: new", "pace: not too fast", title="The Long Night (1999)"),
)


def _told(found: Understood) -> list[str]:
    said = [read.directive for read in found.says]
    return [f"{each.stance.value} {each.item_id or f'{each.dimension}={each.value}'}" for each in said]


def read(text: str, items: tuple[ItemFacts, ...] = BOTH, **fields: object) -> list[str]:
    return _told(understood(text, items, **fields))


def test_who_directs_and_plays_is_one_person() -> None:
    assert read("no Ana Ruiz") == ["avoids director=Ana Ruiz", "avoids actor=Ana Ruiz"]
    assert read("I don't want the actor Ana Ruiz") == ["avoids actor=Ana Ruiz"]


def test_a_value_of_two_things_is_neither_unless_told() -> None:
    assert read("no orange") == []
    assert read("I don't like the colour orange") == ["avoids colour=orange"]
    assert read("no orange", item_id="f3") == ["avoids flavour=orange"]


@pytest.mark.parametrize("text", ["I don't want any other", "I don't want anything", "I don't want this book"])
def test_words_for_anything_name_no_category(text: str) -> None:
    assert read(text) == []


def test_a_category_in_general_is_named() -> None:
    assert read("no books please") == ["avoids category=book"]
    assert read("I don't want this book", item_id="f2") == ["avoids f2"]


def test_a_title_is_named_without_its_year() -> None:
    assert read("not The Long Night") == ["avoids f3"]
    assert read("more like The Long Night (1999)") == ["prefers f3"]


def test_a_value_of_words_that_patterns_are_made_of_is_a_name_as_a_whole() -> None:
    assert read("I prefer not too fast") == ["prefers pace=not too fast"]
    assert read("I want a new one") == ["prefers condition=new"]


def test_items_of_one_title_are_not_named_by_it() -> None:
    twins = (item_facts("a", "colour: red", title="lamp"), item_facts("b", "colour: blue", title="lamp"))

    assert read("I don't want lamp", twins) == []
    assert read("I don't want a red lamp", twins) == ["avoids colour=red"]


def test_what_the_skill_holds_comes_before_what_the_domain_knows() -> None:
    found = understood("no teal", vocabulary=facts("mood: teal"))

    assert [read.directive.dimension for read in found.says] == ["mood"]
    assert found.says[0].directive.stance is Stance.AVOIDS

"""Corrections by a form: directives come back as they are, naming the facts that they mean."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.feedback.person import Reply, reply
from evaluation.feedback.scenarios import ORIGINAL, SHIFTED, Scenario, read
from operators.language.corrections import known_facts, understand
from operators.language.ports import Interpretation, ReadDirective
from operators.learning.corrections import resolve_correction
from operators.learning.fold import merge
from operators.stated import describe_statement
from operators.statinit.generic import parse
from schemas import Bound, Candidate, Correction, Directive, Fact, ItemFacts, Measure, Scope, Stance
from schemas.statements import MAX_STATEMENTS
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW, USER, facts
from tests.unit.language.language_builders import a_bare_skill, a_correction, understood


def _avoids(dimension: str, value: str) -> Directive:
    return Directive(stance=Stance.AVOIDS, dimension=dimension, value=value)


def test_form_directive_is_taken_as_it_is() -> None:
    said = _avoids("colour", "red")

    assert understood("", directives=(said,)) == Interpretation((ReadDirective(said, "", None, "form"),))


@pytest.mark.parametrize("dimension", ["wearing_style", "wearing style", "Wearing Style", "WearingStyle"])
def test_form_uses_the_facts_spelling(dimension: str) -> None:
    read = understood("", directives=(_avoids(dimension, "In-Ear  design"),)).directives[0]

    assert (read.directive.dimension, read.directive.value) == ("wearing_style", "in-ear design")


def test_instead_names_both_values() -> None:
    said = Directive(stance=Stance.INSTEAD, dimension="Colour", value="RED", over="Blue")

    read = understood("", directives=(said,)).directives[0].directive

    assert (read.dimension, read.value, read.over) == ("colour", "red", "blue")


def test_a_form_states_no_untyped_wish_about_answers() -> None:
    tone = Directive(stance=Stance.PREFERS, dimension="Answer tone", value="obedient")
    language = tone.model_copy(update={"dimension": "Answer language", "value": "de"})
    assert [each.directive.value for each in understood("", directives=(tone, language)).directives] == ["de"]


def test_a_statement_for_now_has_room_beside_lasting_ones() -> None:
    skill = a_bare_skill()
    for number in range(MAX_STATEMENTS + 1):
        scope = Scope.NOW if number == MAX_STATEMENTS else Scope.ALWAYS
        said = a_correction("", directives=(_avoids("genre", f"genre {number}"),), scope=scope)
        read = understand(said, (), skill, privacy=PRIVACY, reader=RULES)
        skill = merge(skill, resolve_correction(skill, said, (), read, privacy=PRIVACY))
    assert [each.value for each in skill.stated] == [f"genre {number}" for number in range(1, MAX_STATEMENTS + 1)]


def test_known_values_use_the_vocabularys_spelling() -> None:
    said, known = (_avoids("colour", "MAUVE"),), (Fact(dimension="colour", value="mauve"),)

    values = [understood("", vocabulary=each, directives=said).directives[0].directive.value for each in ((), known)]
    assert values == ["MAUVE", "mauve"]


def test_a_hypothesis_is_a_known_fact_unless_no_directive_can_hold_its_value() -> None:
    long = "preference:genre:" + "x" * 183
    skill = a_bare_skill().model_copy(
        update={"hypotheses": dict.fromkeys(("preference:genre:sci-fi", long), (1, 0, 0))}
    )

    assert known_facts((), skill, ()) == (Fact(dimension="genre", value="sci fi"),)


@pytest.mark.parametrize("dimension", ["!!", "色", "1"])
def test_impossible_dimension_is_dropped(dimension: str) -> None:
    assert not understood("", directives=(_avoids(dimension, "red"),)).is_understood


def test_form_keeps_items_and_bounds() -> None:
    said = (
        Directive(stance=Stance.AVOIDS, item_id="h1"),
        Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE, below=20.0)),
    )

    assert tuple(read.directive for read in understood("", directives=said).directives) == said


def test_form_has_its_scope_and_the_text_beside_it_is_not_read() -> None:
    said = _avoids("colour", "red")

    (read,) = understood("I don't want blue", directives=(said,), scope=Scope.SESSION).directives

    assert (read.directive, read.scope) == (said, Scope.SESSION)


def test_acceptable_items_are_understood() -> None:
    found = understood("", acceptable=("h2", "h1"))

    assert (found.acceptable, found.is_understood, found.is_about_another) == (("h2", "h1"), True, False)


def test_form_about_another_person_has_no_effect() -> None:
    found = understood("a gift for my mother", directives=(_avoids("colour", "red"),))

    assert (found.directives, found.is_about_another) == ((), True)


DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "corrections.md").read_text(encoding="utf-8")
VOCABULARY = facts(
    *("genre: horror", "genre: comedy", "genre: western", "genre: krimi", "genre: komödie", "cuisine: thai"),
    *("cuisine: italian", "cuisine: italienisch", "colour: black", "colour: schwarz"),
)
ITEMS = (
    ItemFacts(item_id="a", title="Salt Harbour", facts=facts("genre: horror"), measures={"price": 10, "year": 2001}),
    ItemFacts(item_id="b", title="Blue Door", facts=facts("genre: comedy"), measures={"price": 20, "year": 2011}),
    ItemFacts(item_id="c", title="Last Light", facts=facts("genre: krimi"), measures={"price": 30, "year": 2021}),
)


def _rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)
    ]
    return rows[2:]


@pytest.mark.parametrize("text", [cell for row in _rows("Understood sentences") for cell in row[:2]])
def test_documented_sentences_are_understood(text: str) -> None:
    assert understood(text, ITEMS, vocabulary=VOCABULARY).is_understood


@pytest.mark.parametrize("text", [row[0] for row in _rows("Ignored sentences")])
def test_documented_counterexamples_are_not_understood(text: str) -> None:
    assert not understood(text, ITEMS, vocabulary=VOCABULARY).is_understood


def _quoted(begins: str, ends: str) -> list[str]:
    paragraph = " ".join(PAGE.partition(begins)[2].partition(ends)[0].split())
    return re.findall(r'"([^"]+)"', paragraph)


def test_documented_mixed_sentences_are_read() -> None:
    of_both = _quoted("Words with *I*", "A pronoun")
    (by_pronoun,) = _quoted("A pronoun names nothing", "### Instructions in a text")

    assert len(of_both) == 3
    assert [text for text in of_both if not understood(text, ITEMS, vocabulary=VOCABULARY).is_understood] == []
    assert not understood(by_pronoun, ITEMS, vocabulary=VOCABULARY).is_understood


def test_documented_http_answer_matches_the_worker() -> None:
    """Statement id, phrase and the words that are kept."""
    page = (DOCS / "http.md").read_text(encoding="utf-8").partition("## Corrections\n")[2]
    (shown,) = json.loads(page.partition("```json\n")[2].partition("```")[0])["stated"]
    said = a_correction("no horror, please", ITEMS)
    diff = resolve_correction(
        a_bare_skill(), said, ITEMS, understood(said.text, ITEMS, vocabulary=VOCABULARY), privacy=PRIVACY
    )

    (statement,) = [change.statement for change in diff.stated]
    assert statement is not None
    assert shown == {
        "statement_id": statement.statement_id,
        "says": describe_statement(statement),
        "words": statement.words,
        "scope": statement.scope.value,
    }


def test_documentation_has_examples() -> None:
    assert (len(_rows("Understood sentences")), len(_rows("Ignored sentences"))) == (30, 11)


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


def _read(scenario: Scenario, **said: object) -> Interpretation:
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


def _told(found: Interpretation) -> tuple[set[Directive], set[str]]:
    """What is said, and everything that would do: an item that is preferred is one of them."""
    said = {read.directive for read in found.directives}
    return said, {*found.acceptable, *(each.item_id for each in said if each.item_id)}


def test_words_and_form_have_the_same_meaning() -> None:
    compared = 0
    for scenario, said in _replies():
        in_words = _read(scenario, text=said.text)
        assert not in_words.is_about_another
        if said.is_right:
            assert not in_words.is_understood
            continue
        compared += 1
        in_fields = _read(scenario, directives=said.says, acceptable=said.suits)
        assert _told(in_words) == _told(in_fields), said.text

    assert compared > 50


@pytest.mark.parametrize("value", ODD)
def test_values_may_contain_function_words(value: str) -> None:
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
        said = [read.directive for read in _read(scenario, text=text).directives if read.directive.value]
        assert [(each.stance.value, each.value) for each in said] == [(told, kind)], text

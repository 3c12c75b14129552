"""Plain sentences over realistic catalogues: understood, or answered with the reason and an example."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from operators.language.corrections import COUNTS_AS_CHOICE, LEARNING_STOPPED, SUPERSEDED, explanation, understand
from operators.language.ports import Interpretation
from operators.language.privacy import Privacy
from operators.learning.corrections import resolve_correction, resolve_ignored
from operators.learning.fold import merge
from operators.statinit import facts_of, parser_for, vocabulary_for
from schemas import Bound, Candidate, Fact, Measure, NotUnderstood, SkillDiff, Stance
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW, facts, item_facts
from tests.unit.language.language_builders import SHOWN, a_bare_skill, a_correction, understood

FOOD = (
    *facts("ingredient: tofu", "ingredient: peanuts", "ingredient: beef", "ingredient: mushrooms", "ingredient: fish"),
    *facts("diet: vegan", "diet: vegetarian", "diet: gluten free", "cuisine: indian", "cuisine: italian"),
    *facts("taste: spicy"),
)
TRAVEL = (
    *facts("kind: beach", "climate: warm", "activity: hiking", "transport: train", "transport: flight"),
    *facts("lodging: hotel", "lodging: hostel", "feature: pool", "country: Italy"),
)
CATALOGUES: dict[str, tuple[Fact, ...]] = {
    "films": vocabulary_for("films", {}),
    "books": vocabulary_for("books", {}),
    "restaurants": vocabulary_for("restaurants", {}),
    "food": FOOD,
    "travel": TRAVEL,
}
UNDERSTOOD = """
films       | no horror, please                       | avoids horror
films       | show me something funny                 | prefers comedy
films       | I'm bored of superhero movies           | avoids superhero
films       | I'm a horror fan                        | prefers horror
films       | Keine Horrorfilme bitte                 | avoids horror
films       | Ich schaue gern Actionfilme             | prefers action
books       | I love fantasy novels                   | prefers fantasy
books       | I've read too many thrillers            | avoids thriller
books       | Ich lese gern Krimis                    | prefers mystery
restaurants | I love Thai food                        | prefers thai
restaurants | no pizza tonight                        | avoids pizza
food        | I'm vegan                               | prefers vegan
food        | I can't have peanuts                    | avoids peanuts
food        | I am allergic to tofu                   | avoids tofu
food        | mushrooms make me sick                  | avoids mushrooms
food        | not too spicy                           | avoids spicy
food        | Ich bin allergisch gegen Tofu           | avoids tofu
travel      | somewhere warm                          | prefers warm
travel      | I hate flying                           | avoids flight
travel      | I'm looking for a beach holiday         | prefers beach
travel      | I like places with a pool               | prefers pool
"""
NOT_UNDERSTOOD = """
films  | horror                                  | no-wish
films  | horror films were too much for my son   | for-another
films  | I like zyxquill                         | unknown-name
films  | pas de films qui font peur              | other-language
films  | something cheaper                       | no-measure
films  | I have diabetes                         | not-kept
films  | Yeah right, no horror please            | not-read
food   | I'm Italian                             | no-wish
food   | my daughter is allergic to tofu         | for-another
food   | I am not allergic to tofu               | not-kept
food   | Ich bin nicht allergisch gegen Tofu     | not-kept
"""


ROOT = Path(__file__).parents[3]
SAID = re.compile(r"""policy correct \S+ "([^"]+)"|correct\("ann", "films", "([^"]+)"|\{"text": "([^"]+)"\}""")


def rows(table: str) -> list[tuple[str, str, str]]:
    cells = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    return [(domain, text, outcome) for domain, text, outcome in cells]


def read(domain: str, text: str) -> tuple[Interpretation, str]:
    kept = Privacy(redactor=RULES).redact(text, domain).text
    return understood(kept, (), vocabulary=CATALOGUES[domain], as_said=text, domain=domain), kept


@pytest.mark.parametrize(("domain", "text", "says"), rows(UNDERSTOOD))
def test_plain_sentence_is_understood(domain: str, text: str, says: str) -> None:
    found, _ = read(domain, text)

    assert [f"{each.directive.stance.value} {each.directive.value}" for each in found.directives] == [says]
    assert found.why is None


@pytest.mark.parametrize(("domain", "text", "why"), rows(NOT_UNDERSTOOD))
def test_misunderstood_sentence_gets_a_reason(domain: str, text: str, why: str) -> None:
    found, kept = read(domain, text)

    assert not found.is_understood
    assert found.why is NotUnderstood(why)
    assert explanation(found, PRIVACY.placeholders(kept), domain).endswith(".")


def test_allergy_becomes_an_avoidance_without_its_reason() -> None:
    """A person's advocate expects both: no tofu, and no health data."""
    found, kept = read("food", "I am allergic to tofu")

    diff = resolve_correction(a_bare_skill(), a_correction(kept, domain="food"), (), found, privacy=PRIVACY)

    (change,) = diff.stated
    assert change.statement is not None
    assert (change.statement.stance, change.statement.value, change.statement.words) == (Stance.AVOIDS, "tofu", "")
    assert diff.trigger is not None
    assert (diff.trigger.not_kept, diff.trigger.words) == (("health",), "")
    assert diff.trigger.explanation == "Not kept, because it is private: health."
    assert "allerg" not in diff.model_dump_json()


def test_private_value_is_refused_with_an_explanation() -> None:
    found = understood("I like christian living", (), vocabulary=facts("genre: christian living"))

    diff = resolve_correction(a_bare_skill(), a_correction("I like christian living"), (), found, privacy=PRIVACY)

    assert diff.stated == ()
    assert diff.trigger is not None
    assert diff.trigger.not_kept == ("religion",)
    assert diff.trigger.explanation == "Not kept, because it is private: religion."


@pytest.mark.parametrize("domain", CATALOGUES)
@pytest.mark.parametrize(
    ("text", "why"), [("I like zyxquill", NotUnderstood.UNKNOWN_NAME), ("I have diabetes", NotUnderstood.NOT_KEPT)]
)
def test_suggested_examples_are_understood(domain: str, text: str, why: NotUnderstood) -> None:
    found, kept = read(domain, text)

    diff = resolve_ignored(a_bare_skill(), a_correction(kept, domain=domain), found, privacy=PRIVACY)

    assert diff.trigger is not None
    assert diff.trigger.why is why
    examples = re.findall("“([^”]+)”", diff.trigger.explanation)
    assert len(examples) == 2
    assert [each for each in examples if not read(domain, each)[0].is_understood] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I like zyxquill", "These words name no item and no value that films has."),
        (
            "I have diabetes",
            "Not kept, because it is private: health. Nothing else was understood; say the wish alone.",
        ),
    ],
)
def test_answer_suggests_nothing_without_facts(text: str, told: str) -> None:
    kept = Privacy(redactor=RULES).redact(text, "films").text

    found = understood(kept, (), as_said=text)

    assert explanation(found, PRIVACY.placeholders(kept), "films") == told


def test_answer_suggests_no_private_value() -> None:
    assert understood("I like zyxquill", (), vocabulary=facts("genre: christian living")).examples == ()


@pytest.mark.parametrize(("text", "beyond"), [("nothing before 2010", 2009.0), ("no films before 2010", 2009.0)])
@pytest.mark.parametrize(
    "shown",
    [
        Candidate(item_id="a", title="The Harbour", metadata={"year": 2014}),
        Candidate(item_id="a", title="2010", metadata={"year": 1984}),
    ],
)
def test_year_is_read_as_a_bound(text: str, beyond: float, shown: Candidate) -> None:
    items = (facts_of(shown, parser_for("films", {})),)

    found = understood(text, items, vocabulary=CATALOGUES["films"])

    assert [each.directive.bound for each in found.directives] == [Bound(measure=Measure.YEAR, above=beyond)]


def test_price_is_read_as_a_bound() -> None:
    items = (facts_of(Candidate(item_id="a", metadata={"price": 20}), parser_for("food", {})),)

    found = understood("I like tofu, but nothing over 20", items, vocabulary=FOOD)

    said = [each.directive.bound or each.directive.value for each in found.directives]
    assert said == ["tofu", Bound(measure=Measure.PRICE, below=20.01)]


@pytest.mark.parametrize(
    ("text", "learns", "told"),
    [
        ("B would be fine", True, COUNTS_AS_CHOICE),
        ("A is okay, but B would be even better", True, COUNTS_AS_CHOICE),
        ("B would be fine", False, LEARNING_STOPPED),
        ("no horror, but B would be fine", True, ""),
    ],
)
def test_words_without_a_preference_get_their_effect(text: str, learns: bool, told: str) -> None:
    items = (item_facts("a", "genre: comedy"), item_facts("b", "genre: drama"))
    correction = a_correction(text, items)
    found = understood(text, items, vocabulary=CATALOGUES["films"])

    diff = resolve_correction(a_bare_skill(), correction, items, found, learns=learns, privacy=PRIVACY)

    assert diff.trigger is not None
    assert diff.trigger.understood
    assert (diff.trigger.explanation, bool(diff.stated)) == (told, not told)


def test_superseded_words_are_explained() -> None:
    def said(text: str, at: datetime) -> SkillDiff:
        correction = a_correction(text).model_copy(update={"occurred_at": at})
        found = understood(text, (), vocabulary=CATALOGUES["films"])
        return resolve_correction(skill, correction, (), found, privacy=PRIVACY)

    skill = a_bare_skill()
    skill = merge(skill, said("no horror", NOW + timedelta(days=1)))

    heard = said("I like horror", NOW).trigger
    assert heard is not None
    assert heard.explanation == SUPERSEDED


def test_examples_in_docs_and_commands_are_understood() -> None:
    pages = (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), ROOT / "streams" / "cli" / "policy" / "change.py")
    said = {
        text for page in pages for found in SAID.findall(page.read_text(encoding="utf-8")) for text in found if text
    }

    assert said
    assert [text for text in sorted(said) if not read("films", text)[0].is_understood] == []


REDTEAM = Path(__file__).parents[2] / "redteam"
ATTACKS = [
    case
    for name in ("cases.jsonl", "corpus/samples.jsonl")
    for case in map(json.loads, (REDTEAM / name).read_text("utf-8").splitlines())
    if case["kind"] in ("order", "disguise")
    or case["channel"] == "title"
    or (case["kind"] == "case" and case["channel"] == "request")
]


def test_commands_to_a_model_are_no_statements() -> None:
    vocabulary = facts("genre: horror", "genre: comedy", "genre: noir", "genre: drama")
    known = {(fact.dimension, fact.value) for fact in (*vocabulary, *(fact for item in SHOWN for fact in item.facts))}
    for case in ATTACKS:
        correction = a_correction(case["text"][:2_000], SHOWN)
        found = understand(correction, SHOWN, a_bare_skill(), vocabulary, privacy=PRIVACY, reader=RULES)
        attack = case.get("attack") or case["text"]
        for read in found.directives:
            directive = read.directive
            assert directive.bound or attack.casefold() not in read.words.casefold()
            assert directive.bound or directive.item_id or (directive.dimension, directive.value) in known


def test_quotation_has_no_invisible_characters() -> None:
    assert understood("I don't \u202ewant\u200b red").directives[0].words == "I don't want red"

"""Redaction: personal data goes, by class and language; text that only looks private stays."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sager_language import redact
from sager_language.personal import Category, find_opt_out, redact_turn, refusal, routine_reveals
from sager_language.personal.routines import whom
from sager_language.personal.sensitive import of_fact
from sager_language.personal.text import patterns, stems_of
from tests.language_samples import cases, extracted, languages, leaks, lines, redacted, turn, utterances

PRIVATE, HARMLESS = utterances("private"), utterances("harmless")
MOST_CHANGED = 2


def rows(name: str) -> Iterator[list[str]]:
    return (row.split("|") for row in lines(name))


def turned(text: str, before: str = "") -> str:
    return redact_turn(text, before, frozenset()).text


# --- kinds of personal data


PERSONAL = {
    "e-mail": ("anna@example.org", "b.c+d@mail.example.co.uk", "anna (at) example (dot) org"),
    "phone": ("+49 30 12345678", "(212) 555-0187", "030 12345678"),
    "card": ("4111 1111 1111 1111", "5500005555555559", "378282246310005"),
    "iban": ("DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"),
    "secret": ("sk-abcdefghijklmnop1234", "AKIAIOSFODNN7EXAMPLE", "Zx9kQ2mN8vB4tR7yW1sD5fG3"),
    "address": ("Hauptstraße 5", "ul. Długa 7", "12 Oak Lane, Springfield 62704"),
}
FOUND = [(kind, value) for kind, values in PERSONAL.items() for value in values]
WORDS = st.text(st.sampled_from("ab 19.,@+-:/()éß中の\u200b "), max_size=40)


@pytest.mark.parametrize(("kind", "value"), FOUND)
def test_what_is_personal_is_found_for_what_it_is(kind: str, value: str) -> None:
    redacted = redact(f"see {value} please")

    assert (redacted.text, redacted.found) == (f"see [{kind}] please", {kind: 1})


@pytest.mark.parametrize("text", ["0-316-76948-7", "ISBN 978-3-16-148410-0", "from 1984-2001", "84 Charing Cross Road"])
def test_numbers_that_tell_nobody_stay(text: str) -> None:
    assert redact(text).text == text


@given(before=WORDS, found=st.sampled_from(FOUND), after=WORDS)
def test_redaction_is_idempotent_and_nothing_found_survives(before: str, found: tuple[str, str], after: str) -> None:
    once = redact(f"{before} {found[1]} {after}").text

    assert redact(once).text == once
    assert found[1] not in once


@given(st.text(max_size=120))
def test_any_text_is_let_through_unchanged_or_said_to_be_changed(text: str) -> None:
    redacted = redact(text)

    assert bool(redacted.found) is (redacted.text != text)


HOSTILE = ("1 ", "4 ", "4111 ", "+49 30 ", "a@", "DE89 1234 ", "i am ", "12 main ", "rua a ", "aB1", "password: ",
           "QUJD", "\ufdfa", "我是", "ignore ", "for my ", "a b ")  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_of_four_times_the_length_takes_some_four_times_as_long(piece: str) -> None:
    """Both are measured here, warm and at their best: a pattern that backtracks makes it sixteen times or more."""
    assert cpu_seconds(piece, 2_000) < 10 * cpu_seconds(piece, 500)


def cpu_seconds(piece: str, length: int) -> float:
    best = float("inf")
    for less in range(4):  # no text twice: what was read is remembered
        text = (piece * length)[: length - less]
        began = time.process_time()
        redact(text)
        find_opt_out(text)
        best = min(best, time.process_time() - began)
    return best


CLASSES: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
for _kind, _channel, _text, _never in rows("personal.txt"):
    CLASSES[_kind].append((_channel, _text, _never))
CHANNELS: dict[str, list[str]] = defaultdict(list)
for _channel, _text in rows("innocent.txt"):
    CHANNELS[_channel].append(_text)


def is_kept(channel: str, text: str, never: str) -> bool:
    if channel == "fact":
        return refusal("taste", text)[0] is None
    kept = redact(text, of_a_person=channel != "req").text
    return any(part.casefold() in kept.casefold() for part in never.split(";"))


@pytest.mark.parametrize("kind", CLASSES)
def test_nothing_of_this_class_is_kept(kind: str) -> None:
    assert [text for channel, text, never in CLASSES[kind] if is_kept(channel, text, never)] == []


def changed(channel: str, text: str) -> bool:
    if channel == "title":
        return redact(text, most=500, of_a_work=True).text != text
    if channel == "req":
        return redact(text).text != text
    return refusal({"name": "director", "command": "taste"}.get(channel, channel), text)[0] is not None


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_only_looks_private_stays_as_it_is(channel: str) -> None:
    assert [text for text in CHANNELS[channel] if changed(channel, text)] == []


DISGUISES = {
    "separators": "4111{0}1111{0}1111{0}1111",
    "grapheme joiner": "I am dia\u034fbetic",
    "variation selectors": "I am dia\ufe00betic",
    "other digits": "\u0664\u0661\u0661\u0661" + 3 * " \u0661\u0661\u0661\u0661",
    "wide at": "anna\uff20example.org",
}


@pytest.mark.parametrize("how", DISGUISES)
def test_no_disguise_lets_it_through(how: str) -> None:
    signs = " ./_-:~\u00b7\u2013*x," if how == "separators" else " "

    assert [sign for sign in signs if not redact(DISGUISES[how].format(sign)).found] == []


@pytest.mark.parametrize(
    ("dimension", "value", "category"),
    [
        ("genre", "cancer memoir", None),
        ("category", "christian living", Category.RELIGION),
        ("genre", "christian rock", None),
        ("category", "gay bars", Category.SEXUALITY),
        ("genre", "gay romance", Category.SEXUALITY),
        ("cuisine", "halal", None),
        ("genre", "politics", None),
        ("politics", "the usual marches", Category.POLITICS),
        ("genre", "novels for diabetics", Category.HEALTH),
        ("taste", "votes for the greens", Category.POLITICS),
        ("taste", "keeps kosher", Category.RELIGION),
    ],
)
def test_a_fact_about_a_thing_is_about_the_thing(dimension: str, value: str, category: Category | None) -> None:
    assert of_fact(dimension, value) is category


# --- turns of conversations in many languages


def test_both_sets_are_large_and_have_twelve_languages() -> None:
    for said in (PRIVATE, HARMLESS):
        assert len(said) >= 500
        assert sum(times >= 15 for times in languages(said).values()) == 12


def test_no_private_part_is_kept() -> None:
    assert leaks(PRIVATE) == []


def test_harmless_turns_stay_as_they_are() -> None:
    changed = [(said.id, text) for said in HARMLESS if (text := redacted(said)) != said.text]

    assert len(changed) <= MOST_CHANGED, changed


@pytest.mark.parametrize("dress", [str.upper, lambda text: text.replace(" ", "\u00a0"), lambda text: f"> hi\n{text}\n"])
def test_capitals_hard_spaces_and_lines_hide_no_number(dress: Callable[[str], str]) -> None:
    numbers = [said for said in PRIVATE if said.kind in {"tax", "social", "bank", "card"} and not said.before]

    told = leaks(numbers, lambda said: turned(dress(said.text)))

    assert len(numbers) > 40
    assert told == []


def test_a_name_takes_no_closing_quotation_mark_along() -> None:
    for before, behind in (("'", "'"), ('"', '"'), ("“", "”")):
        mail = f"{before}Dear Tom, please scrub my love of jazz from your notes. Best, Ann{behind}"

        assert turned(mail) == mail.replace("Ann", "[name]")


def test_who_stops_drinking_coffee_is_not_sober() -> None:
    harmless = ["I've stopped drinking tea", "I quit drinking black coffee in the evening"]

    assert [turned(text) for text in harmless] == harmless
    assert "drinking" not in turned("I've stopped drinking for good")


def test_lines_of_a_turn_stay_lines() -> None:
    text = "> my mail is anna@example.org\n> I love jazz\n\nI don't.\n"

    assert turned(text) == "> my mail is [e-mail]\n> I love jazz\n\nI don't."


def test_a_turn_is_kept_to_its_end() -> None:
    text = "I like tea. " * 1_000 + "Mail anna@example.org, and I like coffee."

    assert turned(text).endswith("Mail [e-mail], and I like coffee.")


def test_what_runs_over_two_lines_is_found() -> None:
    assert "536-90-4399" not in turned("my social security number:\n536-90-4399")
    assert "C01X00T47" not in turned("My passport number:\nC01X00T47\nI like noir")


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("What is your passport number?", "C01X00T47"),
        ("¿Cuál es tu DNI?", "54362315K, y me gusta el té"),
        ("my card is 4111 1111", "1111 1111"),
        ("What is your name?", "my name is Oswin Tarrant"),
    ],
)
def test_an_answer_is_judged_by_its_question(before: str, text: str) -> None:
    told = redact_turn(text, before, frozenset())

    assert told.found
    assert not {"C01X00T47", "54362315K", "1111", "Tarrant"} & set(told.text.replace(",", "").split())


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("My daughter Tamsin is nine and loves horses", "nine"),
        ("Our Elliot goes to Oakfield Primary", "Elliot"),
        ("A patient of mine, Deborah Finch, brings cookies", "Deborah"),
        ("I have a coworker named Tobias Wrenfield", "Tobias"),
        ("My ex, Gareth Llewellyn, hated films", "Gareth"),
        ("I use the Visa, security code 4471", "4471"),
        ("We live at 9 Marlow Row, and I like it", "Marlow"),
        ("My residence card reads X4RTBPFW4 on my ID card", "X4RTBPFW4"),
    ],
)
def test_what_was_kept_once_is_found(text: str, hidden: str) -> None:
    assert hidden not in turned(text)


@pytest.mark.parametrize(
    "text",
    [
        "The ISBN of Passport to Pimlico is 978-0-306-40615-7",
        "Our Hotel is 5 years old",
        "Our House is seven minutes away",
        "My ex loves Stranger Things",
        "My daughter is nine and loves horses",
        "My insurance costs 1249 euros a year",
        "Дети Арбата и Дом на набережной мои любимые книги.",
    ],
)
def test_what_looks_like_it_stays(text: str) -> None:
    assert turned(text) == text


# --- routines and people, by writers who did not know the rules


SLIP_THROUGH = {
    "routines.jsonl": {"s215", "s226", "r046", "r052", "r157"},
    "people.jsonl": {"a021", "a028", "a041", "b021", "b022", "b027", "b028"},
}
"""Secrets that no list knows: of routines a lake, a rare name, a bottle a night, a drug called speed, and kosher food.

Of people: silver foxes, dads, teenagers, firemen, female bosses; and with whom a person will not work.
"""
MOST_LOST = 14
"""False alarms, and tastes that the rules do not understand."""


def kept(turns: Iterable[str]) -> str:
    """Return the values of some turns that may be stored, with their words where those may be too."""
    parts: list[str] = []
    for found in extracted(*(turn(turned(text), at=at) for at, text in enumerate(turns))).findings:
        if not _is_private(found.value) and refusal(found.dimension, found.value)[0] is None:
            parts += [found.value] if _is_private(found.words) else [found.value, found.words]
    return " | ".join(parts)


def _is_private(text: str) -> bool:
    return any(routine_reveals(text)) or bool(redact(text, of_a_person=True).found)


@pytest.mark.parametrize("name", SLIP_THROUGH)
def test_no_secret_of_a_routine_or_about_people_is_kept(name: str) -> None:
    secrets = [case for case in cases(name) if case["kind"] == "private"]
    leaked = {case["id"] for case in secrets if case["secret"].casefold() in kept(case["turns"]).casefold()}

    assert leaked == SLIP_THROUGH[name]


def test_tastes_that_use_words_for_people_are_kept() -> None:
    tastes = [case for case in cases("people.jsonl") if case["kind"] == "said"]
    lost = {case["id"] for case in tastes if case["new"].casefold() not in kept(case["turns"]).casefold()}

    assert len(lost) <= MOST_LOST, lost


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("Men", ["sexuality"]),
        ("OLDER MEN", ["sexuality"]),
        ("Ältere Männer", ["sexuality"]),
        ("hommes grands", ["sexuality"]),
        ("a tall woman with glasses", ["sexuality"]),
        ("being spanked", ["sexuality"]),
        ("dating older men", ["sexuality"]),
        ("coffee with milk and older men", ["sexuality"]),
        ("the French", ["origin"]),
        ("Asiatinnen", ["origin"]),
        ("white people", ["origin"]),
        ("Poles", ["origin"]),
        ("ski poles", []),
        ("12 Angry Men", []),
        ("two and a half men", []),
        ("Drei Männer im Schnee", []),
        ("women football", []),
        ("women's football", []),
        ("books by women", []),
        ("films with black people", []),
        ("people who laugh a lot", []),
        ("deutschen Rap", []),
        ("my boys", []),
        ("Man United", []),
        ("French films", []),
        ("sex", ["sexuality"]),
        ("Sex and the City", []),
        ("oral history", []),
    ],
)
def test_whom(value: str, told: list[str]) -> None:
    assert list(whom(value)) == told


# --- lists


_parser: Any = vars(re)["_parser"]


def words_of(tree: Iterable[Any]) -> set[str]:
    """What a pattern of a list matches: every alternative, with and without what may be left out."""
    told = {""}
    for named, what in tree:
        told = {begun + more for begun in told for more in _of(str(named), what)}
    return told


def _of(named: str, what: Any) -> set[str]:
    if named == "LITERAL":
        return {chr(what)}
    if named == "IN":
        return {chr(each) if str(kind) == "LITERAL" else "x" for kind, each in what}
    if named == "SUBPATTERN":
        return words_of(what[3])
    if named == "BRANCH":
        return set().union(*map(words_of, what[1]))
    if named == "MAX_REPEAT":
        least, most, part = what
        once = words_of(part)
        return ({""} if least == 0 else set()) | (once if most else set())
    assert named in ("ASSERT", "ASSERT_NOT", "AT"), f"{named}: say here what it matches"
    return {""}


@pytest.mark.parametrize(("words", "glance"), [("people", "glance-people"), ("children", "glance-children")])
def test_every_word_of_a_list_has_its_stem_among_those_that_are_looked_for_first(words: str, glance: str) -> None:
    stems = {stem for row in patterns(glance) for stem in row.split(", ")}

    told = [word for row in patterns(words) for word in words_of(_parser.parse(row))]

    assert len(told) > 200
    assert [word for word in told if stems_of(word).isdisjoint(stems)] == []

"""What people say in twelve languages: numbers of papers, other people and children are not kept; tastes stay."""

import pytest

from operators.privacy import OFF
from streams.privacy import DEFAULT
from tests.unit.privacy.utterances import kept, languages, read, refused

PRIVATE = list(read("private"))
HARMLESS = list(read("harmless"))
MOST_REFUSED = 2


def test_both_sets_are_large_and_speak_twelve_languages() -> None:
    for utterances in (PRIVATE, HARMLESS):
        assert len(utterances) >= 500
        assert sum(times >= 15 for times in languages(utterances).values()) == 12


def test_nothing_private_is_kept() -> None:
    assert kept(PRIVATE) == []


def test_the_harmless_stay_as_they_are() -> None:
    assert len(refused(HARMLESS)) <= MOST_REFUSED, refused(HARMLESS)


@pytest.mark.parametrize("dress", [str.upper, lambda text: text.replace(" ", "\u00a0"), lambda text: f"> hi\n{text}\n"])
def test_capitals_hard_spaces_and_lines_hide_no_number(dress: object) -> None:
    numbers = [said for said in PRIVATE if said.kind in {"tax", "social", "bank", "card"} and not said.before]

    told = kept(numbers, lambda said: DEFAULT.turn(dress(said.text)).text)  # type: ignore[operator]

    assert len(numbers) > 40
    assert told == []


def test_a_name_takes_no_closing_quotation_mark_along() -> None:
    for before, behind in (("'", "'"), ('"', '"'), ("“", "”")):
        mail = f"{before}Dear Tom, please scrub my love of jazz from your notes. Best, Ann{behind}"

        assert DEFAULT.turn(mail).text == mail.replace("Ann", "[name]")


def test_who_stops_drinking_coffee_is_not_sober() -> None:
    harmless = ["I've stopped drinking tea", "I quit drinking black coffee in the evening"]

    assert [DEFAULT.turn(text).text for text in harmless] == harmless
    assert "drinking" not in DEFAULT.turn("I've stopped drinking for good").text


def test_lines_of_a_turn_stay_lines() -> None:
    text = "> my mail is anna@example.org\n> I love jazz\n\nI don't.\n"

    assert DEFAULT.turn(text).text == "> my mail is [e-mail]\n> I love jazz\n\nI don't."
    assert OFF.turn(text).text == text


def test_a_turn_is_kept_to_its_end() -> None:
    text = "I like tea. " * 1_000 + "Mail anna@example.org, and I like coffee."

    assert DEFAULT.turn(text).text.endswith("Mail [e-mail], and I like coffee.")


def test_what_runs_over_two_lines_is_found() -> None:
    assert "536-90-4399" not in DEFAULT.turn("my social security number:\n536-90-4399").text
    assert "C01X00T47" not in DEFAULT.turn("My passport number:\nC01X00T47\nI like noir").text


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
    told = DEFAULT.turn(text, before=before)

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
    assert hidden not in DEFAULT.turn(text).text


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
    assert DEFAULT.turn(text).text == text

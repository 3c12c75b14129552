"""Whose words a turn holds: what is quoted, pasted or to be translated is not the person's."""
# ruff: noqa: RUF001 - the marks are what is tested

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sager_language.preferences import own_words
from sager_language.preferences.quotes import is_title, quotations
from tests.language_samples import extracted, turn

OWN = "I love tea."
NOT_OWN = "I hate golf and my knees hurt."

PASTED = [
    f"{OWN}\n> {NOT_OWN}",
    f"{OWN}\n> {NOT_OWN}\n> {NOT_OWN}\n",
    f"{OWN}\n\nOn Mon, 3 Nov 2025 at 10:00, Tom Fox <tom@example.org> wrote:\n\n> {NOT_OWN}",
    f"{OWN}\n\nOn Mon, 3 Nov 2025 at 10:00, Tom Fox wrote:\n{NOT_OWN}",
    f"{OWN}\n\nAm 3. November 2025 schrieb Tom Fuchs:\n{NOT_OWN}",
    f"{OWN}\n\nLe 3 novembre, Tom a écrit :\n{NOT_OWN}",
    f"{OWN}\n-----Original Message-----\nFrom: Tom\n\n{NOT_OWN}",
    f"{OWN}\n---------- Forwarded message ---------\n{NOT_OWN}",
    f"{OWN}\n-------- Weitergeleitete Nachricht --------\n{NOT_OWN}",
    f"{OWN}\nFrom: Tom\nSubject: golf\n\n{NOT_OWN}",
    f"{OWN}\nVon: Tom\nBetreff: Golf\n\n{NOT_OWN}",
    f"{OWN}\n```\n{NOT_OWN}\n```",
    f"{OWN}\n~~~\n{NOT_OWN}\n~~~",
    f"{OWN} `{NOT_OWN}`",
    f"{OWN}\n\n    {NOT_OWN}",
    f"{OWN} <quote>{NOT_OWN}</quote>",
    f"{OWN} [quote=Tom]{NOT_OWN}[/quote]",
    f"{OWN} <email>{NOT_OWN}",
    f"{OWN}\n---\n{NOT_OWN}",
    f"{OWN}\n---\n{NOT_OWN}\n---",
    f'{OWN}\n"""\n{NOT_OWN}\n"""',
    f"{OWN}\n=====\n{NOT_OWN}\n=====",
    f"{OWN}\n--- begin mail ---\n{NOT_OWN}\n--- end mail ---",
    f"{OWN}\n2026-03-01 10:00:00 INFO {NOT_OWN}",
    f"{OWN}\n[12:03] Tom: {NOT_OWN}",
    f"{OWN}\nERROR: {NOT_OWN}",
    f"{OWN}\n| name | says |\n| Tom | {NOT_OWN} |",
    f"{OWN}\nTom\tgolf\t{NOT_OWN}\t",
    f"{OWN}\nTom Fox: {NOT_OWN}",
    f"{OWN}\nAssistant: {NOT_OWN}",
    f"{OWN} Please translate: {NOT_OWN}",
    f"{OWN} Translate this. {NOT_OWN}",
    f"{OWN} Could you proofread the following?\n{NOT_OWN}",
    f"{OWN} Here is the essay:\n\n{NOT_OWN}",
    f"{OWN} Summarise this article for me:\n\n{NOT_OWN}\n\n{NOT_OWN}",
    f"{OWN} My friend wrote me: {NOT_OWN}",
    f"{OWN} Übersetze bitte: {NOT_OWN}",
    f"{OWN} Hier ist der Brief:\n{NOT_OWN}",
    f"{OWN}\n\nDear Ms Fox,\n{NOT_OWN}",
    f"{OWN}\n\nHi Tom,\n\n{NOT_OWN}",
    *(
        f"{OWN} He said {opening}{NOT_OWN}{closing}"
        for opening, closing in (
            *(('"', '"'), ("“", "”"), ("„", "“"), ("„", "”"), ("«", "»"), ("« ", " »"), ("»", "«"), ("‹", "›")),
            *(
                ("「", "」"),
                ("『", "』"),
                ("《", "》"),
                ("'", "'"),
                ("‘", "’"),
                ("‚", "‘"),
                ("＂", "＂"),
                ("”", "”"),
                ("''", "''"),
            ),
        )
    ),
    f'{OWN} "{NOT_OWN}\n\n"{NOT_OWN}',
    f'{OWN} He wrote "Tom said "yes" and so on. {NOT_OWN}"',
    f"{OWN} “{NOT_OWN}",
]


@pytest.mark.parametrize("text", PASTED)
def test_only_what_the_person_says_themselves_is_theirs(text: str) -> None:
    own = " ".join(span.text for span in own_words(turn(text)))
    assert OWN in own
    assert "golf and" not in own
    assert "knees" not in own


def test_own_words_go_on_behind_a_quotation() -> None:
    assert [span.text for span in own_words(turn(f'{OWN} He said "{NOT_OWN}" but I love tea.'))] == [
        "I love tea. He said",
        "but I love tea.",
    ]


def test_own_words_go_on_behind_quoted_lines_of_a_mail() -> None:
    text = f"On Mon, Tom wrote:\n> {NOT_OWN}\n\n{OWN}"
    assert [span.text for span in own_words(turn(text))] == [OWN]


def test_a_title_in_quotation_marks_stays_in_its_sentence() -> None:
    text = "I love “The Sound of Music” and 'Dune', don't ask."
    assert [span.text for span in own_words(turn(text))] == [text]


def test_apostrophes_quote_nothing() -> None:
    text = "I'm sure it's the dogs' toys that I don't like, 'cause they're loud."
    assert " ".join(span.text for span in own_words(turn(text))).startswith("I'm sure it's the dogs' toys")


@pytest.mark.parametrize("role", ["assistant", "other"])
def test_nobody_elses_turn_has_own_words(role: str) -> None:
    assert own_words(turn(OWN, role)) == ()


DRAFTS = [
    'Polish this email I wrote: "I love golf and I hate tennis."',
    "Can you improve my cover letter?\n\nDear team,\nI love golf and I hate tennis.",
    "I'm drafting a post, please refine it. Here's my draft:\n\nI love golf and I hate tennis.",
    "Here is my original post:\n\n“I love golf and I hate tennis.”",
    "Help me polish this piece, I wrote it from my personal perspective:\n\nI love golf and I hate tennis.",
    "Kannst du meinen Beitrag verbessern?\n\nIch liebe Golf und hasse Tennis.",
    "Diesen Brief habe ich geschrieben, korrigiere ihn bitte:\n\nIch liebe Golf und hasse Tennis.",
]
TEXTS = [
    'Polish this email: "I love golf and I hate tennis."',
    "I received this email from a client, explain my options:\n\nI love golf and I hate tennis.",
    "My colleague's cover letter, please improve:\n\nI love golf and I hate tennis.",
    "I wrote this for my sister, it is her profile:\n\nI love golf and I hate tennis.",
    "Improve my novel's first chapter:\n\nI love golf and I hate tennis.",
    "I wrote a story, polish it:\n\nI love golf and I hate tennis.",
    "Here is the draft that my boss sent me:\n\nI love golf and I hate tennis.",
    "Please reply to the message below from Tom, my reply should be short.\n\nI love golf and I hate tennis.",
    'Is my translation of this quote right: "I love golf and I hate tennis."? It is by Oscar Wilde.',
    "I found this article, summarise it in my style:\n\nI love golf and I hate tennis.",
    "Diesen Brief hat mir mein Chef geschickt:\n\nIch liebe Golf und hasse Tennis.",
]


@pytest.mark.parametrize("text", [*DRAFTS, *TEXTS])
def test_a_text_to_work_on_states_nothing(text: str) -> None:
    assert extracted(text).findings == ()


def test_a_text_that_the_assistant_asked_for_is_not_said() -> None:
    asks = turn("Sure! Please paste the text that you want me to improve.", "assistant", at=1)
    of_anybody = extracted(turn("Can you improve a text?"), asks, turn("I love golf.", at=2))
    assert of_anybody.findings == ()


@given(st.text(max_size=400))
def test_own_words_stand_in_the_turn_to_the_letter(text: str) -> None:
    said = turn(text)
    end = 0
    for span in own_words(said):
        assert said.text[span.start : span.end] == span.text != ""
        assert span.start >= end
        end = span.end


@given(st.text(alphabet="\"'“”„‘’«» ab\n>`.", max_size=200))
def test_quotations_do_not_overlap(text: str) -> None:
    end = 0
    for start, stop in quotations(text):
        assert end <= start < stop <= len(text)
        end = stop


def test_somebody_who_speaks_is_no_title() -> None:
    assert [is_title(said) for said in ("“Dune”", "“I am tired”", "“No. Never.”", "“one\ntwo”")] == [
        True,
        False,
        False,
        False,
    ]

"""Wishes about answers: their dimension and value, and sentences that state none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sager_language.style import DIMENSIONS, read_styles, style_named
from tests.language_samples import extracted, lines, turn

SAMPLES = [(text, wanted) for text, _, wanted in (line.partition("\t") for line in lines("style.tsv"))]


@pytest.mark.parametrize(("text", "wanted"), [each for each in SAMPLES if not each[1].startswith("?")])
def test_a_wish_about_answers_is_read(text: str, wanted: str) -> None:
    read = [f"{style.dimension.removeprefix('answer_')} {style.value}" for style in read_styles(text)[0]]
    assert read == ([] if wanted == "-" else [wanted])


def test_most_samples_are_read_and_the_others_are_counted() -> None:
    wishes = [wanted for _, wanted in SAMPLES if wanted != "-"]
    assert (len(wishes), sum(wanted.startswith("?") for wanted in wishes)) == (154, 6)


def test_a_sentence_may_have_several_wishes_and_the_later_one_counts() -> None:
    styles, is_whole = read_styles("Please answer in German, keep it short and avoid jargon. Hm. Answer in English!")

    assert {style.dimension: style.value for style in styles} == {
        "answer_language": "en",
        "answer_verbosity": "brief",
        "answer_vocabulary": "plain",
    }
    assert not is_whole, "`Hm` is no wish"


def test_a_wish_for_the_present_text_is_not_kept() -> None:
    assert extracted("Write a toast for my sister.", "Keep it short.").findings == ()
    assert extracted("Write a toast for my sister. Keep it short.").findings == ()
    assert extracted("Keep your answer short, I'm on the train.").findings == ()
    alone = extracted("Keep it short.").findings
    always = extracted("Write a toast for my sister.", "Always keep it short.").findings
    assert [each.value for each in (*alone, *always)] == ["brief", "brief"]


def test_a_finding_has_its_dimension_and_the_persons_words() -> None:
    (found,) = extracted(turn("Hello! Antworte mir immer auf Deutsch. What is the capital of Peru?")).findings

    assert (found.dimension, found.value, found.domain) == ("answer_language", "de", None)
    assert found.words == "Antworte mir immer auf Deutsch"


@given(st.text(max_size=300))
def test_no_text_raises_and_all_values_have_names(text: str) -> None:
    for style in read_styles(text)[0]:
        assert style.dimension in DIMENSIONS
        assert text[style.start : style.end].startswith(style.words)
    style_named(text)

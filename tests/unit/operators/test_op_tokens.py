"""The real tokenizer (invariant 7), counted as its package counts, without what its import costs."""

import subprocess
import sys

import bpe_openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.tokens import count_tokens

ENCODING = bpe_openai.get_encoding("o200k_base")


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_as_many_tokens_as_the_package_says(text: str) -> None:
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text))


@pytest.mark.parametrize(
    "text", ["", "<|endoftext|>", "a\ud800b", "\ud83d\ude00", "likes: 中文, ß\r\n\t", "x" * 10_000]
)
def test_odd_texts_too(text: str) -> None:
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text))


def test_the_package_is_not_imported() -> None:
    code = (
        "import sys; from operators.tokens import count_tokens; count_tokens('a'); print('bpe_openai' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello", 1), ("hello world", 2), ("likes: mystery, romance | style: complex world explorer", 11)],
)
def test_counts_are_those_of_o200k(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_text_that_looks_like_a_control_token_is_only_text() -> None:
    assert count_tokens("<|endoftext|>") > 1


def test_emoji_cost_more_than_their_length() -> None:
    assert count_tokens("🧑‍🚀" * 10) > 10

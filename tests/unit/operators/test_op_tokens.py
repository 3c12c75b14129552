"""The real tokenizer (invariant 7), counted as its package counts, without what its import costs."""

import bpe_openai
from hypothesis import given
from hypothesis import strategies as st

from operators.tokens import count_tokens

ENCODING = bpe_openai.get_encoding("o200k_base")


@given(st.text(st.characters(), max_size=200))
def test_any_text_has_as_many_tokens_as_the_package_says(text: str) -> None:
    assert count_tokens(text) == len(ENCODING.encode_ordinary(text))


def test_text_that_looks_like_a_control_token_is_only_text() -> None:
    assert count_tokens("<|endoftext|>") > 1

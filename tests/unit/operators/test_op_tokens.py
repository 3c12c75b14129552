"""The real tokenizer (invariant 7)."""

import pytest

from operators.tokens import count_tokens


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

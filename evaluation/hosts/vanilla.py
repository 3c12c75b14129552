"""A host without memory (the paper's Vanilla LLM): the request, and the raw titles of the last few items."""

from evaluation.hosts.host import HostRequest, Ranks, by_model, ordered, parted, texts_of
from operators.prompts import as_data
from operators.words import words
from schemas import ItemFacts

LAST = 5
_TITLE_CHARS = 100


class VanillaHost:
    """Ranks by the request alone and keeps nothing.

    Args:
        ranker: the model; without one, candidates that share words with the last titles rank first.
        last: how many of the history's titles count.

    Raises:
        ValueError: `last` is negative.
    """

    name = "vanilla"

    def __init__(self, ranker: Ranks | None = None, *, last: int = LAST) -> None:
        if last < 0:
            raise ValueError("last must not be negative")
        self._ranker = ranker
        self._last = last

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """The candidates' ids, best first."""
        recent = [item.title for item in request.history[max(len(request.history) - self._last, 0) :]]
        if self._ranker is not None:
            return await by_model(self._ranker, request, lately=_plain(recent))
        seen = frozenset[str]().union(*map(words, recent))

        def remembered(item: ItemFacts) -> int:
            return len(frozenset[str]().union(*texts_of(item)) & seen)

        return ordered(request, remembered)

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Keeps nothing: the next request brings its own history."""
        parted(request, item_id)


def _plain(titles: list[str]) -> list[str]:
    """The last titles, newest first."""
    return [title for raw in reversed(titles) if (title := as_data(raw, _TITLE_CHARS))]

"""Books: genre, author, mood, category and era (paper App. E).

Series, reading level and format are left out, as in the paper's signal pruning.
"""

from functools import lru_cache
from typing import Final

from operators.statinit import text
from operators.statinit.vocabulary import TABLES, Vocabulary, closed_facts
from schemas import Candidate, Fact

_WORDS: Final = TABLES["books"]
GENERAL: Final = "general fiction"
GENRES: Final = Vocabulary(_WORDS["genres"])
GENRES_IN_TEXT: Final = Vocabulary(_WORDS["genres"], without=_WORDS["ambiguous"])
MOODS: Final = Vocabulary(_WORDS["moods"])
_COARSE: Final = frozenset(_WORDS["coarse"])
_SHELF_NOISE: Final = frozenset(_WORDS["shelf_noise"].split())
# Values that words can name before any item was seen.
VOCABULARY: Final = closed_facts(genre=GENRES.labels, mood=MOODS.labels)


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read a book's facts (paper App. E, Table 6).

    >>> metadata = {"authors": "Ines Varga", "categories": "['Mystery, Thriller & Suspense', 'Historical Mystery']"}
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(Candidate(item_id="b1", metadata=metadata))][:4]
    ['genre=mystery', 'genre=thriller', 'genre=historical', 'author=Ines Varga']
    """
    folded = text.fold_keys(candidate.metadata)
    categories = [text.label(raw) for raw in text.values_of(folded, "category")]
    shelves = [text.label(raw.replace("-", " ")) for raw in text.values_of(folded, "shelf")]
    words = f"{candidate.title} / {text.description_of(candidate)[: text.MINED_CHARS]}"
    # The end of a category's path first, where it is finest. Coarse ones too: a catalogue's own classes distinguish
    # readers where ours do not (Amazon: Hit@1 of the prior .248 with them, .220 without, popular negatives).
    # Shorter shelves first: they are closer to a catalogue's classes.
    fine = [*reversed(categories), *sorted(filter(None, map(_fine, shelves)), key=lambda shelf: shelf.count(" "))]
    return text.facts(
        ("genre", _genres([*text.values_of(folded, "genre"), *categories, *shelves], words), 5),
        ("author", text.people(text.values_of(folded, "author"), 2), 2),
        ("mood", MOODS.find(words, [label for label in (*categories, *shelves) if label not in _COARSE]), 2),
        ("category", fine, 14),
        *text.year_groups(text.year(folded, candidate.title)),
    )


def _genres(structured: list[str], words: str) -> list[str]:
    # Search title and description only if the structured fields give no class, or only the general one.
    found = GENRES.find_in(structured, floor=0.25)
    if not found or found == [GENERAL]:
        found = GENRES_IN_TEXT.find(words)[:3] or found
    return [genre for genre in found if genre != GENERAL] or found


@lru_cache(maxsize=8_192)
def _fine(shelf: str) -> str:
    # Genre words go last: `fantasy urban` is `urban fantasy`.
    words = shelf.split()
    if shelf in GENRES or all(word in _SHELF_NOISE or word in GENRES for word in words):
        return ""
    return " ".join(sorted(words, key=GENRES.__contains__))

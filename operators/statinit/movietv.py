"""Films and series: genre, qualifier, director, mood (paper App. E, Table 6)."""

from typing import Final

from operators.statinit import text
from operators.statinit.vocabulary import TABLES, Vocabulary, closed_facts
from schemas import Candidate, Fact

_WORDS: Final = TABLES["movietv"]
GENRES: Final = Vocabulary(_WORDS["genres"])
GENRES_IN_TEXT: Final = Vocabulary(_WORDS["genres"], without=_WORDS["ambiguous"])
QUALIFIERS: Final = Vocabulary(_WORDS["qualifiers"])
MOODS: Final = Vocabulary(_WORDS["moods"])
_IGNORED: Final = frozenset(_WORDS["ignored"])
# Values that words can name before any item was seen.
VOCABULARY: Final = closed_facts(genre=GENRES.labels, qualifier=QUALIFIERS.labels, mood=MOODS.labels)


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read a film's facts (paper App. E, Table 6).

    >>> film = Candidate(
    ...     item_id="m1", title="Salt Harbour (1996)", metadata={"genres": "Crime|Film-Noir", "director": "Mina Sorel"},
    ...     description="A brutal heist.")
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(film)]
    ['genre=crime', 'qualifier=film noir', 'director=Mina Sorel', 'mood=dark tone', 'era=1990s', 'year=1996 releases']
    """
    folded = text.fold_keys(candidate.metadata)
    description = text.description_of(candidate)
    keywords = [text.label(raw) for raw in text.values_of(folded, "keyword")]
    given = [*text.values_of(folded, "genre"), *text.values_of(folded, "category")]
    tags = " / ".join(keywords)
    words = f"{candidate.title} / {description[: text.MINED_CHARS]} / {tags}"
    genres = GENRES.find_in(given)
    return text.facts(
        ("genre", genres or GENRES_IN_TEXT.find(words)[:3], 6),
        ("qualifier", QUALIFIERS.find(" / ".join((*given, tags if genres else words))), 3),
        ("director", text.people(text.values_of(folded, "director"), 3), 3),
        ("mood", MOODS.find(words), 2),
        ("actor", text.people(text.values_of(folded, "actor"), 3), 3),
        ("keyword", [keyword for keyword in keywords if keyword not in _IGNORED], 5),
        ("country", [text.name(raw) for raw in text.values_of(folded, "country")[:1]], 1),
        *text.year_groups(text.year(folded, candidate.title)),
    )

"""How much the parsers find in real catalogues, which stay outside the repository.

Set SAGER_TEST_DATA to the folder that holds them; without it, and without ../shared/data, this is skipped.
"""

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from operators.statinit.parsers import facts_of, parser_for
from schemas import MAX_FACTS, Candidate

DATA = Path(os.environ.get("SAGER_TEST_DATA") or Path(__file__).parents[4] / "shared" / "data")

FLOORS = {
    "yelp": {"category": 0.99, "city": 0.99, "price": 0.60, "ambience": 0.44, "meal": 0.44, "rating": 0.43},
    "goodreads": {"genre": 0.99, "author": 0.99, "era": 0.99, "category": 0.60, "mood": 0.55},
    "amazon_books": {"genre": 0.99, "category": 0.22, "mood": 0.16},
    "movietv": {"genre": 0.99, "director": 0.99, "actor": 0.99, "era": 0.99, "keyword": 0.77, "mood": 0.50},
    "movielens_small": {"genre": 0.99, "director": 0.99, "actor": 0.99, "era": 0.99, "keyword": 0.65, "mood": 0.52},
}
"""The least share of items with a fact in a dimension, a little below what was measured.

Yelp's price, ambience and meal are bounded by the `attributes` that 62 % of the places have; the mood of Amazon's books
by their having no description.
"""


@pytest.mark.parametrize("data_set", FLOORS)
def test_the_main_dimensions_are_covered(data_set: str) -> None:
    path = DATA / data_set / "items.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        items = [candidate(line) for line in lines]
    parse = parser_for(data_set.removesuffix("_small"), {})

    covered: Counter[str] = Counter()
    for item in items:
        facts = facts_of(item, parse).facts
        assert 0 < len(facts) <= MAX_FACTS
        covered.update({fact.dimension for fact in facts})

    shares = {dimension: covered[dimension] / len(items) for dimension in FLOORS[data_set]}
    assert all(share >= FLOORS[data_set][dimension] for dimension, share in shares.items()), shares


def candidate(line: str) -> Candidate:
    row = json.loads(line)
    known = {"item_id": row.pop("item_id"), "title": row.pop("title"), "description": row.pop("description", "")}
    return Candidate(**known, metadata=row)

"""The layouts of data sets, in the order of their detection.

Totals are left out, such as stars and review counts. They date from the collection of the data, after the visits that
a method has to predict.
"""

import re
from typing import Any

from streams.importers.reader import Layout, Row

_INSTRUCTREC_DOMAINS = {"books": "books", "movietv": "movietv", "reads": "goodreads", "yelp": "yelp"}


def _sager_metadata(row: Row) -> dict[str, Any]:
    own = ("item_id", "title", "description", "domain")
    return {name: value for name, value in row.items() if name not in own and value is not None}


def _title_year(row: Row) -> int | None:
    found = re.search(r"\((\d{4})\)\s*$", row["title"])
    return int(found[1]) if found else None


LAYOUTS = (
    Layout(
        name="sager",
        words="items.jsonl.gz with interactions.jsonl.gz",
        domain=None,
        items="items.jsonl*",
        visits="interactions.jsonl*",
        item_id="item_id",
        metadata=_sager_metadata,
        user="user_id",
        item="item_id",
        time="timestamp",
        order="order",
    ),
    Layout(
        name="movielens",
        words="MovieLens' movies.csv with ratings.csv",
        domain="films",
        items="movies.csv",
        visits="ratings.csv",
        item_id="movieId",
        title=lambda row: row["title"].strip(),
        metadata={"genres": lambda row: row["genres"].replace("(no genres listed)", ""), "year": _title_year},
        user="userId",
        item="movieId",
        time="timestamp",
    ),
    Layout(
        name="instructrec",
        words=(
            "InstructRec's <set>All_recagent.jsonl with combined_<set>_asin_mapping.csv (see docs/datasets.md for .pkl)"
        ),
        domain=lambda file: _INSTRUCTREC_DOMAINS.get(file.split("_")[1], "instructrec"),
        items="combined_*_asin_mapping.csv",
        visits="*All_recagent*",
        item_id="index",
        metadata={"asin": "asin"},
        item="asin",
    ),
)

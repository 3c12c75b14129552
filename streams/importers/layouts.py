"""The layouts of data sets, each a mapping of columns to our fields; in the order of their detection.

Totals are left out: stars and review counts, sales ranks, items bought together. They date from the collection of the
data, after the visits that a method has to predict.
"""

import re
from datetime import UTC, datetime
from typing import Any

from streams.importers.reader import ENDINGS, Join, Layout, Row, id_of, text_of

MAX_TAGS, MIN_TAGGERS = 8, 2
"""MovieLens: a tag counts when two users gave it, so that no private note becomes a fact."""
MAX_PRICE = 40
"""Amazon: some items have page code instead of a price."""
MAX_SHELVES = 40
"""Goodreads: some books have hundreds of shelves; the most used come first."""
MAX_INSTRUCTION = 2_000
_GOODREADS_TIME = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) ([+-]\d{4}) (\d{4})")
# Not strptime: its month names depend on the locale, and it takes six times as long.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_INSTRUCTREC_DOMAINS = {"books": "books", "movietv": "movietv", "reads": "goodreads", "yelp": "yelp"}


def _sager_metadata(row: Row) -> dict[str, Any]:
    own = ("item_id", "title", "description", "domain")
    return {name: value for name, value in row.items() if name not in own and value is not None}


SAGER = Layout(
    name="sager",
    words="items.jsonl.gz with interactions.jsonl.gz",
    domain=None,
    items="items.jsonl*",
    visits="interactions.jsonl*",
    item_id="item_id",
    metadata=_sager_metadata,
    visited_only=False,
    user="user_id",
    item="item_id",
    rating="rating",
    time="timestamp",
    order="order",
)


def _tags(row: Row) -> list[str]:
    """Return the tags of a film that several users gave, the most frequent first."""
    users: dict[str, set[str]] = {}
    for tag, user in row["@tags"].get(row["movieId"], ()):
        users.setdefault(tag, set()).add(user)
    shared = [tag for tag, by in users.items() if tag and len(by) >= MIN_TAGGERS]
    return sorted(shared, key=lambda tag: (-len(users[tag]), tag))[:MAX_TAGS]


def _title_year(row: Row) -> int | None:
    found = re.search(r"\((\d{4})\)\s*$", row["title"])
    return int(found[1]) if found else None


MOVIELENS = Layout(
    name="movielens",
    words="MovieLens' movies.csv with ratings.csv",
    domain="films",
    items="movies.csv",
    visits="ratings.csv",
    item_id="movieId",
    title=lambda row: row["title"].strip(),
    metadata={
        "genres": lambda row: row["genres"].replace("(no genres listed)", ""),
        "year": _title_year,
        "tags": _tags,
    },
    joins={"@tags": Join("tags.csv", "movieId", lambda row: (" ".join(row["tag"].casefold().split()), row["userId"]))},
    visited_only=False,
    user="userId",
    item="movieId",
    rating="rating",
    time="timestamp",
)


def _goodreads_time(text: str) -> datetime:
    """Parse a time such as `Sun Jul 30 07:44:10 -0700 2017`."""
    found = _GOODREADS_TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a time")
    month, day, clock, zone, year = found.groups()
    return datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{clock}{zone}").astimezone(UTC)


def _genres(row: Row) -> list[str]:
    """Return the genres of a book, those that most readers gave first."""
    counts = (row["@genres"].get(id_of(row["book_id"])) or [None])[-1]
    return sorted(counts, key=lambda name: (-counts[name], name)) if isinstance(counts, dict) else []


def _authors(row: Row) -> list[str]:
    people = _objects(row.get("authors"))
    # Illustrators, translators and others have a role; the book's author has none.
    writers = [person for person in people if not person.get("role")] or people
    names = [row["@names"].get(str(person.get("author_id")), [""])[-1] for person in writers]
    return [name for name in names if name]


def _shelves(row: Row) -> list[str]:
    names = [text_of(shelf.get("name")) for shelf in _objects(row.get("popular_shelves"))]
    return [name for name in names if name][:MAX_SHELVES]


def _publication_year(row: Row) -> int | None:
    year = text_of(row.get("publication_year"))
    return int(year) if year.isascii() and year.isdecimal() and len(year) <= len("2017") else None


def _objects(value: Any) -> list[Row]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


GOODREADS = Layout(
    name="goodreads",
    words="Goodreads' goodreads_books.json.gz with goodreads_interactions.json.gz",
    domain="goodreads",
    items="goodreads_books*",
    visits="goodreads_interactions*.json*",
    item_id="book_id",
    metadata={
        "genres": _genres,
        "authors": _authors,
        "shelves": _shelves,
        "year": _publication_year,
        "language": lambda row: text_of(row.get("language_code")),
    },
    joins={
        "@genres": Join("goodreads_book_genres*", "book_id", "genres", of_items=True),
        "@names": Join("goodreads_book_authors*", "author_id", lambda row: text_of(row["name"])),
    },
    user="user_id",
    item="book_id",
    rating=lambda row: float(row["rating"]) or None,  # 0 is no rating
    time="date_added",
    clock=_goodreads_time,
    only="is_read",
)

YELP = Layout(
    name="yelp",
    words="Yelp's yelp_academic_dataset_business.json with yelp_academic_dataset_review.json",
    domain="yelp",
    items="yelp_academic_dataset_business*",
    visits="yelp_academic_dataset_review*",
    item_id="business_id",
    title="name",
    description=lambda _: "",
    metadata={name: name for name in ("categories", "city", "state", "attributes")},
    user="user_id",
    item="business_id",
    rating="stars",
    time="date",
    clock=lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC),  # the data has no time zone
)


def _instructrec_request(number: int, row: Row) -> tuple[str, str, str, tuple[str, ...]]:
    offered = tuple(id_of(item) for item in row["ranked_lists"])
    last = id_of(row["asin"][-1]) if row["asin"] else ""
    return str(number - 1), last, text_of(row.get("instruction"))[:MAX_INSTRUCTION], offered


INSTRUCTREC = Layout(
    name="instructrec",
    words="InstructRec's <set>All_recagent.jsonl with combined_<set>_asin_mapping.csv (see docs/datasets.md for .pkl)",
    domain=lambda file: _INSTRUCTREC_DOMAINS.get(file.split("_")[1], "instructrec"),
    items="combined_*_asin_mapping.csv",
    visits="*All_recagent*",
    item_id="index",
    metadata={"asin": "asin"},
    visited_only=False,
    item="asin",
    request=_instructrec_request,
)


def _amazon_domain(file: str) -> str:
    ending = next(ending for ending in ENDINGS if file.endswith(ending))
    category = file.removeprefix("meta_").removesuffix(ending).lower()
    known = {"books": "books", "movies_and_tv": "movietv"}
    named = next((domain for words, domain in known.items() if words in category), None)
    return named or re.sub(r"[^a-z0-9]+", "_", category).strip("_")[:64] or "amazon"


def _amazon_metadata(row: Row) -> dict[str, Any]:
    brand, price = (text_of(row.get(key)).strip() for key in ("brand", "price"))
    author = re.fullmatch(r"Visit Amazon's (.+) Page", brand)
    metadata = {
        "categories": _texts(row.get("category") or row.get("categories")),
        "authors": [author[1]] if author else [],
        "brand": "" if author else brand,
        "price": price if len(price) <= MAX_PRICE else "",
    }
    return {name: value for name, value in metadata.items() if value}


def _amazon_title(row: Row) -> str:
    title = text_of(row.get("title")).strip()
    return "" if "getTime" in title else title  # some items have the page's script as their title


def _texts(value: Any) -> list[str]:
    """Return the texts in a list, however deeply nested; a single text counts as a list of one."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else []


AMAZON = Layout(
    name="amazon",
    words="Amazon's meta_<category>.json.gz with that category's reviews",
    domain=_amazon_domain,
    items="meta_*",
    visits="*",
    item_id="asin",
    title=_amazon_title,
    description=lambda row: "\n".join(_texts(row.get("description"))),
    metadata=_amazon_metadata,
    user="reviewerID",
    item="asin",
    rating="overall",
    time="unixReviewTime",
)

LAYOUTS = (SAGER, MOVIELENS, GOODREADS, YELP, INSTRUCTREC, AMAZON)
"""Amazon comes last: it accepts any file as the reviews."""

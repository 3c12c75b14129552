"""Little made-up data sets of films: users with a taste for one genre, on disk as an evaluation reads them."""

import gzip
import json
import random

FILMS = 48
GENRES = ("Comedy", "Drama", "Horror", "Western")
CANDIDATES = {"uniform": "eval_candidates.jsonl.gz", "popular": "eval_candidates_pop.jsonl.gz"}


def films():
    return [
        {
            "item_id": f"f{number:02}",
            "title": f"Film {number} ({1970 + number})",
            "genres": GENRES[number % 4],
            "directors": f"Director {number % 6}",
            "year": 1970 + number,
        }
        for number in range(FILMS)
    ]


def tastes(users=40):
    """Each user's seven films, five of one genre."""
    histories = {}
    for number in range(users):
        chance = random.Random(number)
        liked = [f"f{film:02}" for film in range(number % 4, FILMS, 4)]
        all_films = [f"f{film:02}" for film in range(FILMS)]
        chosen = chance.sample(liked, 5) + chance.sample([f for f in all_films if f not in liked], 2)
        chance.shuffle(chosen)
        histories[f"u{number:02}"] = chosen
    return histories


def lines(file, rows):
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def data_set(folder, histories=None, items=None):
    folder.mkdir(exist_ok=True)
    histories = tastes() if histories is None else histories
    lines(folder / "items.jsonl.gz", [{"domain": "films", **item} for item in items or films()])
    rows = [
        {"user_id": user, "item_id": item, "order": order}
        for user, visits in histories.items()
        for order, item in enumerate(visits)
    ]
    lines(folder / "interactions.jsonl.gz", rows)
    return folder


def candidates(folder, rows, kind="uniform"):
    lines(folder / CANDIDATES[kind], [dict(zip(("user_id", "target", "candidates"), row, strict=True)) for row in rows])

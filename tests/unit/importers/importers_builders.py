"""Little data sets, written to disk."""

import gzip
import json


def write_items(folder, *items):
    with gzip.open(folder / "items.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(
            json.dumps({"domain": "films", "title": item["item_id"].upper(), **item}) + "\n" for item in items
        )


def write_interactions(folder, *rows):
    with gzip.open(folder / "interactions.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def write_movielens(folder):
    (folder / "movies.csv").write_text(
        'movieId,title,genres\n1,"American President, The (1995)",Comedy|Drama|Romance\n2,Untitled,(no genres listed)\n'
    )
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n7,2,4.0,1000\n7,1,1.5,900\n3,1,5.0,800\n3,99,5.0,801\n"
    )
    return folder


def write_lines(file, *rows):
    """JSON lines, gzipped if the name says so."""
    with gzip.open(file, "wt", encoding="utf-8") if file.suffix == ".gz" else file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)

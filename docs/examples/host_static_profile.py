"""A host with a static profile: made once from a user's history. What changed since then, the slim skill tells.

Have `sager up` running in another terminal, then: python docs/examples/host_static_profile.py
"""

import time
from collections import Counter

from sager_client import Candidate, EventProducer, SlimSkill, SlimSkills

ROWS = """
The Salt Letter, Mystery, Ines Varga | A Field of Rye, Romance, Mo Tern | Nine Lanterns, Fantasy, Mo Tern
The Cold Quay, Mystery, Ada Roux | Summer Terms, Romance, Ada Roux | The Owl Road, Fantasy, Mo Tern
The Last Lock, Mystery, Jon Hale | Dear Nobody, Romance, Ada Roux | Saltmarsh Kings, Fantasy, Lu Brandt
"""
CELLS = [row.split(", ") for line in ROWS.strip().splitlines() for row in line.split(" | ")]
BOOKS = {t: Candidate(item_id=t, title=t, metadata={"genre": genre, "author": author}) for t, genre, author in CELLS}
HISTORY = {"nora": ["The Salt Letter"], "otto": ["The Last Lock"]}
TAKES = {"nora": ["Nine Lanterns", "A Field of Rye"], "otto": ["The Cold Quay", "Summer Terms"]}


def said(book: Candidate) -> set[str]:
    """What a book's metadata say, in small letters."""
    return {str(value).lower() for value in book.metadata.values()}


def rank(books: list[Candidate], profile: Counter[str], skill: SlimSkill | None = None) -> list[Candidate]:
    """First what suits the profile, and between equals what the skill names."""
    likes = {like.lower() for like in skill.likes} if skill else set()
    return sorted(books, key=lambda book: (sum(profile[v] for v in said(book)), len(said(book) & likes)), reverse=True)


with SlimSkills() as skills, EventProducer() as events:
    profiles = {user: Counter(v for t in titles for v in said(BOOKS[t])) for user, titles in HISTORY.items()}
    for user, takes in TAKES.items():
        for title in takes * 5:  # a line must prove itself
            skill = skills.skill(user, "books")
            ranking = events.ranking(user, "books", rank([*BOOKS.values()], profiles[user], skill), skill=skill)
            events.selection(ranking, title)
    events.flush()
    give_up = time.monotonic() + 30  # only to show it: a service never waits, it ranks by what is known now
    while time.monotonic() < give_up and not all((s := skills.skill(u, "books")) and s.likes for u in TAKES):
        time.sleep(0.1)
    for user, takes in TAKES.items():
        skill = skills.skill(user, "books")
        fresh = [book for title, book in BOOKS.items() if title not in (*takes, *HISTORY[user])]
        print(f"{user}: {skill.text if skill else 'nothing is known yet'}")
        print("  without:", ", ".join(book.title for book in rank(fresh, profiles[user])[:4]))
        print("  with:   ", ", ".join(book.title for book in rank(fresh, profiles[user], skill)[:4]))

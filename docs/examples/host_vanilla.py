"""A host without memory: it ranks by the request and the last titles, and lets a slim skill decide where both tie.

Have `sager up` running in another terminal, then: python docs/examples/host_vanilla.py
"""

import time

from sager_client import Candidate, EventProducer, SlimSkill, SlimSkills

ROWS = """
Letters to Lisbon, Romance, 1996 | Harbour Street, Crime, 1999 | Dust River, Western, 1968 | Low Orbit, Sci-Fi, 2014
Roses in June, Romance, 1992 | Cold Ledgers, Crime, 1991 | Last Coach West, Western, 1961 | Machines, Sci-Fi, 2016
Two Umbrellas, Romance, 1994 | Harbour Lights, Crime, 1995 | Silver Canyon, Western, 1965 | Afterglow, Sci-Fi, 2018
"""
CELLS = [row.split(", ") for line in ROWS.strip().splitlines() for row in line.split(" | ")]
FILMS = [Candidate(item_id=t, title=t, metadata={"genre": genre, "year": int(year)}) for t, genre, year in CELLS]
TAKES = {"vera": ["Low Orbit", "Machines"], "sam": ["Dust River", "Last Coach West"]}
REQUEST = "a film for tonight"


def rank(films: list[Candidate], recent: list[str], skill: SlimSkill | None = None) -> list[Candidate]:
    """First what was asked for, then what sounds like the last titles, and between equals what the skill names."""
    asked, seen = set(REQUEST.split()), set(" ".join(recent).lower().split())

    def score(film: Candidate) -> tuple[int, int, int]:
        genre = str(film.metadata["genre"]).lower()
        words = {genre, *film.title.lower().split()}
        return len(words & asked), len(words & seen), int(skill is not None and genre in skill.likes)

    return sorted(films, key=score, reverse=True)  # what ties stays in its order


with SlimSkills() as skills, EventProducer() as events:
    for user, takes in TAKES.items():
        for number, title in enumerate(takes * 5):  # a line must prove itself
            skill = skills.skill(user, "films")
            ranking = events.ranking(user, "films", rank(FILMS, takes[:number], skill), REQUEST, skill=skill)
            events.selection(ranking, title)
    events.flush()
    give_up = time.monotonic() + 30  # only to show it: a service never waits, it ranks by what is known now
    while (
        not all((skill := skills.skill(user, "films")) and skill.likes for user in TAKES) and time.monotonic() < give_up
    ):
        time.sleep(0.1)
    for user, takes in TAKES.items():
        skill, fresh = skills.skill(user, "films"), [film for film in FILMS if film.title not in takes]
        print(f"{user}: {skill.text if skill else 'nothing is known yet'}")
        print("  without:", ", ".join(film.title for film in rank(fresh, takes)[:4]))
        print("  with:   ", ", ".join(film.title for film in rank(fresh, takes, skill)[:4]))

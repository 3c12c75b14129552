"""A host with a dynamic profile: after each choice it notes the cuisine anew. The slim skill adds what lasts.

Have `sager up` running in another terminal, then: python docs/examples/host_dynamic_profile.py
"""

import time

from sager_client import Candidate, EventProducer, SlimSkill, SlimSkills

ROWS = """
Green Curry, thai, chicken | Dal Makhani, indian, lentils | Cassoulet, french, beans | Baked Zucca, italian, squash
Pad Krapow, thai, tofu | Rogan Josh, indian, lamb | Ratatouille, french, squash | Ribollita, italian, beans
Lentil Larb, thai, lentils | Palak Tofu, indian, tofu | Petit Sale, french, lentils | Tofu Milanese, italian, tofu
"""
CELLS = [row.split(", ") for line in ROWS.strip().splitlines() for row in line.split(" | ")]
RECIPES = {t: Candidate(item_id=t, title=t, metadata={"cuisine": c, "main": main}) for t, c, main in CELLS}
TAKES = {"ines": ["Palak Tofu", "Pad Krapow"], "karl": ["Dal Makhani", "Petit Sale"]}


def rank(recipes: list[Candidate], profile: list[str], skill: SlimSkill | None = None) -> list[Candidate]:
    """First what suits the profile, and between equals what the skill names."""

    def score(recipe: Candidate) -> tuple[int, int]:
        said = {str(value) for value in recipe.metadata.values()}
        return len(said & set(profile)), len(said & set(skill.likes if skill else ()))

    return sorted(recipes, key=score, reverse=True)  # what ties stays in its order


with SlimSkills() as skills, EventProducer() as events:
    profiles: dict[str, list[str]] = {user: [] for user in TAKES}
    for user, takes in TAKES.items():
        for title in takes * 5:  # a line must prove itself
            skill = skills.skill(user, "recipes")
            ranking = events.ranking(user, "recipes", rank([*RECIPES.values()], profiles[user], skill), skill=skill)
            events.selection(ranking, title)
            profiles[user] = [str(RECIPES[title].metadata["cuisine"])]
    events.flush()
    give_up = time.monotonic() + 30  # only to show it: a service never waits, it ranks by what is known now
    while (
        not all((skill := skills.skill(user, "recipes")) and skill.likes for user in TAKES)
        and time.monotonic() < give_up
    ):
        time.sleep(0.1)
    for user, takes in TAKES.items():
        skill, fresh = skills.skill(user, "recipes"), [r for t, r in RECIPES.items() if t not in takes]
        print(f"{user}: {skill.text if skill else 'nothing is known yet'}")
        print("  without:", ", ".join(recipe.title for recipe in rank(fresh, profiles[user])[:4]))
        print("  with:   ", ", ".join(recipe.title for recipe in rank(fresh, profiles[user], skill)[:4]))

"""Users with a history, as the workers' table of profiles has them. All made up."""

from operators.global_skill import Population
from operators.learning.prior import observe
from schemas import Profile
from tests.builders import an_interaction, facts


def a_profile(*items: str | tuple[str, ...], user: str = "ann", domain: str = "books") -> Profile:
    """A user who took items with these facts, oldest first: `a_profile("genre: noir", ("genre: a", "mood: b"))`."""
    profile = None
    for item in items:
        found = facts(*([item] if isinstance(item, str) else item))
        profile = observe(profile, an_interaction(user_id=user, domain=domain), found)
    return profile or Profile(user_id=user, domain=domain)


def a_population(*profiles: Profile, domain: str = "books", tracked: int = 20_000) -> Population:
    population = Population(domain, tracked)
    for profile in profiles:
        population.add(profile)
    return population

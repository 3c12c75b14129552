"""Made-up films and choices, for tests that need a world and not a data set."""

import random
from typing import Any

GENRES = ("Drama", "Action", "Comedy", "Horror", "Western", "Animation")


def film(number: int) -> dict[str, Any]:
    """One made-up film, as an app would send it."""
    return {
        "item_id": f"film-{number}",
        "title": f"Film {number} ({1970 + number % 50})",
        "metadata": {
            "genres": [GENRES[number % 6], GENRES[(number // 6) % 6]],
            "director": f"Dana Director{number % 7}",
            "year": 1970 + number % 50,
        },
    }


def slate(seed: int, size: int = 10, of: int = 120) -> list[dict[str, Any]]:
    """Some distinct films, always the same for the same seed."""
    return [film(number) for number in random.Random(seed).sample(range(of), size)]

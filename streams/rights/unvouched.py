"""Why a value is held back from models, in words."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from operators.vouch import Held

WHY = {
    "unknown": "not known as a label or a name, and not met on enough items",
    "long": "longer than names and labels are",
    "signs": "with signs that names and labels seldom have",
    "disguise": "in a spelling or with signs that names and labels never have",
    "words": "with a word that orders have and labels seldom",
    "order": "in the words of an order",
    "unlisted": "neither on the operator's list nor met on enough items",
}


def told(held: "Held") -> str:
    """Why a value is held back, in words."""
    return WHY[held.value]

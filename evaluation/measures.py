"""Hit rate and NDCG of cases, from the rank of their target."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MEASURES = ("hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5")


def hit_at(k: int, places: ArrayLike) -> NDArray[np.float64]:
    """1 for each target among the first k, else 0. Ranks count from 1."""
    return (np.asarray(places) <= k).astype(np.float64)


def ndcg_at(k: int, places: ArrayLike) -> NDArray[np.float64]:
    """1 / log2(place + 1) for each target among the first k, else 0: with one relevant item the ideal is 1."""
    return hit_at(k, places) / np.log2(np.asarray(places, dtype=np.float64) + 1)


def averages(places: ArrayLike) -> dict[str, float]:
    """The mean of every measure over the cases, by the names in `MEASURES`."""
    kinds = {"hit": hit_at, "ndcg": ndcg_at}
    return {
        name: float(kinds[kind](int(k), places).mean()) for name in MEASURES for kind, _, k in [name.partition("_at_")]
    }

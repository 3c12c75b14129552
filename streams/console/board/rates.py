"""How much happened between two readings of the same processes: differences of counters, and quantiles of durations."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streams.console.board.scrape import Reading, Series

Increases = Mapping[Series, float]
"""By how much each counter went up, over all processes."""
BEYOND = float("inf")
"""A quantile above the largest bound."""


@dataclass(frozen=True)
class Span:
    """What happened in all processes between two looks.

    Attributes:
        seconds: the time between them.
        increases: of every counter, over all processes that answered both times.
    """

    seconds: float
    increases: Increases

    def per_second(self, name: str, label: str) -> dict[str, float]:
        """A counter's rate by one of its labels."""
        found = Counter[str]()
        for (known, labels), value in self.increases.items():
            if known == name:
                found[dict(labels).get(label, "")] += value  # type: ignore[assignment] # rates are no whole numbers
        return {name: value / self.seconds for name, value in found.items()}

    def total(self, name: str, keep: Callable[[dict[str, str]], bool] = lambda _: True) -> float:
        """By how much a counter went up, over those of its series that are kept."""
        return sum(value for (known, labels), value in self.increases.items() if known == name and keep(dict(labels)))

    def quantile(self, name: str, share: float, **labels: str) -> float | None:
        """A histogram's quantile over what happened; BEYOND if it is above its largest bound, None if nothing did."""
        buckets = defaultdict[float, float](float)
        for (known, found), value in self.increases.items():
            if known == f"{name}_bucket" and labels.items() <= (told := dict(found)).items():
                buckets[float(told["le"])] += value
        return quantile(sorted(buckets.items()), share)


def quantile(buckets: Sequence[tuple[float, float]], share: float) -> float | None:
    """A quantile out of cumulative buckets, spread evenly within one, as Prometheus does.

    >>> quantile([(1.0, 5.0), (2.0, 10.0), (float("inf"), 10.0)], 0.75), quantile([(1.0, 0.0)], 0.5)
    (1.5, None)
    """
    total = buckets[-1][1] if buckets else 0
    if total <= 0:
        return None
    wanted = share * total
    for (low, before), (high, count) in pairwise([(0.0, 0.0), *buckets]):
        if count >= wanted:
            if high == BEYOND:
                return BEYOND
            return low + (high - low) * (wanted - before) / max(count - before, 1e-12)
    return BEYOND


def between(before: Iterable[Reading], after: Iterable[Reading], seconds: float) -> Span:
    """What happened between two readings of each process.

    A process that was away at either moment counts for nothing: what it counted meanwhile was at no known time. A
    counter that went down began again with its process.
    """
    known = {reading.source: reading for reading in before if not reading.away}
    increases = Counter[Series]()
    for reading in after:
        if reading.away or reading.source not in known:
            continue
        earlier = known[reading.source].samples
        for series, value in reading.samples.items():
            if series[0].endswith(("_total", "_bucket", "_count", "_sum")):
                rise = value - earlier.get(series, 0.0)
                increases[series] += value if rise < 0 else rise  # type: ignore[assignment]
    return Span(max(seconds, 1e-3), increases)

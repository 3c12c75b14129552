"""How long choices wait: hot users, skewed partitions and a rebalance, simulated event by event.

A worker takes its partitions' choices in the order of their arrival. Each occupies one of its places for as long as it
is worked on, and also while it waits for an earlier one of its user: the worker keeps each user's order that way. With
rules a worker has one place, its core; with an LLM it has as many as calls may be in flight.
"""

import heapq
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from streams.kafka.clients import partition_of

EVEN = 1_000
"""How many of the busiest users are about as busy as the first."""


@dataclass(frozen=True)
class Scene:
    """A deployment under load, and what happens to it.

    Attributes:
        name: what it shows.
        users: how many.
        skewed: whether the k-th user's share falls as 1 / (k + 1,000), else all have the same: nobody chooses ten
            times a second.
        hot: the share of all choices that one user makes beside that, such as a robot.
        partitions, workers, places: of the deployment.
        seconds_each: how long one choice occupies a place.
        load: the share of all places that is busy on average.
        seconds: how long choices come.
        lost_at: the moment, as a share of the time, at which a worker is gone; None: none is.
        takeover_seconds: until others have its partitions and their states.
    """

    name: str
    users: int
    partitions: int
    seconds_each: float
    workers: int = 4
    places: int = 1
    skewed: bool = True
    hot: float = 0.0
    load: float = 0.6
    seconds: float = 30.0
    lost_at: float | None = None
    takeover_seconds: float = 15.0

    @property
    def per_second(self) -> float:
        """Choices per second."""
        return self.load * self.workers * self.places / self.seconds_each


@dataclass(frozen=True)
class Result:
    """What came of it.

    Attributes:
        busiest: the share of all choices that the busiest worker has, over an even share.
        p50, p99: seconds from a choice's arrival to the beginning of the work on it.
        catch_up: seconds from the takeover until all that had come by then is done; None: no worker was lost.
    """

    busiest: float
    p50: float
    p99: float
    catch_up: float | None


class _Choice(NamedTuple):
    at: float
    user: int
    partition: int


def simulated(scene: Scene, seed: int = 1) -> Result:
    """One run; the same for the same seed."""
    arriving = list(_arrivals(scene, random.Random(seed)))
    lost = None if scene.lost_at is None else scene.lost_at * scene.seconds
    taken_over = None if lost is None else lost + scene.takeover_seconds
    shares, waits, late = Counter[int](), list[float](), 0.0
    # A partition's choices come to its worker when they arrive or, if that one is gone, with the takeover.
    ready = list(_ready(arriving, scene, lost, taken_over))
    if lost is not None:
        ready.sort(key=lambda each: (each[0], each[2].at))
    free = {worker: [0.0] * scene.places for worker in range(scene.workers)}
    over: dict[int, float] = {}
    for at, worker, choice in ready:
        place = heapq.heappop(free[worker])
        begun = max(at, place, over.get(choice.user, 0.0))
        end = begun + scene.seconds_each
        over[choice.user] = end
        heapq.heappush(free[worker], end)
        shares[worker] += 1
        waits.append(begun - choice.at)
        if taken_over is not None and choice.at <= taken_over:
            late = max(late, end)
    waits.sort()
    return Result(
        busiest=max(shares.values()) * scene.workers / len(arriving),
        p50=waits[len(waits) // 2],
        p99=waits[int(0.99 * len(waits))],
        catch_up=None if taken_over is None else max(0.0, late - taken_over),
    )


def _ready(
    arriving: Sequence[_Choice], scene: Scene, lost: float | None, taken_over: float | None
) -> Iterator[tuple[float, int, _Choice]]:
    """When each choice can be worked on, and by whom. What the lost worker had done stays done."""
    for choice in arriving:
        worker = choice.partition % scene.workers
        if lost is None or taken_over is None or worker != scene.workers - 1 or choice.at < lost:
            yield choice.at, worker, choice
        else:
            # One after the other of the lost worker's partitions goes to the others in turn.
            yield max(choice.at, taken_over), choice.partition // scene.workers % (scene.workers - 1), choice


def _arrivals(scene: Scene, rng: random.Random) -> Iterator[_Choice]:
    at = 0.0
    while (at := at + rng.expovariate(scene.per_second)) < scene.seconds:
        if rng.random() < scene.hot:
            user = -1
        elif scene.skewed:
            user = int(EVEN * (1 + scene.users / EVEN) ** rng.random()) - EVEN
        else:
            user = rng.randrange(scene.users)
        yield _Choice(at, user, _partition(user, scene.partitions))


@lru_cache(maxsize=1 << 18)
def _partition(user: int, partitions: int) -> int:
    return partition_of(f"user-{user}", partitions)

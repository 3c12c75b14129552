"""Propagate (paper 2.2, Algorithm 1 line 11): a choice goes into the user's memory, and on to the items.

A user's `Memory` says what they took. Each choice *touches* its item, and the user's newest other items, with a small
state. An item gathers its takers. What they have in common is reckoned when somebody asks: `operators.neighbourhood`.
Nothing of anybody's words is kept: a taker is a pseudonym, with figures and the ids of items. The pseudonym is how a
later removal finds what came from whom. It is made with the deployment's secret: without it, a list of ids does not
tell who is behind one.

A touch is a state with a version, not an increment: told twice or late, it changes nothing.
"""

import hmac
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b

from operators.applied import remember, with_applied
from operators.attributes import fact_id
from operators.clocks import kafka_time
from schemas import (
    MAX_DAYS,
    MAX_MEMORY_FACTS,
    MAX_NEWEST,
    MAX_OTHERS,
    MAX_RECENT,
    MAX_SEEN,
    MAX_TAKEN,
    MAX_TAKERS,
    MAX_TASTES,
    Fact,
    ItemFacts,
    ItemMemory,
    Memory,
    Position,
    Taken,
    Taker,
    Touch,
    Touched,
)

MAX_TITLE_CHARS = 80
MAX_SEEN_WORDS = 4
TRUSTED_DAYS = 4
"""An account counts fully after this many active days: an attacker makes forty accounts in one evening."""
EPOCHS = 2**32
"""How many epochs there are; behind the last comes the first."""


@dataclass(frozen=True)
class GraphLimits:
    """How far a choice is heard, and how many must stand behind what is told.

    Attributes:
        floor: what fewer other users than this support is told to nobody.
        fan_out: how many of the user's other items hear of a choice: those taken 1, 2, 4, 8, ... choices ago.
        secret: what takers' pseudonyms are made with.
    """

    floor: int = 2
    fan_out: int = 5
    secret: bytes = field(default=b"", repr=False)


def with_taken(
    memory: Memory | None,
    user_id: str,
    domain: str,
    item: ItemFacts,
    at: datetime,
    event_id: str,
    source: Position | None = None,
    shown: Iterable[ItemFacts] = (),
) -> Memory:
    """The memory with one more item taken; with an event that it holds already, only the fence moves on.

    An item taken again moves to the newest place and counts. Late events keep their place by their own time.
    """
    if memory is None:
        memory = Memory(user_id=user_id, domain=domain)
    applied = with_applied(memory.applied, source)
    if event_id in memory.recent:
        return memory.model_copy(update={"applied": applied})
    before = next((taken for taken in memory.taken if taken.item_id == item.item_id), None)
    taken = Taken(
        item_id=item.item_id,
        title=item.title[:MAX_TITLE_CHARS],
        facts=item.facts[:MAX_MEMORY_FACTS],
        at=max(at, before.at) if before else at,
        times=before.times + 1 if before else 1,
    )
    others = [other for other in memory.taken if other.item_id != item.item_id]
    newest_last = sorted([*others, taken], key=lambda one: one.at)
    return memory.model_copy(
        update={
            "version": memory.version + 1,
            "interactions": memory.interactions + 1,
            "days": memory.days + _is_new_day(memory, at, kafka_time(source)),
            "taken": tuple(newest_last[-MAX_TAKEN:]),
            "seen": _with_seen(memory.seen, (*shown, item)),
            "recent": remember(memory.recent, event_id, MAX_RECENT),
            "applied": applied,
        }
    )


def _is_new_day(memory: Memory, at: datetime, logged_at: datetime | None) -> bool:
    """Return true if a choice is the account's first of a day, by Kafka's time where it is known.

    Apps may date a choice back: by its own time, a new account would have as many active days as it makes up.
    """
    if logged_at is None:
        return at.date() not in {known.at.date() for known in memory.taken}
    return all(logged_at.date() > held.moment.date() for held in memory.applied)


def _with_seen(seen: Sequence[Fact], items: Iterable[ItemFacts]) -> tuple[Fact, ...]:
    """Add shown facts, the newest last, without long values, which people do not name in passing."""
    found = dict.fromkeys(fact for item in items for fact in item.facts if fact.value.count(" ") < MAX_SEEN_WORDS)
    kept = [fact for fact in seen if fact not in found]
    return (*kept, *found)[-MAX_SEEN:]


def tastes(taken: Iterable[Taken]) -> tuple[str, ...]:
    """What a user takes most: attributes of at least two items in memory, the most frequent first."""
    counts = Counter(name for item in taken for name in {fact_id(fact) for fact in item.facts})
    common = [name for name in counts if counts[name] > 1]
    return tuple(sorted(common, key=lambda name: (-counts[name], name))[:MAX_TASTES])


def touches(memory: Memory, item_id: str, limits: GraphLimits = GraphLimits()) -> Touch:
    """What the chosen item and some of the user's other items are to hear, the chosen one first.

    The others hear too, because what is taken after an item says as much about it as what was taken before. Each hears
    at the 1st, 2nd, 4th, 8th, ... choice after its own: what it knows of a taker is never older than half of what has
    happened since, for a handful of items a choice.
    """
    newest_first = list(reversed(memory.taken))
    chosen = [taken for taken in newest_first if taken.item_id == item_id]
    rest = [taken for taken in newest_first if taken.item_id != item_id]
    hearing = [*chosen, *(rest[2**step - 1] for step in range(limits.fan_out) if 2**step <= len(rest))]
    return _touch(memory, hearing, limits)


def all_touches(memory: Memory, limits: GraphLimits = GraphLimits()) -> Touch:
    """What every item in memory is to hear, after the items were told to forget this user, the newest first."""
    return _touch(memory, list(reversed(memory.taken)), limits)


def _touch(memory: Memory, hearing: Sequence[Taken], limits: GraphLimits) -> Touch:
    return Touch(
        domain=memory.domain,
        taker=neighbour_of(memory.user_id, limits.secret),
        version=memory.version,
        degree=len(memory.taken),
        days=min(memory.days, MAX_DAYS),
        newest=tuple(taken.item_id for taken in reversed(memory.taken))[:MAX_NEWEST],
        tastes=tastes(memory.taken),
        items=tuple(Touched(item_id=taken.item_id, at=taken.at, times=taken.times) for taken in hearing),
    )


def shared_out(touch: Touch, partition_of: Callable[[str], int]) -> dict[int, Touch]:
    """The touch, for each partition with the items that are there."""
    parts: dict[int, list[Touched]] = {}
    for each in touch.items:
        parts.setdefault(partition_of(each.item_id), []).append(each)
    return {partition: touch.model_copy(update={"items": tuple(items)}) for partition, items in parts.items()}


def takers_of(touch: Touch) -> Iterator[tuple[str, Taker]]:
    """The items that are to hear, each with the taker as it is to hold them."""
    for each in touch.items:
        others = tuple(name for name in touch.newest if name != each.item_id)[:MAX_OTHERS]
        taker = Taker(touch.taker, touch.version, each.at, each.times, touch.degree, others, touch.tastes, touch.days)
        yield each.item_id, taker


NOBODY_ASKS = "-"
"""In the place of a request's name, where nobody waits for an answer."""


def forgotten_touch(neighbour: str, domain: str | None, request: str) -> Touch:
    """Tells all items of a partition that this neighbour took none of them; those of one domain, or all."""
    return Touch(
        domain=domain or "every", taker=neighbour, version=0, degree=0, forgotten=request, every_domain=domain is None
    )


def without_taker(item: ItemMemory, neighbour: str) -> ItemMemory | None:
    """The item as if this neighbour had never taken it; None where it knows nothing of them."""
    return _with_takers(item, tuple(taker for taker in item.takers if taker.neighbour != neighbour))


def without_foreign(item: ItemMemory, secret: bytes) -> ItemMemory | None:
    """The item without takers whose pseudonyms have another secret; None where there are none.

    Nobody can tell whose those are any more. Their choices tell again.
    """
    mark = mark_of(secret)
    return _with_takers(item, tuple(taker for taker in item.takers if taker.neighbour.startswith(mark)))


def _with_takers(item: ItemMemory, kept: tuple[Taker, ...]) -> ItemMemory | None:
    if len(kept) == len(item.takers):
        return None
    return item.model_copy(update={"epoch": (item.epoch + 1) % EPOCHS, "takers": kept})


def on_touch(
    item: ItemMemory | None, domain: str, item_id: str, arrived: Taker, now: datetime | None = None
) -> ItemMemory | None:
    """The item with this taker; None if it knows that, or something newer of them, already.

    A touch from after `now` counts as one of now: a clock that runs ahead must not keep everybody else out for years.
    """
    if item is None:
        item = ItemMemory(domain=domain, item_id=item_id)
    if now is not None and arrived.at > now:
        arrived = replace(arrived, at=now)
    held = next((taker for taker in item.takers if taker.neighbour == arrived.neighbour), None)
    if held is not None and held.version >= arrived.version:
        return None
    takers = [taker for taker in item.takers if taker is not held]
    arrived = heard(held, arrived)
    kept = sampled(item_id, [*takers, arrived])
    if not any(taker is arrived for taker in kept):
        return None
    return item.model_copy(update={"epoch": (item.epoch + 1) % EPOCHS, "takers": kept})


def sampled(item_id: str, takers: Sequence[Taker]) -> tuple[Taker, ...]:
    """Return a weighted sample of an item's takers, at most `MAX_TAKERS`, newest last.

    If it kept the newest takers, a few dozen new accounts would push out all others. Each taker has fixed random
    numbers per item (bottom-k sampling), so that the sample does not depend on the order or the number of touches. A
    taker with `n` active days has the best of `n` numbers, so the chance to stay grows with the days (Efraimidis and
    Spirakis, weighted random sampling with a reservoir, 2006). A taker's days must never decrease, or an older touch
    could return.
    """
    if len(takers) > MAX_TAKERS:
        takers = sorted(takers, key=lambda taker: _priority(item_id, taker))[-MAX_TAKERS:]
    return tuple(sorted(takers, key=_by_time))


def _priority(item_id: str, taker: Taker) -> tuple[int, str]:
    draws = max(1, min(taker.days, TRUSTED_DAYS))
    digest = blake2b(f"{taker.neighbour} {item_id}".encode(), digest_size=8 * TRUSTED_DAYS).digest()
    return max(struct.unpack_from(f">{draws}Q", digest)), taker.neighbour


def heard(held: Taker | None, arrived: Taker) -> Taker:
    """What an item knows of a taker once it hears of them again.

    A touch tells the newest items only. Those taken next to this one say most about it, and by the time of the
    last hearing they are long out of the newest: so what was heard before stays, as far as there is room.
    """
    if held is None:
        return arrived
    others = dict.fromkeys((*arrived.others, *held.others))
    return replace(arrived, others=tuple(others)[:MAX_OTHERS])


def _by_time(taker: Taker) -> tuple[datetime, str]:
    return taker.at, taker.neighbour


def neighbour_of(user_id: str, secret: bytes = b"") -> str:
    """The pseudonym under which others meet a user: the same everywhere, so that it can be taken back.

    It begins with a mark of its secret, which tells those of another secret apart.

    >>> neighbour_of("ann", b"secret") == neighbour_of("ann", b"secret") != neighbour_of("ann", b"another")
    True
    """
    return mark_of(secret) + hmac.digest(secret, b"user " + user_id.encode(), "sha256").hex()[:24]


@lru_cache(maxsize=8)
def mark_of(secret: bytes) -> str:
    """How all pseudonyms of this secret begin."""
    return f"user:{hmac.digest(secret, b'mark', 'sha256').hex()[:4]}."

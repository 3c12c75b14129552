"""Propagate (paper 2.2, Algorithm 1 line 11): choices update memories and items.

Each choice touches its item and some older ones with a small state of its taker; a repeated or late touch changes
nothing. A taker is a pseudonym, keyed by the deployment's secret, with figures and item ids but no words.
"""

import hmac
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

from operators.admission import is_applied, kafka_time, with_applied, with_recent
from operators.attributes import fact_ids
from schemas import MAX_DAYS, MAX_MEMORY_FACTS, MAX_NEWEST, MAX_OTHERS, MAX_SEEN, MAX_TAKEN, Fact, ItemFacts, Position
from schemas.events import Contrast, Interaction
from schemas.skills import MAX_RECENT
from schemas.state import MAX_TAKERS, MAX_TASTES, ItemMemory, ItemUpdate, Memory, TakenItem, Taker, TouchedItem

MAX_TITLE_CHARS = 80
MAX_SEEN_WORDS = 4
# An account counts fully after this many active days, because an attacker can create forty accounts in an evening.
TRUSTED_DAYS = 4

# Epochs wrap around at this number, to keep their stored size fixed.
EPOCHS = 2**32


@dataclass(frozen=True)
class GraphLimits:
    """How far a choice propagates; `secret` keys the takers' pseudonyms."""

    # The minimum number of other users behind every value that a reader gets.
    floor: int = 2
    # The number of other items that a choice touches: those taken 1, 2, 4, 8, ... choices ago.
    fan_out: int = 5
    secret: bytes = field(default=b"", repr=False)


def add_taken(
    memory: Memory | None,
    user_id: str,
    domain: str,
    item: ItemFacts,
    at: datetime,
    event_id: str,
    source: Position | None = None,
    shown: Iterable[ItemFacts] = (),
) -> Memory:
    """Add a taken item to the memory; known events move the fence.

    An item taken again moves to the newest place. Late events keep their place by their own time.
    """
    if memory is None:
        memory = Memory(user_id=user_id, domain=domain)
    applied = with_applied(memory.applied, source)
    if event_id in memory.recent:
        return memory.model_copy(update={"applied": applied})
    before = next((taken for taken in memory.taken if taken.item_id == item.item_id), None)
    taken = TakenItem.trusted(
        item_id=item.item_id,
        title=item.title[:MAX_TITLE_CHARS],
        facts=item.facts[:MAX_MEMORY_FACTS],
        at=max(at, before.at) if before else at,
        times=before.times + 1 if before else 1,
    )
    others = [other for other in memory.taken if other is not before]
    newest_last = sorted([*others, taken], key=lambda one: one.at)
    return memory.model_copy(
        update={
            "version": memory.version + 1,
            "interactions": memory.interactions + 1,
            "days": memory.days + _is_new_day(memory, at, kafka_time(source)),
            "taken": tuple(newest_last[-MAX_TAKEN:]),
            "seen": _with_seen(memory.seen, (*shown, item)),
            "recent": with_recent(memory.recent, event_id, MAX_RECENT),
            "applied": applied,
        }
    )


def _is_new_day(memory: Memory, at: datetime, logged_at: datetime | None) -> bool:
    if logged_at is None:
        return at.date() not in {known.at.date() for known in memory.taken}
    return all(logged_at.date() > held.moment.date() for held in memory.applied)


def _with_seen(seen: Sequence[Fact], items: Iterable[ItemFacts]) -> tuple[Fact, ...]:
    # Compare texts: hashing a pydantic model is slower, and a choice compares two hundred facts.
    found = {
        (fact.dimension, fact.value): fact
        for item in items
        for fact in item.facts
        if fact.value.count(" ") < MAX_SEEN_WORDS
    }
    kept = [fact for fact in seen if (fact.dimension, fact.value) not in found]
    return (*kept, *found.values())[-MAX_SEEN:]


def tastes(taken: Iterable[TakenItem]) -> tuple[str, ...]:
    """Return the attributes of several items in memory, the most frequent first."""
    counts = Counter(chain.from_iterable([set(fact_ids(item.facts)) for item in taken]))
    common = [name for name in counts if counts[name] > 1]
    return tuple(sorted(common, key=lambda name: (-counts[name], name))[:MAX_TASTES])


def touch_items(memory: Memory, item_id: str, limits: GraphLimits = GraphLimits()) -> ItemUpdate:
    """Touch the chosen item and some older ones, the chosen one first.

    Each is touched at the 1st, 2nd, 4th, 8th, ... choice after its own, so its state of a taker is never older than
    half of the choices since.
    """
    chosen = [taken for taken in memory.taken if taken.item_id == item_id]
    rest = [taken for taken in reversed(memory.taken) if taken.item_id != item_id]
    others = [rest[2**step - 1] for step in range(limits.fan_out) if 2**step <= len(rest)]
    return touch_taken(memory, [*chosen, *others], limits)


def touch_taken(memory: Memory, touched: Sequence[TakenItem], limits: GraphLimits) -> ItemUpdate:
    """Touch these items of a memory."""
    return ItemUpdate.trusted(
        domain=memory.domain,
        taker=neighbour_of(memory.user_id, limits.secret),
        version=memory.version,
        degree=len(memory.taken),
        days=min(memory.days, MAX_DAYS),
        newest=tuple(taken.item_id for taken in reversed(memory.taken))[:MAX_NEWEST],
        tastes=tastes(memory.taken),
        items=tuple(TouchedItem.trusted(item_id=taken.item_id, at=taken.at, times=taken.times) for taken in touched),
    )


def split_by_partition(touch: ItemUpdate, partition_of: Callable[[str], int]) -> dict[int, ItemUpdate]:
    """Split a touch by the partitions of its items."""
    parts: dict[int, list[TouchedItem]] = {}
    for each in touch.items:
        parts.setdefault(partition_of(each.item_id), []).append(each)
    return {partition: touch.model_copy(update={"items": tuple(items)}) for partition, items in parts.items()}


def takers_of(touch: ItemUpdate) -> Iterator[tuple[str, Taker]]:
    """Yield each touched item with the taker that it stores."""
    for each in touch.items:
        others = tuple(name for name in touch.newest if name != each.item_id)[:MAX_OTHERS]
        taker = Taker(touch.taker, touch.version, each.at, each.times, touch.degree, others, touch.tastes, touch.days)
        yield each.item_id, taker


# The request id of an erasure whose result no client awaits.
NO_REPLY = "-"


def forgotten_touch(neighbour: str, domain: str | None, request: str) -> ItemUpdate:
    """Return a touch that removes a neighbour from a partition's items."""
    return ItemUpdate(
        domain=domain or "every", taker=neighbour, version=0, degree=0, forgotten=request, every_domain=domain is None
    )


def forget_taker(item: ItemMemory, touch: ItemUpdate) -> ItemMemory | None:
    """Remove the taker of a forgotten touch; None if nothing changes."""
    if not (touch.every_domain or item.domain == touch.domain):
        return None
    return _with_takers(item, tuple(taker for taker in item.takers if taker.neighbour != touch.taker))


def without_foreign(item: ItemMemory, secret: bytes) -> ItemMemory | None:
    """Remove takers with pseudonyms of another secret; None if there are none.

    An erasure could not find them. They return with their next choices.
    """
    mark = mark_of(secret)
    return _with_takers(item, tuple(taker for taker in item.takers if taker.neighbour.startswith(mark)))


def _with_takers(item: ItemMemory, kept: tuple[Taker, ...]) -> ItemMemory | None:
    if len(kept) == len(item.takers):
        return None
    return item.model_copy(update={"epoch": (item.epoch + 1) % EPOCHS, "takers": kept})


def add_touch(
    item: ItemMemory | None, domain: str, item_id: str, arrived: Taker, now: datetime | None = None
) -> ItemMemory | None:
    """Return the item with a taker added; None if unchanged.

    A touch dated after `now` is dated `now`: a fast clock must not displace all others for years.
    """
    if item is None:
        item = ItemMemory(domain=domain, item_id=item_id)
    if now is not None and arrived.at > now:
        arrived = replace(arrived, at=now)
    held = next((taker for taker in item.takers if taker.neighbour == arrived.neighbour), None)
    if held is not None and held.version >= arrived.version:
        return None
    arrived = merge_taker(held, arrived)
    kept = sample_takers(item_id, [*(taker for taker in item.takers if taker is not held), arrived])
    if all(taker is not arrived for taker in reversed(kept)):
        return None
    return item.model_copy(update={"epoch": (item.epoch + 1) % EPOCHS, "takers": kept})


def sample_takers(item_id: str, takers: Sequence[Taker]) -> tuple[Taker, ...]:
    """Return a weighted sample of at most `MAX_TAKERS` takers, newest last.

    Each taker has fixed random numbers per item (bottom-k sampling), so order and repetition do not matter; active days
    raise the chance to stay (Efraimidis and Spirakis, 2006). A taker's days must never decrease, or an older touch
    could return.
    """
    if len(takers) > MAX_TAKERS:
        takers = sorted(takers, key=lambda taker: _priority(item_id, taker.neighbour, taker.days))[-MAX_TAKERS:]
    return tuple(sorted(takers, key=lambda taker: (taker.at, taker.neighbour)))


@lru_cache(maxsize=65_536)
def _priority(item_id: str, neighbour: str, days: int) -> tuple[int, str]:
    # Cached because a popular item compares the same takers at each touch.
    draws = max(1, min(days, TRUSTED_DAYS))
    digest = blake2b(f"{neighbour} {item_id}".encode(), digest_size=8 * TRUSTED_DAYS).digest()
    return max(struct.unpack_from(f">{draws}Q", digest)), neighbour


def merge_taker(held: Taker | None, arrived: Taker) -> Taker:
    """Merge an item's state of a taker with a newer one."""
    if held is None:
        return arrived
    return replace(arrived, others=tuple(dict.fromkeys((*arrived.others, *held.others)))[:MAX_OTHERS])


def neighbour_of(user_id: str, secret: bytes = b"") -> str:
    """Return a user's pseudonym: stable for erasure, marked by its secret.

    >>> neighbour_of("ann", b"secret") == neighbour_of("ann", b"secret") != neighbour_of("ann", b"another")
    True
    """
    return mark_of(secret) + hmac.digest(secret, b"user " + user_id.encode(), "sha256").hex()[:24]


@lru_cache(maxsize=8)
def mark_of(secret: bytes) -> str:
    """Return the prefix of all pseudonyms of this secret."""
    return f"user:{hmac.digest(secret, b'mark', 'sha256').hex()[:4]}."


@dataclass(frozen=True)
class MemoryUpdate:
    """A memory with one more choice, and the touch for its items.

    Send the touch before writing the memory: a crash in between only repeats the touch.
    """

    memory: Memory
    touch: ItemUpdate | None


def remember_choice(
    memory: Memory | None,
    event: Interaction | Contrast,
    item: ItemFacts,
    source: Position | None,
    now: datetime | None,
    limits: GraphLimits,
    shown: Iterable[ItemFacts] = (),
) -> MemoryUpdate | None:
    """Add a taken item to a memory; None if already applied.

    A known event id moves the fence without a touch.
    """
    if memory is not None and source is not None and is_applied(memory.applied, source):
        return None
    # A fast clock must not hold the newest place for years.
    moments = (event.occurred_at, None if source is None else source.moment, now)
    at = min(moment for moment in moments if moment is not None)
    newer = add_taken(memory, event.user_id, event.domain, item, at, event.event_id, source, shown)
    is_news = memory is None or newer.version > memory.version
    return MemoryUpdate(newer, touch_items(newer, item.item_id, limits) if is_news else None)


def add_taker(
    held: Callable[[str, str], ItemMemory | None], touch: ItemUpdate, now: datetime | None = None
) -> tuple[ItemMemory, ...]:
    """Add a touch's taker to its items; return the changed items."""
    updated = (add_touch(held(item_id, touch.domain), touch.domain, item_id, t, now) for item_id, t in takers_of(touch))
    return tuple(item for item in updated if item is not None)

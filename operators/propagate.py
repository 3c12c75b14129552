"""Propagate (paper 2.2, Algorithm 1 line 11): a choice flows through the user-item graph and back to its users.

The graph is cut up so that everybody works on local state. A user's `Memory` says what they took. Each choice
*touches* its item, and the user's newest other items, with a small state. An item gathers its takers, and what they
have in common is told back to them as a signal. Nothing is told that fewer than `floor` other users support, and
nothing of anybody's words: a taker is a pseudonym with two figures. The pseudonyms are the origins by which a
later removal finds what came from whom. They are made with the deployment's secret: without it, a list of ids does not
tell who is behind one.

A touch and a signal are states with a version, not increments: told twice or late, they change nothing.
"""

import hmac
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.applied import remember, with_applied
from operators.attributes import fact_id
from schemas import (
    MAX_COMPANIONS,
    MAX_CROWD,
    MAX_MEMORY_FACTS,
    MAX_RECENT,
    MAX_SIGNALS,
    MAX_TAKEN,
    MAX_TAKERS,
    MAX_TASTES,
    Crowd,
    ItemFacts,
    ItemMemory,
    ItemSignal,
    Memory,
    Neighbourhood,
    Position,
    Taken,
    Taker,
    Taste,
    Touch,
)

MAX_TITLE_CHARS = 80


@dataclass(frozen=True)
class GraphLimits:
    """How much of the graph each part keeps, and how far a choice is heard.

    Attributes:
        floor: what fewer other users than this support is told to nobody.
        fan_out: how many of the user's other items hear of a choice, and how many other takers hear of an item's
            change, besides the one who chose. The items are those taken 1, 2, 4, 8, ... choices ago.
        others: how many of a user's items a touch names.
        renewal: the share of an item's takers that must have been touched before others are told anew.
        secret: what takers' pseudonyms are made with.
    """

    floor: int = 2
    fan_out: int = 5
    others: int = 12
    renewal: float = 0.5
    secret: bytes = field(default=b"", repr=False)


def with_taken(
    memory: Memory | None,
    user_id: str,
    domain: str,
    item: ItemFacts,
    at: datetime,
    event_id: str,
    source: Position | None = None,
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
            "taken": tuple(newest_last[-MAX_TAKEN:]),
            "recent": remember(memory.recent, event_id, MAX_RECENT),
            "applied": applied,
        }
    )


def tastes(taken: Iterable[Taken]) -> tuple[str, ...]:
    """What a user takes most: attributes of at least two items in memory, the most frequent first."""
    counts = Counter(name for item in taken for name in {fact_id(fact) for fact in item.facts})
    common = [name for name in counts if counts[name] > 1]
    return tuple(sorted(common, key=lambda name: (-counts[name], name))[:MAX_TASTES])


def touches(memory: Memory, item_id: str, limits: GraphLimits = GraphLimits()) -> list[Touch]:
    """What the chosen item and some of the user's other items are to hear, the chosen one first.

    The others hear too, because what is taken after an item says as much about it as what was taken before. Each hears
    at the 1st, 2nd, 4th, 8th, ... choice after its own: what it knows of a taker is never older than half of what has
    happened since, for a handful of messages a choice.
    """
    newest_first = list(reversed(memory.taken))
    chosen = [taken for taken in newest_first if taken.item_id == item_id]
    rest = [taken for taken in newest_first if taken.item_id != item_id]
    hearing = [*chosen, *(rest[2**step - 1] for step in range(limits.fan_out) if 2**step <= len(rest))]
    return _touches(memory, hearing, limits)


def all_touches(memory: Memory, limits: GraphLimits = GraphLimits()) -> list[Touch]:
    """What every item in memory is to hear, after the items were told to forget this user, the newest first."""
    return _touches(memory, list(reversed(memory.taken)), limits)


def _touches(memory: Memory, hearing: Sequence[Taken], limits: GraphLimits) -> list[Touch]:
    liked = tastes(memory.taken)
    newest_first = list(reversed(memory.taken))
    return [
        Touch(
            domain=memory.domain,
            item_id=taken.item_id,
            taker=Taker(
                user_id=memory.user_id,
                version=memory.version,
                at=taken.at,
                times=taken.times,
                degree=len(memory.taken),
                others=tuple(other.item_id for other in newest_first if other is not taken)[: limits.others],
                tastes=liked,
            ),
        )
        for taken in hearing
    ]


NOWHERE = "-"
"""In a message about somebody to be forgotten, in the place of an item or a domain: it is for all of them."""


def forgotten_touch(user_id: str, domain: str | None, at: datetime) -> Touch:
    """Tells all items of a partition that this user took none of them; those of one domain, or all."""
    return Touch(
        domain=domain or "every",
        item_id=NOWHERE,
        taker=Taker(user_id=user_id, version=0, at=at, degree=0),
        forgotten=True,
        every_domain=domain is None,
    )


def without_taker(item: ItemMemory, user_id: str) -> ItemMemory | None:
    """The item as if this user had never taken it; None where it knows nothing of them.

    The epoch goes on, so that what the others are told next replaces what they were told.
    """
    kept = tuple(taker for taker in item.takers if taker.user_id != user_id)
    if len(kept) == len(item.takers):
        return None
    return item.model_copy(update={"epoch": item.epoch + 1, "takers": kept})


def forgotten_signal(touch: Touch) -> ItemSignal:
    """Tells all neighbourhoods of a partition to forget the user of a forgotten touch."""
    return ItemSignal(
        user_id=touch.taker.user_id,
        domain=touch.domain,
        item_id=NOWHERE,
        epoch=0,
        takers=0,
        forgotten=True,
        every_domain=touch.every_domain,
    )


def without_neighbour(neighbourhood: Neighbourhood, neighbour: str) -> Neighbourhood | None:
    """The neighbourhood without every signal that this neighbour had a part in; None where there is none.

    Counts over several users cannot be taken apart, so the signal goes whole; its item tells again.
    """
    return _with_signals(
        neighbourhood, tuple(signal for signal in neighbourhood.signals if neighbour not in _pseudonyms(signal))
    )


@dataclass(frozen=True)
class Told:
    """What a touch made of an item's memory, and what it made the item say."""

    item: ItemMemory
    signals: tuple[ItemSignal, ...]


def on_touch(
    item: ItemMemory | None, touch: Touch, limits: GraphLimits = GraphLimits(), now: datetime | None = None
) -> Told | None:
    """The item hears who took it; None if it knows that, or something newer of that taker, already.

    A new taker is told what the others have in common. All others hear once a share of the takers has changed, so
    that an item in everybody's hands does not speak all day. A touch from after `now` counts as one of now: a clock
    that runs ahead must not keep everybody else out for years.
    """
    if item is None:
        item = ItemMemory(domain=touch.domain, item_id=touch.item_id)
    arrived = touch.taker
    if now is not None and arrived.at > now:
        arrived = arrived.model_copy(update={"at": now})
    held = next((taker for taker in item.takers if taker.user_id == arrived.user_id), None)
    if held is not None and held.version >= arrived.version:
        return None
    takers = [taker for taker in item.takers if taker is not held]
    newest_last = sorted([*takers, arrived], key=lambda taker: (taker.at, taker.user_id))[-MAX_TAKERS:]
    if arrived not in newest_last:  # older than all that there is room for
        return None
    item = item.model_copy(update={"epoch": item.epoch + 1, "takers": tuple(newest_last)})
    listeners = [arrived.user_id] if held is None else []
    if item.epoch - item.told >= max(limits.floor, limits.renewal * len(item.takers)):
        others = [taker.user_id for taker in reversed(item.takers) if taker.user_id not in listeners]
        listeners += others[: limits.fan_out]
        item = item.model_copy(update={"told": item.epoch})
    signals = (signal_to(item, listener, limits) for listener in listeners)
    return Told(item, tuple(signal for signal in signals if signal is not None))


def signal_to(item: ItemMemory, user_id: str, limits: GraphLimits = GraphLimits()) -> ItemSignal | None:
    """What the item's other takers have in common, for one user; None where too few others took it."""
    others = [taker for taker in item.takers if taker.user_id != user_id]
    if len(others) < limits.floor:
        return None
    names = {taker.user_id: neighbour_of(taker.user_id, limits.secret) for taker in others}
    companions = _supported(Counter(name for taker in others for name in set(taker.others)), limits, MAX_COMPANIONS)
    liked = _supported(Counter(name for taker in others for name in set(taker.tastes)), limits, MAX_TASTES)
    return ItemSignal(
        user_id=user_id,
        domain=item.domain,
        item_id=item.item_id,
        epoch=item.epoch,
        takers=len(others),
        crowd=tuple(
            Crowd(neighbour=names[taker.user_id], degree=taker.degree, at=_day(taker.at))
            for taker in reversed(others[-MAX_CROWD:])
        ),
        companions=dict(companions),
        tastes=tuple(
            Taste(
                attribute_id=name,
                supporters=count,
                neighbours=tuple(names[t.user_id] for t in reversed(others) if name in t.tastes)[:MAX_CROWD],
            )
            for name, count in liked
        ),
    )


def _day(at: datetime) -> datetime:
    # To the day: the exact moment of a choice would tell who it was.
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _supported(counts: Counter[str], limits: GraphLimits, most: int) -> Sequence[tuple[str, int]]:
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [(name, count) for name, count in ordered if count >= limits.floor][:most]


def neighbour_of(user_id: str, secret: bytes = b"") -> str:
    """The pseudonym under which others meet a user: the same everywhere, so that it can be taken back.

    It begins with a mark of its secret, which tells those of another secret apart.

    >>> neighbour_of("ann", b"secret") == neighbour_of("ann", b"secret") != neighbour_of("ann", b"another")
    True
    """
    return mark_of(secret) + hmac.digest(secret, b"user " + user_id.encode(), "sha256").hex()[:24]


def mark_of(secret: bytes) -> str:
    """How all pseudonyms of this secret begin."""
    return f"user:{hmac.digest(secret, b'mark', 'sha256').hex()[:4]}."


def _pseudonyms(signal: ItemSignal) -> Iterator[str]:
    yield from (each.neighbour for each in signal.crowd)
    yield from (name for taste in signal.tastes for name in taste.neighbours)


def _is_unkeyed(signal: ItemSignal) -> bool:
    """Whether it has pseudonyms of releases that made them without a secret: a list of ids undoes those."""
    return any("." not in name for name in _pseudonyms(signal))


def without_foreign(neighbourhood: Neighbourhood, secret: bytes | None) -> Neighbourhood | None:
    """The neighbourhood without signals whose pseudonyms have another secret, or none; None where there are none.

    Nobody can tell whose those are any more. Their items tell again. Without a secret here, any will do.
    """
    mark = None if secret is None else mark_of(secret)

    def is_ours(signal: ItemSignal) -> bool:
        return not _is_unkeyed(signal) and all(name.startswith(mark or "") for name in _pseudonyms(signal))

    return _with_signals(neighbourhood, tuple(filter(is_ours, neighbourhood.signals)))


def _with_signals(neighbourhood: Neighbourhood, kept: tuple[ItemSignal, ...]) -> Neighbourhood | None:
    if len(kept) == len(neighbourhood.signals):
        return None
    return neighbourhood.model_copy(update={"epoch": neighbourhood.epoch + 1, "signals": kept})


def hear(neighbourhood: Neighbourhood | None, signal: ItemSignal) -> Neighbourhood | None:
    """The user's neighbourhood with this signal; None if it holds this one, or a newer one of the item, already.

    What older releases told without a secret is not heard any more, and goes where it was.
    """
    if _is_unkeyed(signal):
        return None
    if neighbourhood is None:
        neighbourhood = Neighbourhood(user_id=signal.user_id, domain=signal.domain)
    known = tuple(each for each in neighbourhood.signals if not _is_unkeyed(each))
    held = next((each for each in known if each.item_id == signal.item_id), None)
    if held is not None and held.epoch >= signal.epoch:
        return _with_signals(neighbourhood, known)
    others = [each for each in known if each.item_id != signal.item_id]
    return neighbourhood.model_copy(
        update={"epoch": neighbourhood.epoch + 1, "signals": (*others, signal)[-MAX_SIGNALS:]}
    )

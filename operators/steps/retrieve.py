"""Steps of the agent `retrieve`: what items tell of their takers is kept with the user for the next ranking."""

from dataclasses import dataclass
from enum import StrEnum

from operators.propagate import hear, neighbour_of, without_foreign, without_neighbour
from schemas import ItemSignal, Neighbourhood


class Outcome(StrEnum):
    """What became of a signal; a metric's label."""

    HEARD = "heard"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Effects:
    """What a signal leads to.

    Attributes:
        outcome: what became of it.
        neighbourhood: to be written; None: nothing is.
    """

    outcome: Outcome
    neighbourhood: Neighbourhood | None = None


def step(neighbourhood: Neighbourhood | None, signal: ItemSignal) -> Effects:
    """A user's neighbourhood hears an item."""
    heard = hear(neighbourhood, signal)
    return Effects(Outcome.REPEATED) if heard is None else Effects(Outcome.HEARD, heard)


def forget(neighbourhood: Neighbourhood, signal: ItemSignal, secret: bytes = b"") -> Neighbourhood | None:
    """Another's neighbourhood without the user of a forgotten signal; None where they had no part in it.

    Pseudonyms of another secret may be theirs: their signals go too.
    """
    known = without_foreign(neighbourhood, secret)
    if not is_meant(neighbourhood, signal):
        return known
    return without_neighbour(known or neighbourhood, neighbour_of(signal.user_id, secret)) or known


def is_meant(neighbourhood: Neighbourhood, signal: ItemSignal) -> bool:
    """Whether a forgotten signal is about this neighbourhood's domain."""
    return signal.every_domain or neighbourhood.domain == signal.domain

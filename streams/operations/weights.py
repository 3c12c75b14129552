"""Read the weights that workers have published."""

from dataclasses import dataclass

from operators.seals import Seal, seal_of
from operators.weigh import MIX, in_use, of_mix, spread, start_of
from schemas import BadRecord, Mix, Weights, decode
from streams.kafka.scanner import Scanner
from streams.settings import Settings


@dataclass(frozen=True)
class Shown:
    """One weight: its value, its start value, and its standard deviation."""

    now: float
    start: float
    spread: float


@dataclass(frozen=True)
class Held:
    """The weights of one domain. Workers use the start values unless the seal is right."""

    weights: Weights
    seal: Seal

    @property
    def mix(self) -> dict[str, Shown]:
        """The parts of the sum."""
        used = in_use(self.weights)
        return {
            part.value: Shown(
                getattr(used, part.value),
                MIX[part].value,
                spread(self.weights.mix.get(part, of_mix(part).begin)),
            )
            for part in Mix
        }

    @property
    def dimensions(self) -> dict[str, Shown]:
        """The dimensions that choices have moved, the heaviest first."""
        used = in_use(self.weights)
        found = {
            name: Shown(used.of(name), start_of(name), spread(held)) for name, held in self.weights.dimensions.items()
        }
        return dict(sorted(found.items(), key=lambda named: (-named[1].now, named[0])))


def read_published(settings: Settings) -> dict[str, Held]:
    """Read the newest weights of every domain, in the order of the domains' names.

    Raises:
        NoSuchTopic: there is no topic of weights.
        BrokerUnreachable: it could not be read to its end.
    """
    found: dict[str, Held] = {}
    with Scanner(settings) as scanner:
        for message in scanner.read(scanner.partitions(Weights.TOPIC)):
            key, value = message.key() or b"", message.value()
            if value is None:
                found.pop(key.decode(errors="replace"), None)
                continue
            try:
                weights = decode(Weights, value)
            except BadRecord:  # the materializer, which also reads this topic, sends the dead letter
                continue
            if weights.domain.encode() == key:
                found[weights.domain] = Held(weights, seal_of(weights, settings.chain_key_bytes))
    return dict(sorted(found.items()))

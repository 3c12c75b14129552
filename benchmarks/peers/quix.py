"""A peer: the same operators in a Quix Streams application, with its state in RocksDB and on its changelog.

Runs in an environment of its own. A state is decoded for each event: the framework keeps bytes.
"""

import argparse
import signal
from collections.abc import Iterator, MutableMapping
from typing import Any

from quixstreams import Application, State, message_context  # type: ignore[import-not-found]
from quixstreams.models import SerializationContext, Serializer  # type: ignore[import-not-found]

from benchmarks.peers.learner import INPUTS, OUTPUTS, STATES, Learner, Output
from schemas import Model, Position, decode, encode


class Kept(MutableMapping[tuple[str, bytes], Model]):
    """What the framework keeps of a user."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getitem__(self, name: tuple[str, bytes]) -> Model:
        raw = self._state.get_bytes(_named(name))
        if raw is None:
            raise KeyError(name)
        return decode(STATES[name[0]], raw)

    def __setitem__(self, name: tuple[str, bytes], value: Model) -> None:
        self._state.set_bytes(_named(name), encode(value))

    def __delitem__(self, name: tuple[str, bytes]) -> None:
        self._state.delete(_named(name))

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        raise NotImplementedError("the framework does not list its keys")

    def __len__(self) -> int:
        raise NotImplementedError("the framework does not count its keys")


def _named(name: tuple[str, bytes]) -> str:
    return f"{name[0]} {name[1].decode()}"


class Value(Serializer):  # type: ignore[misc]
    """An output's value is its bytes already."""

    def __call__(self, value: Output, ctx: SerializationContext) -> bytes:
        """The bytes."""
        return value.value


def application(bootstrap: str, prefix: str, folder: str) -> Application:
    """The application, not started yet."""
    app = Application(
        broker_address=bootstrap,
        consumer_group=f"{prefix}quix",
        auto_offset_reset="earliest",
        commit_interval=0.5,  # as the worker's
        state_dir=folder,
        loglevel="WARNING",
        consumer_extra_config={"fetch.wait.max.ms": 50},
        producer_extra_config={"compression.type": "gzip", "linger.ms": 5},
    )
    learner = Learner()
    outputs = {base: app.topic(prefix + base, key_serializer="bytes", value_serializer=Value()) for base in OUTPUTS}
    rankings, selections = (
        app.dataframe(app.topic(prefix + base, key_deserializer="bytes", value_deserializer="bytes")) for base in INPUTS
    )

    def step(value: bytes, _: bytes, timestamp_ms: int, __: Any, state: State) -> list[Output]:
        at = message_context()
        position = Position(topic=at.topic, partition=at.partition, offset=at.offset, timestamp_ms=timestamp_ms)
        return learner.on_record(at.topic.removeprefix(prefix), value, position, Kept(state))

    made = rankings.concat(selections).apply(step, stateful=True, expand=True, metadata=True)
    made.to_topic(lambda value, *_: outputs[value.base], key=lambda value: value.key)
    return app


def main() -> None:
    """Runs until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--folder", required=True, help="for its state")
    args = parser.parse_args()
    app: Any = application(args.bootstrap, args.prefix, args.folder)
    signal.signal(signal.SIGTERM, lambda *_: app.stop())
    app.run()


if __name__ == "__main__":
    main()

"""What conversations cost: CPU of a turn and of a chunk, and bytes on each topic, per turn and per person.

    python -m benchmarks.conversations [--people 12] [--json]

Invented people (`sager eval conversations --invent`) talk to the steps of the agent `listen`, with rules and without
Kafka. `short`: 33 conversations of a few turns. `long`: the same turns in one conversation, so that chunks are closed
by their tokens, and each turn is written with all that wait. CPU is this process' own. Bytes are keys and values, those
of `conversations` packed as on Kafka, before the compression of batches.
"""

import argparse
import json
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

from evaluation.conversations import invented, layout
from evaluation.conversations.play import BEGINNING, no_vocabulary
from operators.cards.text import as_text
from operators.listen import understand
from operators.listen.question import MAX_PROMPT_TOKENS, question
from operators.steps.listen import Listen, State, first_closed, has_own_words, newer, without
from operators.tokens import count_tokens
from schemas import Position, Turn, Utterance, encode, topic_of
from streams.kafka.packed import pack

SHORT, LONG = "short", "long"
WARM: Final = 2
"""People who talk before anything is measured."""
BETWEEN: Final = timedelta(minutes=1)
_T = TypeVar("_T")


@dataclass
class Meter:
    """CPU, bytes and counts of one kind of conversations.

    Attributes:
        cpu_ns: by part.
        sent: bytes of keys and values, by topic.
        times: turns, chunks, and diffs.
        card_bytes, log_bytes: of each person, at the end.
        text_ns: to make a card's text for a prompt.
        asked: tokens of the prompts that a model would get.
    """

    cpu_ns: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    times: Counter[str] = field(default_factory=Counter)
    card_bytes: list[int] = field(default_factory=list)
    log_bytes: list[int] = field(default_factory=list)
    text_ns: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)

    def run(self, part: str, do: Callable[[], _T]) -> _T:
        """What `do` returns; its CPU counts for the part."""
        began = time.process_time_ns()
        result = do()
        self.cpu_ns[part] += time.process_time_ns() - began
        return result

    def send(self, event: Any) -> int:
        """Count an event, encoded as for Kafka; how many bytes it has."""
        topic = topic_of(type(event))
        value = self.run("encode", lambda: pack(encode(event)) if topic.packed else encode(event))
        written = len(value) + len(topic.key_of(event))
        self.sent[topic.base] += written
        return written


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--json", action="store_true", help="one object, for programs")
    args = parser.parse_args()
    told = measured(args.people)
    if args.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        for kind, figures in told.items():
            print(kind)
            for name, figure in figures.items():
                print(f"  {name:<38} {figure:>10,}")
    return 0


def measured(people: int) -> dict[str, dict[str, float]]:
    """The figures, by kind of conversations."""
    persons = [layout.person(f"p{place}", invented.person(place)) for place in range(people)]
    told: dict[str, dict[str, float]] = {}
    for kind in (SHORT, LONG):
        for person in persons[:WARM]:
            _play(turns_of(person, kind), Meter())
        meter = Meter()
        for person in persons:
            _play(turns_of(person, kind), meter)
        told[kind] = _figures(meter)
    return told


def turns_of(person: layout.Person, kind: str) -> list[Utterance]:
    """All that a person and their assistant say: in many conversations, or in one."""
    talks = [talk.turns for talk in person.talks if talk.turns]
    said = [(place, turn, each, turn == len(talk) - 1) for place, talk in enumerate(talks)
            for turn, each in enumerate(talk)]  # fmt: skip
    return [
        Utterance(
            event_id=f"{person.user_id}-{at}",
            occurred_at=BEGINNING + at * BETWEEN,
            user_id=person.user_id,
            conversation_id=f"c{place}" if kind == SHORT else "c",
            turn=turn if kind == SHORT else at,
            role=each.role,
            text=each.text,
            ends=is_last and (kind == SHORT or at == len(said) - 1),
        )
        for at, (place, turn, each, is_last) in enumerate(said)
    ]


def _play(turns: Sequence[Utterance], meter: Meter) -> None:
    """One person's turns, through the steps and what they write."""
    steps, state = Listen(), State()
    log = 0
    for offset, turn in enumerate(turns):
        meter.times["turns"] += 1
        meter.send(turn)
        moment = round(turn.occurred_at.timestamp() * 1_000)
        source = Position(topic=Utterance.TOPIC, partition=0, offset=offset, timestamp_ms=moment)
        taken = meter.run("hear", partial(steps.hear, state, turn, source))
        if taken.listening is None:
            continue
        state = State(taken.listening, state.card)
        meter.send(taken.listening)
        while (chunk := first_closed(state.listening)) is not None and state.listening is not None:
            card = state.card
            if has_own_words(chunk):
                meter.times["chunks"] += 1
                meter.asked.extend(_prompt_tokens(chunk.turns))
                heard = meter.run("understand", partial(understand, chunk.turns, card, no_vocabulary))
                thought = meter.run("merge", partial(steps.finish, state, chunk, heard, no_vocabulary))
                if thought.diff is not None:
                    meter.times["diffs"] += 1
                    card = newer(card, thought.diff)
                    meter.send(card)
                    log += meter.send(thought.diff)
            state = State(without(state.listening, chunk), card)
            meter.send(state.listening)
    if state.card is not None:
        meter.card_bytes.append(len(encode(state.card)))
        meter.log_bytes.append(log)
        began = time.process_time_ns()
        as_text(state.card, turns[-1].occurred_at, request="where to eat tonight?", count_tokens=count_tokens)
        meter.text_ns.append(time.process_time_ns() - began)


def _prompt_tokens(turns: Sequence[Turn]) -> list[int]:
    asked = question(turns, no_vocabulary, count_tokens=count_tokens, max_tokens=MAX_PROMPT_TOKENS)
    return [] if asked is None else [count_tokens(asked.prompt)]


def _figures(meter: Meter) -> dict[str, float]:
    turns, chunks = meter.times["turns"], max(meter.times["chunks"], 1)
    return {
        "turns": turns,
        "chunks": meter.times["chunks"],
        "versions of cards": meter.times["diffs"],
        "us to hear a turn": round(meter.cpu_ns["hear"] / turns / 1e3),
        "us to understand a chunk": round(meter.cpu_ns["understand"] / chunks / 1e3),
        "us to merge a chunk": round(meter.cpu_ns["merge"] / chunks / 1e3),
        "us to encode, per turn": round(meter.cpu_ns["encode"] / turns / 1e3),
        "us in all, per turn": round(sum(meter.cpu_ns.values()) / turns / 1e3),
        **{f"bytes per turn, {topic}": round(sent / turns) for topic, sent in meter.sent.most_common()},
        "bytes per turn": round(meter.sent.total() / turns),
        "bytes of a card": round(statistics.mean(meter.card_bytes)),
        "bytes of its log": round(statistics.mean(meter.log_bytes)),
        "us for a prompt's text": round(statistics.median(meter.text_ns) / 1e3),
        "prompt tokens of a chunk, by a model": round(statistics.mean(meter.asked)),
        "most of them": max(meter.asked),
    }


if __name__ == "__main__":
    sys.exit(main())

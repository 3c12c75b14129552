"""The events of the demo's people after their choices: corrections, signals, a pinned line, a chat."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from schemas import Action, Candidate, Correction, Event, Feedback, Signal, SkillCommand, Utterance
from streams.demo.people import Person
from streams.kafka.events import envelope

CORRECTIONS: Mapping[int, Sequence[str]] = {
    1: ("no musicals, please", "something with a bit more of everything"),
    4: ("no horror, please", "well, surprise me"),
    8: ("no romance, please",),
    12: ("no sushi, please",),
    13: ("I used to like crime, but not any more",),
    22: ("no horror, please",),
    26: ("more mystery",),
    31: ("my sister loves westerns",),
}
"""By the person's number; the rules do not understand all of them."""
SIGNALS: Mapping[int, tuple[Signal, float | None]] = {
    2: (Signal.LIKED, None),
    4: (Signal.RATED, 5.0),
    7: (Signal.RATED, 1.0),
    10: (Signal.HIDDEN, None),
    11: (Signal.PURCHASED, None),
    16: (Signal.SKIPPED, None),
    19: (Signal.RATED, 4.0),
    25: (Signal.HIDDEN, None),
}
CHATS: Mapping[int, Sequence[str]] = {
    1: ("I'm vegetarian. What could I cook tonight?", "And I can't stand coriander. My number is +1 202 555 0142."),
    6: ("I'm vegetarian, and I love spicy food.",),
}
PINS = (3, 6)
"""People who pin the first line of their skill."""
LISTS = 12
"""The number of people with a last list: every other one declines it, the others answer its question."""


def words(
    people: Sequence[Person],
    items: Mapping[Any, Sequence[Candidate]],
    line_of: Callable[[Person], str | None],
    at: datetime,
) -> list[Event]:
    """The people's events, in order.

    Args:
        people: all of the demo.
        items: the catalogue, by domain.
        line_of: the id of a line of a person's skill; None if the person has none.
        at: the time of the first event.
    """
    events: list[Event] = []

    def common(person: Person) -> dict[str, Any]:
        moment = at + timedelta(minutes=len(events))
        return {**envelope(moment), "user_id": person.user_id, "domain": person.domain}

    for number, person in enumerate(people, 1):
        events += [Correction(**common(person), text=text) for text in CORRECTIONS.get(number, ())]
        if number in SIGNALS:
            signal, value = SIGNALS[number]
            item = items[person.domain][number]
            events.append(Feedback(**common(person), item=item, signal=signal.value, value=value))
        if number in PINS and (line := line_of(person)) is not None:
            events.append(SkillCommand(**common(person), action=Action.PIN, attribute_id=line, actor=person.user_id))
        said = CHATS.get(number, ())
        for turn, text in enumerate(said):
            given = {**common(person), "domain": None, "conversation_id": "chat", "turn": turn}
            events.append(Utterance(**given, text=text, ends=turn == len(said) - 1))
    return events

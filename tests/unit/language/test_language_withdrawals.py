"""Wishes to forget, and what has turned, in sentences of which half were kept aside when the rules were written."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.wordings import PEOPLE, ROUTINES, SENTENCES, measure
from operators.language.chunks import first_closed
from operators.language.words import mentions_all, plain_words
from operators.steps.listen import ListenState, ListenStep, with_sealed_diff
from schemas import Card, CardLine, Position, Stance, Utterance
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import LATER, a_card, a_line
from tests.unit.language.language_builders import heard

HERE = Path(__file__).parent
STEP = ListenStep(extractor=RULES, privacy=PRIVACY)
BESIDES = {
    "en": ("sourdough baking", "rainy walks", "-crowded trams"),
    "de": ("Brot backen", "lange Spaziergänge", "-volle Busse"),
}


@dataclass(frozen=True)
class Told:
    """A sentence, with what is known before it."""

    kind: str
    language: str
    known: str
    after: str
    text: str
    is_aside: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.language} {self.known}"


def told() -> Iterator[Told]:
    kind = language = ""
    place = 0
    for row in (HERE / "taken_back.txt").read_text(encoding="utf-8").splitlines():
        if row.startswith("["):
            (kind, language), place = row.strip("[]").split(), 0
        elif row and not row.startswith("#"):
            known, _, text = row.partition(" | ")
            known, _, after = known.partition(" > ")
            yield Told(kind, language, known, after, text.replace("\\n", "\n"), place % 2 == 1)
            place += 1


def a_stance(value: str) -> CardLine:
    stance = Stance.AVOIDS if value.startswith("-") else Stance.PREFERS
    return a_line(value.removeprefix("-"), stance=stance)


def card_after(case: Told) -> Card:
    before = a_card(*map(a_stance, (case.known, *BESIDES[case.language])))
    said = {"user_id": "ann", "conversation_id": "c", "occurred_at": LATER}
    turns = (
        Utterance(event_id="said", turn=0, text=case.text, **said),
        Utterance(event_id="ends", turn=1, role="other", ends=True, **{**said, "occurred_at": LATER + timedelta(1)}),
    )
    state = ListenState(None, before)
    for offset, turn in enumerate(turns):
        position = Position(topic="t", partition=0, offset=offset, timestamp_ms=round(LATER.timestamp() * 1_000))
        state = ListenState(STEP.add_turn(state, turn, position).listening or state.listening, before)
    chunk = first_closed(state.listening)
    if chunk is None or not chunk.turns:
        return before
    diff = STEP.finish(state, chunk, RULES.extract(chunk.turns, before, lambda _: ()), lambda _: ()).diff
    return before if diff is None else with_sealed_diff(before, diff)


def says(line: CardLine, value: str) -> bool:
    stance = Stance.AVOIDS if value.startswith("-") else Stance.PREFERS
    return line.stance is stance and mentions_all(value.removeprefix("-"), line.value)


def comes_true(case: Told) -> bool:
    """Whether a card after the sentence is as it should be, and holds all else that it held."""
    card = card_after(case)
    held = [line.line_id for line in card.lines]
    kept = [a_stance(value).line_id for value in BESIDES[case.language]]
    if not set(kept) <= set(held):
        return False
    known = a_stance(case.known)
    if case.kind == "nothing":
        return known.line_id in held
    if case.kind == "forget":
        return not any(plain_words(known.value) & plain_words(line.value) for line in (*card.lines, *card.past))
    return known.line_id not in held and (not case.after or any(says(line, case.after) for line in card.lines))


def in_short(*said: str) -> list[str]:
    return [f"{each.effect.value} {each.value}" for each in heard(*said).findings]


def test_forget_request_also_covers_earlier_statements() -> None:
    wish = "Please scrub jazz piano from your notes."
    assert in_short("I love jazz piano.", "My jazz piano evenings relax me.", wish) == ["forgets jazz piano"]


def test_forgotten_value_returns_only_by_a_new_statement() -> None:
    wish, text = "Please scrub jazz from your notes.", "Please fix this post of mine: 'I love jazz more than ever.'"
    assert in_short(wish, text) == ["forgets jazz"]
    assert in_short(wish, "I love jazz.") == ["forgets jazz", "states jazz"]


def test_pronoun_refers_to_the_previous_value() -> None:
    assert in_short("I love jazz. I love golf. Please erase that.") == ["states jazz", "forgets golf"]


def test_forget_request_in_a_drafted_text_is_ignored() -> None:
    text = "Please fix this mail of mine: 'Hi Tom, please forget that I like jazz.'"
    assert in_short(text) == []


@pytest.mark.parametrize("case", [case for case in told() if not case.is_aside], ids=str)
def test_development_sentences_are_understood(case: Told) -> None:
    assert comes_true(case)


@pytest.mark.parametrize(("kind", "least"), [("forget", 0.95), ("update", 0.9), ("nothing", 0.9)])
def test_held_out_sentences_meet_the_target(kind: str, least: float) -> None:
    cases = [case for case in told() if case.kind == kind and case.is_aside]
    assert len(cases) == 30
    assert sum(map(comes_true, cases)) / len(cases) >= least


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return sum(asyncio.run(measure([SENTENCES, ROUTINES, PEOPLE])).values(), Counter())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("right", "of", "least"),
    [
        ("said: right", "said", 0.8),
        ("update: old gone", "update: old known", 0.57),
        ("update: right", "update", 0.45),
        ("forget: old gone", "forget: old known", 0.98),
        ("none: empty", "none", 0.995),
    ],
)
def test_wordings_meet_their_targets(counts: Counter[str], right: str, of: str, least: float) -> None:
    assert counts[right] / counts[of] >= least


@pytest.mark.thorough
def test_secrets_of_routines_and_people_are_rarely_kept(counts: Counter[str]) -> None:
    assert counts["private: kept"] / counts["private"] < 0.016

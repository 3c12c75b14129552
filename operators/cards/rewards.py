"""What a signal on an item does to the lines that it bears on: VARS' idea, in whole numbers.

A line moves by a gate (how much the item has what the line says) times the reward less its running mean. So a signal
that is usual for this person moves nothing, a weak one little, and each move is attributed to its signal.
"""

from typing import Final

from operators.attributes import normalise
from operators.cards.draft import CardDraft
from operators.cards.lines import MAX_WEIGHT, Words, words_of
from operators.signals import DEFAULT, Signals
from schemas import ONE, Feedback, ItemFacts, Position
from schemas.cards import FREE, Card, CardChangeKind, CardDiff, CardLine, Strength
from schemas.statements import Stance

RATE: Final = 4
"""A full surprise on an item that has the very fact moves a line by a quarter of a plain statement."""
MEAN_OVER: Final = 8
"""How many rewards the running mean goes over, about."""
LEAST_WEIGHT: Final = ONE // 8
"""What a reward leaves of a line, at least: signals neither remove a line nor turn it, only words do."""
BY_WORDS: Final = ONE // 2
"""The gate of an item that has a line's words, not its fact."""


def resolve_reward(
    card: Card | None, feedback: Feedback, item: ItemFacts, source: Position | None, signals: Signals = DEFAULT
) -> CardDiff | None:
    """What a signal does to a card; None if it bears on no line of it, or is what is usual.

    What somebody set does not move. A line that says what is avoided loses by a reward that others gain by.
    """
    worth = signals.worth(feedback)
    if card is None or worth is None or feedback.event_id in card.recent:
        return None
    reward = max(-ONE, min(ONE, round(worth * ONE)))
    surprise = reward - card.reward
    draft = CardDraft(card, feedback.occurred_at)
    told = words_of(item.title)
    for line in card.lines:
        if line.strength is not Strength.SET and (moved := _moved(line, gate(line, item, told, feedback), surprise)):
            draft.put(CardChangeKind.REWARDED, moved, _reason(feedback, surprise))
    if not draft.is_changed:
        return None
    # At least by one: what was left of a surprise would move the line by a little each time, for ever.
    mean = card.reward + (_share(surprise, MEAN_OVER) or (1 if surprise > 0 else -1))
    return draft.diff(feedback.event_id, feedback.user_id, source=source, reward=mean)


def gate(line: CardLine, item: ItemFacts, title: Words, feedback: Feedback) -> int:
    """How much an item has what a line says, in 1/1024: all for the very fact, by half for all of its words."""
    if line.domain is not None and line.domain != feedback.domain:
        return 0
    value = normalise(line.value)
    if any(normalise(fact.value) == value and line.dimension in (FREE, fact.dimension) for fact in item.facts):
        return ONE
    said = words_of(line.value)
    said = said - words_of(feedback.domain) or said
    if any(said <= words_of(fact.value) for fact in item.facts if line.dimension in (FREE, fact.dimension)):
        return BY_WORDS
    return BY_WORDS if line.dimension == FREE and said <= title else 0


def _moved(line: CardLine, by: int, surprise: int) -> CardLine | None:
    step = _share(by * surprise, ONE * RATE)
    if line.stance is Stance.AVOIDS:
        step = -step
    weight = max(min(line.weight, LEAST_WEIGHT), min(line.weight + step, max(line.weight, MAX_WEIGHT)))
    return None if weight == line.weight else line.model_copy(update={"weight": weight})


def _share(amount: int, parts: int) -> int:
    """The amount divided, rounded towards nothing: the same for gains and losses."""
    return amount // parts if amount >= 0 else -(-amount // parts)


def _reason(feedback: Feedback, surprise: int) -> str:
    usual = "more" if surprise > 0 else "less"
    return f"{feedback.signal} on an item that has it: {abs(surprise) / ONE:.2f} {usual} than is usual"

"""Corrections and what they are about, for tests."""

from collections.abc import Sequence
from typing import Any

from operators.language.corrections import understand
from operators.language.ports import Interpretation
from schemas import Candidate, Correction, Fact, ItemFacts, PolicySkill
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_name, item_facts


def a_correction(
    text: str = "", items: tuple[ItemFacts, ...] = (), *, domain: str = DOMAIN, **fields: Any
) -> Correction:
    """A correction of what these items were shown for."""
    shown = tuple(Candidate(item_id=item.item_id, title=item.title) for item in items)
    return Correction(
        event_id=a_name("correction"), occurred_at=NOW, user_id=USER, domain=domain, text=text, items=shown, **fields
    )


def a_bare_skill(**fields: Any) -> PolicySkill:
    """A skill of which nothing is known but these fields."""
    return PolicySkill(event_id="none", occurred_at=NOW, user_id=USER, domain=DOMAIN, **fields)


SHOWN = (
    item_facts("h1", "wearing_style: in-ear design", "colour: red", title="Okapi One"),
    item_facts("h2", "wearing_style: on-ear design", "colour: blue", title="Fennec Two"),
    item_facts("h3", "wearing_style: behind-the-neck band", "colour: green", title="Quokka Three"),
)


def understood(
    text: str, items: tuple[ItemFacts, ...] = SHOWN, *, vocabulary: Sequence[Fact] = (), as_said: str = "", **more: Any
) -> Interpretation:
    """What is understood of these words about these items."""
    said, skill = a_correction(text, items, **more), a_bare_skill()
    return understand(said, items, skill, vocabulary, as_said, privacy=PRIVACY, reader=RULES)

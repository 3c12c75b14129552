"""Turns and what is heard in them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from operators.language.corrections import understand
from operators.language.ports import Extraction, Interpretation
from schemas import Candidate, Card, Correction, Fact, ItemFacts, PolicySkill, Speaker, Turn
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings
from tests import builders
from tests.builders import DOMAIN, NOW, USER, a_line, a_name, item_facts
from tests.openai_server import Act, OpenAiServer

SAID_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNS = "Morning runs keep me sane"


def turn(text: str, role: Speaker = Speaker.USER, at: int = 0, domain: str | None = None) -> Turn:
    stated_at = SAID_AT + timedelta(seconds=at)
    return Turn(event_id=f"turn-{at}", turn=at, role=role, text=text, stated_at=stated_at, domain=domain)


def no_vocabulary(_domain: str) -> tuple[Fact, ...]:
    return ()


def heard(
    *texts: str | Turn, card: Card | None = None, vocabulary: Callable[[str], Sequence[Fact]] = no_vocabulary
) -> Extraction:
    turns = [text if isinstance(text, Turn) else turn(text, at=at) for at, text in enumerate(texts)]
    return RULES.extract(turns, card, vocabulary)


def a_chunk(*texts: str | tuple[Speaker, str], domain: str | None = None) -> tuple[Turn, ...]:
    """The turns of a conversation; what names no role is the person's."""
    said = [text if isinstance(text, tuple) else (Speaker.USER, text) for text in texts]
    return tuple(
        Turn(
            event_id=f"u{place}",
            turn=place,
            role=role,
            text=text,
            domain=domain,
            stated_at=SAID_AT + timedelta(minutes=place),
        )
        for place, (role, text) in enumerate(said)
    )


def a_card(*values: str) -> Card:
    return builders.a_card(*map(a_line, values))


def tells(*answers: str) -> Act:
    """The model answers so to the sentences, in their order, and something of no use to the others."""
    return Act(says={str(number): answer for number, answer in enumerate(answers, 1)})


def llm_settings(server: OpenAiServer) -> Settings:
    return Settings(
        reasoner="llm",
        llm_base_url=server.base_url,
        llm_attempts=1,
        llm_retry_seconds=0,
        llm_timeout_seconds=1,
    )


def a_correction(
    text: str = "", items: tuple[ItemFacts, ...] = (), *, domain: str = DOMAIN, **fields: Any
) -> Correction:
    shown = tuple(Candidate(item_id=item.item_id, title=item.title) for item in items)
    return Correction(
        event_id=a_name("correction"), occurred_at=NOW, user_id=USER, domain=domain, text=text, items=shown, **fields
    )


def a_bare_skill(**fields: Any) -> PolicySkill:
    return PolicySkill(event_id="none", occurred_at=NOW, user_id=USER, domain=DOMAIN, **fields)


SHOWN = (
    item_facts("h1", "wearing_style: in-ear design", "colour: red", title="Okapi One"),
    item_facts("h2", "wearing_style: on-ear design", "colour: blue", title="Fennec Two"),
    item_facts("h3", "wearing_style: behind-the-neck band", "colour: green", title="Quokka Three"),
)


def understood(
    text: str, items: tuple[ItemFacts, ...] = SHOWN, *, vocabulary: Sequence[Fact] = (), as_said: str = "", **more: Any
) -> Interpretation:
    said, skill = a_correction(text, items, **more), a_bare_skill()
    return understand(said, items, skill, vocabulary, as_said, privacy=PRIVACY, reader=RULES)

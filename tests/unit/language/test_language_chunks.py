"""What waits of conversations, without what tells of something forgotten."""

from datetime import timedelta

import pytest

from operators.cards import lines
from operators.language.chunks import scrub_pending
from operators.tokens import count_tokens
from schemas import Chunk, ChunkEffects, PendingConversations, Speaker, Turn
from tests.builders import a_time


def a_turn(text: str, number: int = 0, role: Speaker = Speaker.USER) -> Turn:
    stated_at = a_time() + timedelta(minutes=number)
    return Turn(event_id=f"e{number}", turn=number, role=role, text=text, stated_at=stated_at)


def waits(*turns: Turn, **more: object) -> PendingConversations:
    tokens = sum(count_tokens(turn.text) for turn in turns)
    chunk = Chunk.model_validate({"conversation_id": "c", "turns": turns, "tokens": tokens, **more})
    return PendingConversations(user_id="ann", chunks=(chunk,))


def texts(listening: PendingConversations) -> list[str]:
    return [turn.text for chunk in listening.chunks for turn in chunk.turns]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I love figs. I love slow jazz! And tea?", "I love figs. And tea?"),
        ("I like jazz", ""),
        ("I love figs\n- jazz\n- tea", "I love figs\n\n- tea"),
        ("\u79c1\u306f\u5bff\u53f8\u304c\u597d\u304d\u3002I love figs.", "I love figs."),
        ("What about jazzy socks?", ""),
        ("What about jars?", "What about jars?"),
        (f"{'word ' * 900}. I like jazz.", f"{'word ' * 900}."),
        ("Ich mag Jazz. Ich mag Tee.", "Ich mag Tee."),
    ],
)
def test_matching_sentences_are_erased(text: str, left: str) -> None:
    assert texts(scrub_pending(waits(a_turn(text)), ["jazz", "\u5bff\u53f8"])) == ([left] if left else [])


def test_erasure_covers_every_speaker() -> None:
    told = waits(a_turn("So you love jazz. Noted!", role=Speaker.ASSISTANT), a_turn("Yes.", 1))
    assert texts(scrub_pending(told, ["jazz"])) == ["Noted!", "Yes."]


def test_erasure_needs_all_words_of_the_value() -> None:
    told = waits(a_turn("I love old jazz. I love jazz. I love records."))
    assert texts(scrub_pending(told, ["old jazz"])) == ["I love jazz. I love records."]


@pytest.mark.parametrize("values", [[], [""], ["\u200b"]])
def test_empty_value_erases_nothing(values: list[str]) -> None:
    told = waits(a_turn("I love jazz."))
    assert scrub_pending(told, values) == told


def test_token_count_matches_the_remaining_text() -> None:
    listening = scrub_pending(waits(a_turn("I love jazz. I love figs.")), ["jazz"])
    assert listening.chunks[0].tokens == count_tokens("I love figs.")


def test_later_turns_stay() -> None:
    told = waits(a_turn("I love jazz.", 1), a_turn("I love jazz again.", 3))
    assert texts(scrub_pending(told, ["jazz"], a_time() + timedelta(minutes=2))) == ["I love jazz again."]


def test_chunks_with_a_result_stay() -> None:
    told = waits(a_turn("I love jazz."))
    assert scrub_pending(told, ["jazz"], but=told.chunks[0]) == told
    thought_over = waits(a_turn("I love jazz."), effects=ChunkEffects())
    assert scrub_pending(thought_over, ["jazz"]) == thought_over


def test_each_text_is_read_once_for_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def all_words(text: str) -> frozenset[str]:
        read.append(text)
        return lines.all_words(text)

    monkeypatch.setattr("operators.language.chunks.all_words", all_words)
    scrub_pending(waits(a_turn("I love jazz. I love figs.")), ["jazz", *(f"thing {number}" for number in range(50))])
    assert read == ["I love jazz. I love figs.", "I love jazz. ", "I love figs."]

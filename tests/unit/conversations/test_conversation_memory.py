"""The card as a model's memory is causal: M_i depends on the chunks up to i alone."""

import asyncio
import random
import re
from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.conversations.layout import person
from evaluation.conversations.listening import ModelListener, ReaderChoice, simulate_person
from operators.language.memory import MAX_MEMORY_TOKENS
from operators.tokens import count_tokens
from streams.llm.calls import Reply

TEXTS = ("I love {}.", "It is {} for me now.", "I am done with {}.", "Forget that I like {}.", "As ever, {}.")
THINGS = ("tea", "night trains", "jazz", "window seats", "quiz shows", "soup")


class Reader:
    """Keeps the prompts, and gives the first possible answers, or any by chance, the same to the same prompt."""

    def __init__(self, by_chance: bool) -> None:
        self.by_chance, self.prompts = by_chance, list[str]()

    async def ask(self, prompt: str, schema: Mapping[str, Any], *, name: str, max_tokens: int) -> Reply:
        del name, max_tokens
        self.prompts.append(prompt)
        draw, answer = random.Random(prompt), {}
        for key, part in schema["properties"].items():
            thing = next(each for each in THINGS if each in prompt.rpartition("<conversation>")[2])
            words = part.get("enum") or [f"{verdict}: {thing}" for verdict in ("likes", "now likes", "no longer likes")]
            answer[key] = draw.choice(words) if self.by_chance else words[0]
        return Reply(
            answer=answer, model="m", prompt_hash="0" * 16, prompt_tokens=1, completion_tokens=1, latency_ms=1, calls=1
        )


def prompts_of(texts: list[str], *, by_chance: bool = True) -> list[str]:
    talks = [{"preference": "", "conversations": [{"role": "user", "content": text}]} for text in texts]
    client: Any = Reader(by_chance)
    listener = ModelListener(client, ReaderChoice.BOTH, has_memory=True)
    asyncio.run(simulate_person(person("ann", {"conversations": {"chat": talks}}), listener.listen))
    return list(client.prompts)


said = st.builds(str.format, st.sampled_from(TEXTS), st.sampled_from(THINGS))


@settings(max_examples=30, deadline=None)
@given(st.lists(said, min_size=1, max_size=6), st.lists(said, min_size=1, max_size=4))
def test_a_later_chunk_never_changes_an_earlier_prompt(texts: list[str], later: list[str]) -> None:
    before, after = prompts_of(texts), prompts_of([*texts, *later])

    assert after[: len(before)] == before
    for prompt in after:
        card = re.search(r"<card>\n(.*)\n</card>", prompt, re.DOTALL)
        assert card is None or count_tokens(card[1]) <= MAX_MEMORY_TOKENS


def test_each_prompt_has_the_lines_of_the_chunks_before() -> None:
    first, second, third = prompts_of(["I love tea.", "I love jazz.", "As ever, soup."], by_chance=False)

    assert "<card>\n" not in first
    assert "<card>\nm1. likes tea\n</card>" in second
    assert "tea" in third.partition("<card>\n")[2].partition("</card>")[0]

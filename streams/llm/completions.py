"""Reads chat completions. The `openai` package checks no types, so any field may be missing or mistyped."""

from collections.abc import Mapping
from typing import Any

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice

from streams.llm.failures import CallFailed
from streams.llm.records import Outcome
from streams.llm.replies import BadReply, read


def answer(completion: ChatCompletion, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object that the model wrote.

    Raises:
        CallFailed: there is none, or it does not fit the schema.
    """
    _check_refusal(completion)
    match completion:
        case ChatCompletion(choices=[Choice(message=ChatCompletionMessage(content=str(text))) as choice, *_]) if text:
            try:
                return read(text, schema)
            except BadReply as bad:
                why = "it was too long and was cut off" if choice.finish_reason == "length" else str(bad)
                raise CallFailed(Outcome.INVALID_REPLY, why) from None
        case _:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")


def usage(completion: ChatCompletion) -> tuple[int, int]:
    """Return prompt and completion tokens as the endpoint counted them; 0 if it did not."""
    match completion.usage:
        case CompletionUsage(prompt_tokens=int(prompt), completion_tokens=int(written)):
            return max(0, prompt), max(0, written)
        case _:
            return 0, 0


def _check_refusal(completion: ChatCompletion) -> None:
    match completion.choices:
        case [Choice(message=ChatCompletionMessage(refusal=str(why))), *_] if why:
            raise CallFailed(Outcome.REFUSED, "the model refused")
        case [Choice(finish_reason="content_filter"), *_]:
            raise CallFailed(Outcome.REFUSED, "the endpoint's content filter stepped in")

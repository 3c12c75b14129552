"""Reads chat completions. The `openai` package checks no types, so any field may be missing or mistyped."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice, ChoiceLogprobs
from openai.types.chat.chat_completion_token_logprob import ChatCompletionTokenLogprob, TopLogprob

from streams.llm.failures import CallFailed
from streams.llm.records import Outcome
from streams.llm.replies import BadReply, read

TOP_LOGPROBS = 20
"""The most alternatives per token that OpenAI returns."""
_LEAST_LOGPROB = -30.0
"""Some endpoints return -9999 for tokens that they rule out."""
_AROUND_A_WORD = " \t\r\n▁Ġ.,:;()*\"'`"
"""Characters that surround a letter within a token; the two odd ones are how some tokenizers write a space."""


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


def choice_logprobs(completion: ChatCompletion, choices: Sequence[str]) -> tuple[dict[str, float], int]:
    """Return the log-probability of each choice as first token, and for how many the endpoint gave one.

    The probabilities of all tokens that spell a choice add up: `B`, ` B`, `b`. A choice that no token spells is less
    probable than any other, so it gets one below the least.

    Raises:
        CallFailed: there are no probabilities (`no-logprobs`), or none of a choice.
    """
    _check_refusal(completion)
    match completion.choices:
        case [
            Choice(logprobs=ChoiceLogprobs(content=[ChatCompletionTokenLogprob(top_logprobs=[_, *_] as top), *_])),
            *_,
        ]:
            return _masses(top, choices)
        case [Choice(logprobs=ChoiceLogprobs(content=[])), *_]:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")
        case [_, *_]:
            raise CallFailed(Outcome.NO_LOGPROBS, "the endpoint gave no log-probabilities")
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


def _masses(top: Sequence[object], choices: Sequence[str]) -> tuple[dict[str, float], int]:
    masses = {choice.casefold(): 0.0 for choice in choices}
    least = 0.0
    for alternative in top:
        match alternative:
            case TopLogprob(token=str(token), logprob=float() | int() as logprob):
                bounded = min(0.0, max(_LEAST_LOGPROB, logprob))
                least = min(least, bounded)
                word = token.strip(_AROUND_A_WORD).casefold()
                if word in masses:
                    masses[word] += math.exp(bounded)
    seen = sum(1 for mass in masses.values() if mass)
    if not seen:
        raise CallFailed(Outcome.INVALID_REPLY, "it did not begin with any of them")
    # The probabilities of a dishonest endpoint may add up to more than 1.
    return {c: min(0.0, math.log(m)) if (m := masses[c.casefold()]) else least - 1.0 for c in choices}, seen

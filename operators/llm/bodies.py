"""Reads the body of a chat completion, in which any field may be missing, mistyped or wrong."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from operators.llm.failures import CallFailed
from operators.llm.records import Outcome
from operators.llm.replies import BadReply, read

TOP_LOGPROBS = 20
"""The most alternatives of a token that OpenAI tells."""

_LEAST_LOGPROB = -30.0
"""Below it nothing means anything; some endpoints say -9999 for what they have ruled out."""
_AROUND_A_WORD = " \t\r\n▁Ġ.,:;()*\"'`"
"""What tokens carry besides the letter; the two odd ones are how some tokenizers write a space."""


def answer(body: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object that the model has written.

    Raises:
        CallFailed: there is none, or it does not fit the schema.
    """
    _assert_willing(body)
    match body:
        case {"choices": [{"message": {"content": str(text)}} as choice, *_]} if text:
            try:
                return read(text, schema)
            except BadReply as bad:
                cut_off = choice.get("finish_reason") == "length"
                why = "it was too long and was cut off" if cut_off else str(bad)
                raise CallFailed(Outcome.INVALID_REPLY, why) from None
        case _:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")


def choice_logprobs(body: object, choices: Sequence[str]) -> tuple[dict[str, float], int]:
    """The log-probability of each choice as first token, and of how many the endpoint told one.

    The probabilities of all tokens that spell a choice add up: `B`, ` B`, `b`. A choice that none spells is less
    probable than any that was told, so it gets a floor one below the least.

    Raises:
        CallFailed: no probabilities (`no-logprobs`), or none of a choice.
    """
    _assert_willing(body)
    match body:
        case {"choices": [{"logprobs": {"content": [{"top_logprobs": [_, *_] as told}, *_]}}, *_]}:
            return _masses(told, choices)
        case {"choices": [{"logprobs": {"content": []}}, *_]} | {"choices": []}:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")
        case {"choices": [_, *_]}:
            raise CallFailed(Outcome.NO_LOGPROBS, "the endpoint gave no log-probabilities")
        case _:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")


def usage(body: object) -> tuple[int, int]:
    """Prompt and completion tokens, as the endpoint counted them; 0 if it did not say."""
    match body:
        case {"usage": {"prompt_tokens": int(read_in), "completion_tokens": int(written)}}:
            return max(0, read_in), max(0, written)
        case _:
            return 0, 0


def _assert_willing(body: object) -> None:
    match body:
        case {"choices": [{"message": {"refusal": str(why)}}, *_]} if why:
            raise CallFailed(Outcome.REFUSED, "the model refused")
        case {"choices": [{"finish_reason": "content_filter"}, *_]}:
            raise CallFailed(Outcome.REFUSED, "the endpoint's content filter stepped in")


def _masses(told: Sequence[object], choices: Sequence[str]) -> tuple[dict[str, float], int]:
    masses = {choice.casefold(): 0.0 for choice in choices}
    least = 0.0
    for alternative in told:
        match alternative:
            # Python's True is an int, JSON's true is no number.
            case {"token": str(token), "logprob": float() | int() as logprob} if not isinstance(logprob, bool):
                bounded = min(0.0, max(_LEAST_LOGPROB, logprob))
                least = min(least, bounded)
                word = token.strip(_AROUND_A_WORD).casefold()
                if word in masses:
                    masses[word] += math.exp(bounded)
    seen = sum(1 for mass in masses.values() if mass)
    if not seen:
        raise CallFailed(Outcome.INVALID_REPLY, "it did not begin with any of them")
    # A liar's probabilities may add up to more than 1.
    return {c: min(0.0, math.log(m)) if (m := masses[c.casefold()]) else least - 1.0 for c in choices}, seen

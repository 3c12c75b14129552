"""Checks the LLM endpoint: it answers, accepts the key and has the model."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import aiohttp
import orjson

from operators.llm.endpoint import address, headers, is_success, new_session, read_body
from operators.llm.failures import CallFailed
from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings

ANSWER_SECONDS = 8.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN = 5
_REFUSED, _TOO_MANY = (401, 403), 429


def endpoint(settings: Settings) -> Iterator[Finding]:
    """One finding: whether it answers, accepts the key and has the model.

    Requests the list of models or, where that is not supported, one token.
    """
    url = settings.llm_base_url or OPENAI_URL
    told = _CREDENTIALS.sub("***@", url)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        yield error(
            "LLM", f"{told} requires a key", "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        )
        return
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    try:
        yield asyncio.run(_asked(url, key, told, settings.llm_model))
    except (aiohttp.ClientError, OSError, ValueError, CallFailed) as failed:
        # The error in a word; never its message, which may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        yield error("LLM", f"{told} does not answer ({type(failed).__name__})", todo)


async def _asked(url: str, key: str, told: str, model: str) -> Finding:
    async with new_session(url) as session:
        status, body = await _request(session, "GET", url, "models", key)
        if status in _REFUSED:
            return error("LLM", f"{told} refuses the key ({status})", "check SAGER_LLM_API_KEY")
        names = _names(body) if is_success(status) else None
        if names is None:
            return await _one_token(session, url, key, told, model)
        if model in names:
            return ok("LLM", f"{told}: answers, has {model}")
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        return error("LLM", f"{told} does not list {model!r}, but {shown or 'nothing'}", "set SAGER_LLM_MODEL")


def _names(body: bytes) -> list[str] | None:
    """The models that the endpoint lists; None where it lists none in this protocol's form."""
    try:
        found = orjson.loads(body)["data"]
        return [name for each in found if isinstance(name := each["id"], str)]
    except (ValueError, LookupError, TypeError):
        return None


async def _one_token(session: aiohttp.ClientSession, url: str, key: str, told: str, model: str) -> Finding:
    asked = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Say ok."}]}
    status, _ = await _request(session, "POST", url, "chat/completions", key, data=orjson.dumps(asked))
    if status == _TOO_MANY:
        return warning(
            "LLM", f"{told}: too many requests, or the quota is used up", "check the account at the endpoint"
        )
    if not is_success(status):
        return error("LLM", f"{told} does not answer for {model!r} (status {status})", "check SAGER_LLM_MODEL")
    return ok("LLM", f"{told}: lists no models, but {model} answers")


async def _request(
    session: aiohttp.ClientSession, method: str, base_url: str, path: str, key: str, **more: Any
) -> tuple[int, bytes]:
    url = address(base_url, path)
    async with (
        asyncio.timeout(ANSWER_SECONDS / 2),
        session.request(method, url, headers=headers(url, key), allow_redirects=False, **more) as response,
    ):
        return response.status, await read_body(response)

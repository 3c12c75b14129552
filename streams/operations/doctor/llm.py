"""Checks the LLM endpoint: it answers, accepts the key and has the model."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ANSWER_SECONDS = 4.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN = 5
_REFUSED, _TOO_MANY = (401, 403), 429


def endpoint(settings: Settings) -> Iterator[Finding]:
    """Yield one finding: whether the endpoint answers, accepts the key and has the model.

    Requests the list of models or, where that is not supported, one token.
    """
    url = settings.llm_base_url or OPENAI_URL
    shown = _CREDENTIALS.sub("***@", url)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        yield error(
            "LLM", f"{shown} requires a key", "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        )
        return
    yield asyncio.run(_look(settings, url, shown))


async def _look(settings: Settings, url: str, shown: str) -> Finding:
    from openai import APIError, APIStatusError  # noqa: PLC0415 - it takes half a second

    from streams.llm.endpoint import connect  # noqa: PLC0415

    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    try:
        async with connect(url, key) as client:
            names = await _models(client)
            return (
                await _one_token(client, shown, settings.llm_model) if names is None else _among(names, shown, settings)
            )
    except APIStatusError as failed:
        return _refused(failed.status_code, shown, settings)
    except (APIError, TimeoutError, ValueError) as failed:
        # The error's type and not its message, which may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        return error("LLM", f"{shown} does not answer ({type(failed).__name__})", todo)


def _among(names: Sequence[str], shown: str, settings: Settings) -> Finding:
    if settings.llm_model in names:
        return ok("LLM", f"{shown}: answers, has {settings.llm_model}")
    some = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return error("LLM", f"{shown} does not list {settings.llm_model!r}, but {some or 'nothing'}", "set SAGER_LLM_MODEL")


def _refused(status: int, shown: str, settings: Settings) -> Finding:
    if status in _REFUSED:
        return error("LLM", f"{shown} refuses the key ({status})", "check SAGER_LLM_API_KEY")
    if status == _TOO_MANY:
        found = f"{shown}: too many requests, or the quota is used up"
        return warning("LLM", found, "check the account at the endpoint")
    return error(
        "LLM", f"{shown} does not answer for {settings.llm_model!r} (status {status})", "check SAGER_LLM_MODEL"
    )


async def _models(client: "AsyncOpenAI") -> list[str] | None:
    """Return the models that the endpoint lists; None where it has no such list."""
    from openai import APIStatusError  # noqa: PLC0415

    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            page = await client.models.list()
        return [name for each in page.data if isinstance(name := each.id, str)]
    except APIStatusError as failed:
        if failed.status_code in _REFUSED:
            raise
        return None
    except (AttributeError, TypeError):  # the answer has another form
        return None


async def _one_token(client: "AsyncOpenAI", shown: str, model: str) -> Finding:
    async with asyncio.timeout(ANSWER_SECONDS):
        await client.chat.completions.create(
            model=model, max_tokens=1, messages=[{"role": "user", "content": "Say ok."}]
        )
    return ok("LLM", f"{shown}: lists no models, but {model} answers")

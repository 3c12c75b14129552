"""Check the LLM endpoint: it answers, accepts the key and has the model."""

import asyncio
import re
from collections.abc import Iterator

from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings

ANSWER_SECONDS = 4.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN_MODELS = 5
_REFUSED, _TOO_MANY = (401, 403), 429


def endpoint(settings: Settings) -> Iterator[Finding]:
    """Check that the LLM endpoint answers, accepts the key and has the model."""
    url = settings.llm_base_url or OPENAI_URL
    shown = _CREDENTIALS.sub("***@", url)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        todo = "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        yield error("LLM", f"{shown} requires a key", todo)
    else:
        yield asyncio.run(_ask(settings, url, shown))


async def _ask(settings: Settings, url: str, shown: str) -> Finding:
    """Request the list of models or, where the endpoint has none, one token."""
    from openai import APIError, APIStatusError  # noqa: PLC0415 - it takes half a second

    from streams.llm.endpoint import connect  # noqa: PLC0415

    model = settings.llm_model
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    try:
        async with connect(url, key) as client, asyncio.timeout(2 * ANSWER_SECONDS):
            try:
                names = [each.id for each in (await client.models.list()).data if isinstance(each.id, str)]
            except (APIStatusError, AttributeError, TypeError) as failed:
                if getattr(failed, "status_code", 0) in _REFUSED:
                    raise
                say_ok = [{"role": "user", "content": "Say ok."}]
                await client.chat.completions.create(model=model, max_tokens=1, messages=say_ok)  # type: ignore[arg-type]
                return ok("LLM", f"{shown}: lists no models, but {model} answers")
    except APIStatusError as failed:
        return _refused(failed.status_code, shown, model)
    except (APIError, TimeoutError, ValueError) as failed:
        # The error's type and not its message, which may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        return error("LLM", f"{shown} does not answer ({type(failed).__name__})", todo)
    if model in names:
        return ok("LLM", f"{shown}: answers, has {model}")
    some = ", ".join(names[:_SHOWN_MODELS]) + (", ..." if len(names) > _SHOWN_MODELS else "")
    return error("LLM", f"{shown} does not list {model!r}, but {some or 'nothing'}", "set SAGER_LLM_MODEL")


def _refused(status: int, shown: str, model: str) -> Finding:
    if status in _REFUSED:
        return error("LLM", f"{shown} refuses the key ({status})", "check SAGER_LLM_API_KEY")
    if status == _TOO_MANY:
        found = f"{shown}: too many requests, or the quota is used up"
        return warning("LLM", found, "check the account at the endpoint")
    return error("LLM", f"{shown} does not answer for {model!r} (status {status})", "check SAGER_LLM_MODEL")

"""Check the LLM endpoint: it answers, accepts the key and has the model."""

import asyncio
import re

from streams.operations.doctor.findings import Finding, error, ok
from streams.settings import Settings

ANSWER_SECONDS = 8.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN_MODELS = 5
_REFUSED = (401, 403)


def endpoint(settings: Settings) -> Finding:
    """Check that the LLM endpoint answers, accepts the key and has the model."""
    url = settings.llm_base_url or OPENAI_URL
    shown = _CREDENTIALS.sub("***@", url)
    if settings.llm_api_key is None and settings.llm_base_url is None:
        todo = "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        return error("LLM", f"{shown} requires a key", todo)
    return asyncio.run(_ask(settings, url, shown))


async def _ask(settings: Settings, url: str, shown: str) -> Finding:
    """Request the list of models or, where the endpoint has none, one token."""
    from openai import APIError, APIStatusError  # noqa: PLC0415 - it takes half a second

    from streams.llm.endpoint import connect  # noqa: PLC0415

    model = settings.llm_model
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    try:
        async with connect(url, key) as client, asyncio.timeout(ANSWER_SECONDS):
            try:
                names = [each.id for each in (await client.models.list()).data if isinstance(each.id, str)]
            except (APIStatusError, AttributeError, TypeError) as failed:
                if getattr(failed, "status_code", 0) in _REFUSED:
                    raise
                say_ok = [{"role": "user", "content": "Say ok."}]
                await client.chat.completions.create(model=model, max_tokens=1, messages=say_ok)  # type: ignore[arg-type]
                return ok("LLM", f"{shown}: lists no models, but {model} answers")
    except APIStatusError as failed:
        todo = "check SAGER_LLM_API_KEY" if failed.status_code in _REFUSED else "check SAGER_LLM_MODEL, and the account"
        return error("LLM", f"{shown} refuses {model!r} (status {failed.status_code})", todo)
    except (APIError, TimeoutError, ValueError) as failed:
        # The error's type and not its message, which may repeat the key.
        todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
        return error("LLM", f"{shown} does not answer ({type(failed).__name__})", todo)
    if model in names:
        return ok("LLM", f"{shown}: answers, has {model}")
    some = ", ".join(names[:_SHOWN_MODELS]) or "nothing"
    return error("LLM", f"{shown} does not list {model!r}, but {some}", "set SAGER_LLM_MODEL")

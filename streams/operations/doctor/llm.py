"""Checks the LLM endpoint: it answers, accepts the key and has the model."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from streams.operations.doctor.findings import Finding, error, ok, warning
from streams.settings import Settings

if TYPE_CHECKING:
    from openai import OpenAI

ANSWER_SECONDS = 8.0
OPENAI_URL = "https://api.openai.com/v1"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_SHOWN = 5


def endpoint(settings: Settings) -> Iterator[Finding]:
    """One finding: whether it answers, accepts the key and has the model.

    Requests the list of models or, where that is not supported, one token.
    """
    try:
        import openai  # noqa: PLC0415 - an optional extra, and slow to import
    except ImportError:
        yield error("LLM", "a model is configured, but its extra is missing", "pip install 'sager-streams[llm]'")
        return
    url = settings.llm_base_url or OPENAI_URL
    told, model = _CREDENTIALS.sub("***@", url), settings.llm_model
    if settings.llm_api_key is None and settings.llm_base_url is None:
        yield error(
            "LLM", f"{told} requires a key", "set OPENAI_API_KEY, or SAGER_LLM_BASE_URL to an endpoint of your own"
        )
        return
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else "none"
    with openai.OpenAI(base_url=url, api_key=key, timeout=ANSWER_SECONDS / 2, max_retries=0) as client:
        try:
            names = [each.id for each in client.models.list()]
        except (openai.AuthenticationError, openai.PermissionDeniedError) as refused:
            yield error("LLM", f"{told} refuses the key ({refused.status_code})", "check SAGER_LLM_API_KEY")
        except openai.APIConnectionError as failed:
            todo = "check that it is up, and SAGER_LLM_BASE_URL, which usually ends in /v1"
            yield error("LLM", f"{told} does not answer ({_reason(failed)})", todo)
        except openai.APIStatusError:
            yield _one_token(client, told, model)
        else:
            if model in names:
                yield ok("LLM", f"{told}: answers, has {model}")
            else:
                shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
                yield error("LLM", f"{told} does not list {model!r}, but {shown or 'nothing'}", "set SAGER_LLM_MODEL")


def _one_token(client: "OpenAI", told: str, model: str) -> Finding:
    import openai  # noqa: PLC0415

    try:
        client.chat.completions.create(model=model, max_tokens=1, messages=[{"role": "user", "content": "Say ok."}])
    except openai.RateLimitError:
        return warning(
            "LLM", f"{told}: too many requests, or the quota is used up", "check the account at the endpoint"
        )
    except openai.APIError as failed:
        return error("LLM", f"{told} does not answer for {model!r} ({_reason(failed)})", "check SAGER_LLM_MODEL")
    return ok("LLM", f"{told}: lists no models, but {model} answers")


def _reason(failed: Exception) -> str:
    """The error in a word; never its message, which may repeat the key."""
    status = getattr(failed, "status_code", None)
    return f"status {status}" if status else type(failed.__cause__ or failed).__name__

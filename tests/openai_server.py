"""A real HTTP endpoint that speaks OpenAI's chat-completions protocol, well or badly, as told. No model inside.

In a test, in its event loop, or in a thread of its own (also for code in other processes):

    async with OpenAiServer() as server:
        server.then(Act(Do.RATE_LIMIT, retry_after="0.2"))     # the next request; afterwards `server.always`
        client = client_of(server)
        assert len(server.bodies) == 2

    with threaded(OpenAiServer()) as server: ...

For load tests, as a process: `python tests/openai_server.py --port 8091 --delay 1.0`.
"""

import argparse
import asyncio
import json
import random
import re
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Self

import orjson
from aiohttp import web

from tests.waiting import WAIT_SECONDS


class Do(StrEnum):
    """What the endpoint does with a request."""

    ANSWER = "answer"
    """Fill the schema sensibly."""
    LIE = "lie"
    """Fit the schema's form, but name what no enum lists."""
    STEAL = "steal"
    """Answer as if asked what somebody else was asked before: with their lines and their item's facts."""
    OBEY = "obey"
    """Do what an injected text might ask: the worst answer that still fits the schema."""
    WRONG_SCHEMA = "wrong-schema"
    FENCE = "fence"
    BREAK_JSON = "break-json"
    TRUNCATE = "truncate"
    NO_CHOICES = "no-choices"
    NO_CONTENT = "no-content"
    ECHO = "echo"
    """See only what stands first: rank in the order of presentation."""
    REPEAT = "repeat"
    """Name the first place again and again."""
    COMPRESS = "compress"
    """A compressed answer, although none was asked for."""
    NOT_JSON = "not-json"
    """A proxy's page instead of the protocol, with status 200."""
    RATE_LIMIT = "rate-limit"
    FAIL = "fail"
    RESET = "reset"
    REDIRECT = "redirect"
    """Send whoever asks to `location`."""
    FLOOD = "flood"
    """Bytes without an end."""
    DRIP = "drip"
    """One byte at a time, for ever: no read ever times out."""


@dataclass(frozen=True)
class Act:
    """One behaviour, its delay in seconds, for failures the status, `Retry-After` or the location, and what to say.

    With a spread of .2, answers take from .8 to 1.2 of the delay, and the delay on average.
    `says` replaces parts of the answer that fills the schema, by property.
    """

    do: Do = Do.ANSWER
    delay: float = 0.0
    spread: float = 0.0
    status: int = 500
    retry_after: str | None = None
    location: str = ""
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class OpenAiServer:
    """Counts requests and keeps their bodies; `peak` is the most that were in flight at once."""

    always: Act = field(default_factory=Act)
    port: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    in_flight: int = 0
    peak: int = 0
    keep: bool = True
    refuses: frozenset[str] = frozenset()
    """Types of response formats that it does not know."""

    def __post_init__(self) -> None:
        self._queue: deque[Act] = deque()
        self._chance = random.Random(1)
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def prompts(self) -> list[str]:
        return [body["messages"][-1]["content"] for body in self.bodies]

    def then(self, *acts: Act | Do) -> Self:
        self._queue.extend(act if isinstance(act, Act) else Act(act) for act in acts)
        return self

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._models)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "fake", "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        began = time.monotonic()
        body = orjson.loads(await request.read())
        self.times.append(time.monotonic())
        if self.keep:
            self.bodies.append(body)
            self.headers.append(request.headers)
        if body.get("response_format", {}).get("type") in self.refuses:
            error = {"message": "unknown value", "type": "invalid_request_error", "param": "response_format"}
            return web.json_response({"error": error}, status=400)
        act = self._queue.popleft() if self._queue else self.always
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            # What it takes to write an answer is part of the delay: many at once would take longer otherwise.
            written = None if act.do in _WITHOUT_AN_ANSWER else self._answer(body, act)
            if act.delay:
                delay = act.delay * (1 + act.spread * self._chance.uniform(-1, 1))
                await asyncio.sleep(max(0.0, began + delay - time.monotonic()))
            return await self._refuse(request, body, act) if written is None else written
        finally:
            self.in_flight -= 1

    def _answer(self, body: dict[str, Any], act: Act) -> web.Response:
        asked = self._stolen(body) if act.do is Do.STEAL else body
        response = web.Response(body=orjson.dumps(completion(asked, act.do, act.says)), content_type="application/json")
        if act.do is Do.COMPRESS:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    async def _refuse(self, request: web.Request, body: dict[str, Any], act: Act) -> web.StreamResponse:
        if act.do is Do.RESET:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if act.do in _ENDLESS:
            return await _endless(request, *_ENDLESS[act.do], act.status)
        if act.do is Do.REDIRECT:
            return web.Response(status=307, headers={"Location": act.location})
        if act.do is Do.NOT_JSON:
            return web.Response(text="<html>Bad gateway, says the proxy</html>", content_type="text/html")
        status = 429 if act.do is Do.RATE_LIMIT else act.status
        headers = {"Retry-After": act.retry_after} if act.retry_after is not None else {}
        error = {"message": f"you said: {body['messages'][-1]['content']}", "type": "error", "code": "told_to_fail"}
        return web.json_response({"error": error}, status=status, headers=headers)

    def _stolen(self, body: dict[str, Any]) -> dict[str, Any]:
        """This request with the schema of the newest one that has another."""
        asked = body.get("response_format")
        others = (other.get("response_format") for other in reversed(self.bodies))
        return {**body, "response_format": next((other for other in others if other and other != asked), asked)}


_ENDLESS = {Do.DRIP: (b" ", 0.02), Do.FLOOD: (b" " * 65_536, 0.0)}
"""Bytes that come again and again, and the seconds between them."""


_WITHOUT_AN_ANSWER = frozenset({Do.RESET, Do.REDIRECT, Do.NOT_JSON, Do.RATE_LIMIT, Do.FAIL, *_ENDLESS})


async def _endless(request: web.Request, part: bytes, pause: float, status: int) -> web.StreamResponse:
    response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
    await response.prepare(request)
    try:
        while True:
            await response.write(part)
            await asyncio.sleep(pause)
    except (ConnectionError, asyncio.CancelledError):
        return response


def completion(body: dict[str, Any], do: Do, says: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The chat completion that answers this request."""
    content = body["messages"][-1]["content"]
    prompt = content if isinstance(content, str) else ""  # a tool's answer comes in parts
    _, asks, in_prompt = prompt.partition(" fits this JSON schema: ")
    if asks:
        schema = json.JSONDecoder().raw_decode(in_prompt)[0]
    elif "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
    else:
        return chat(body, says)
    answer = fill(schema, schema, "", do)
    if "ranking" in answer and do is not Do.LIE:
        answer["ranking"] = _ranked(answer["ranking"], prompt, do)
    text = json.dumps({name: says.get(name, part) for name, part in answer.items()})
    finish: str = "stop"
    if do is Do.WRONG_SCHEMA:
        text = json.dumps({"answer": "here is another form", "verdict": 7})
    elif do is Do.FENCE:
        text = f"<think>Which {{braces}}?</think>Of course!\n```json\n{text}\n```\nAnything else?"
    elif do is Do.BREAK_JSON:
        text = text[:-1] + ', "and": }'
    elif do is Do.TRUNCATE:
        text, finish = text[: len(text) // 2], "length"
    message = {"role": "assistant", "refusal": None, "content": None if do is Do.NO_CONTENT else text}
    found = _completion(body, message, finish, len(prompt) // 4, len(text) // 4)
    return found | {"choices": []} if do is Do.NO_CHOICES else found


def _completion(
    body: dict[str, Any], message: dict[str, Any], finish: str, prompt_tokens: int, completion_tokens: int
) -> dict[str, Any]:
    tokens = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": tokens | {"total_tokens": sum(tokens.values())},
    }


def chat(body: dict[str, Any], says: Mapping[str, Any]) -> dict[str, Any]:
    """The completion that answers who wants no form: `says["text"]`.

    Where tools are offered and none has answered yet, it calls the one of `says["call"]` with `says["arguments"]`.
    """
    offered = {tool["function"]["name"] for tool in body.get("tools", ())}
    answered = any(message["role"] == "tool" for message in body["messages"])
    message: dict[str, Any] = {"role": "assistant", "content": says.get("text", "Because of its facts.")}
    finish = "stop"
    if says.get("call") in offered and not answered:
        function = {"name": says["call"], "arguments": json.dumps(says.get("arguments", {}))}
        call = {"id": "call-1", "type": "function", "function": function}
        message, finish = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    return _completion(body, message, finish, 1, 1)


def relevances(prompt: str, do: Do = Do.ANSWER) -> dict[str, float]:
    """How well each candidate of the prompt suits, by its key: words that it shares with the other tags' contents.

    As models do, it favours what stands first, a little. Told to obey, it takes what an injected text might ask for:
    what suits least. Told to echo, it sees nothing but places.
    """
    lines = re.findall(r"^([A-Z]|c\d+)(?:: (.*))?$", _tag(prompt, "candidates"), re.MULTILINE)
    wanted = [(1.5, _tag(prompt, "request")), (1.0, _tag(prompt, "community")), (0.5, _tag(prompt, "taste"))]
    sign = {Do.ECHO: 0.0, Do.OBEY: -1.0}.get(do, 1.0)
    scores: dict[str, float] = {}
    for place, (key, told) in enumerate(lines):
        shared = sum(weight * len(_words(told) & _words(text)) for weight, text in wanted)
        scores[key] = sign * shared - 0.4 * place / len(lines)
    return scores


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _tag(prompt: str, name: str) -> str:
    found = re.search(rf"^<{name}>\n(.*?)\n</{name}>$", prompt, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def _ranked(entries: list[Any], prompt: str, do: Do) -> list[Any]:
    scores = relevances(prompt, do)
    order = sorted(scores, key=lambda key: -scores[key])
    order = order[:1] * len(order) if do is Do.REPEAT else order
    return [{**entries[0], "key": key} for key in order] if isinstance(entries[0], dict) else order


def fill(schema: dict[str, Any], root: dict[str, Any], name: str, do: Do = Do.ANSWER) -> Any:
    """A value that fits this schema (unless told to lie), the same for the same request.

    An object of `fact` and `verdict` supports its property's name if one of the facts says the same words; other
    enums take their first value, arrays as many different ones as they need, at least one.
    """
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "enum" in schema:
        return "made: up" if do is Do.LIE else schema["enum"][-1 if do is Do.OBEY else 0]
    kind = schema.get("type")
    if kind == "object":
        parts = schema.get("properties", {})
        if set(parts) == {"fact", "verdict"} and do not in (Do.LIE, Do.OBEY):
            return _judge(parts, root, name)
        filled = {key: fill(part, root, key, do) for key, part in parts.items()}
        if set(parts) == {"fact", "verdict"} and do is Do.OBEY:
            filled["fact"] = fill(parts["fact"], root, "fact")
        return filled
    if kind == "array":
        wanted = max(1, schema.get("minItems", 0))
        entry = schema["items"]
        return (
            entry["enum"][:wanted] if "enum" in entry and do is not Do.LIE else [fill(entry, root, name, do)] * wanted
        )
    simple: dict[Any, Any] = {"string": "Because of its facts.", "integer": 0, "number": 0.0, "boolean": True}
    return simple[kind]


def _judge(parts: dict[str, Any], root: dict[str, Any], name: str) -> dict[str, str]:
    facts = parts["fact"]
    while "$ref" in facts:
        facts = root["$defs"][facts["$ref"].removeprefix("#/$defs/")]
    for fact in facts["enum"]:
        if _as_name(fact) == name:
            return {"fact": fact, "verdict": "supports"}
    return {"fact": facts["enum"][-1], "verdict": "unrelated"}


@lru_cache(4_096)
def _as_name(fact: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", fact.casefold()).strip("_")


@contextmanager
def threaded(server: OpenAiServer) -> Iterator[OpenAiServer]:
    """The server in a thread with its own event loop, until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="openai-server", daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(WAIT_SECONDS)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(WAIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


async def _serve(server: OpenAiServer) -> None:
    async with server:
        print(f"ready {server.base_url}", flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible endpoint without a model, for load tests.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one; it is printed")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--spread", type=float, default=0.0, help="share by which an answer may take longer or shorter")
    args = parser.parse_args()
    with suppress(KeyboardInterrupt):
        act = Act(delay=args.delay, spread=args.spread)
        asyncio.run(_serve(OpenAiServer(act, port=args.port, keep=False)))


if __name__ == "__main__":
    main()

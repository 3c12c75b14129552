"""The LLM client against an endpoint that misbehaves, over real HTTP; and how replies are read."""

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any

import aiohttp
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import ReasonerUnavailable
from streams.llm.calls import CallRecord, Outcome, Reply, retry_after
from streams.llm.client import LlmClient
from streams.llm.replies import BadReply, read, without_sizes
from tests.openai_server import Act, Do, OpenAiServer
from tests.unit.llm.llm_builders import SCHEMA, client_of, until
from tests.waiting import WAIT_SECONDS

PROMPT = "Is this a secret?"


async def ask(client: LlmClient) -> Reply:
    try:
        return await client.ask(PROMPT, SCHEMA, name="test", max_tokens=50)
    finally:
        await client.aclose()


async def failure(client: LlmClient) -> ReasonerUnavailable:
    with pytest.raises(ReasonerUnavailable) as caught:
        await ask(client)
    return caught.value


async def test_an_answer_comes_with_its_record(server: OpenAiServer) -> None:
    calls: list[CallRecord] = []
    reply = await ask(client_of(server, calls))
    assert reply.answer == {"why": "Because of its facts.", "fits": "yes", "best": ["a"]}
    assert (reply.calls, reply.model, len(reply.prompt_hash)) == (1, "fake", 16)
    assert reply.prompt_tokens > 0
    assert reply.completion_tokens > 0
    assert reply.latency_ms >= calls[0].latency_ms >= 0
    assert [(c.outcome, c.name, c.prompt_hash) for c in calls] == [(Outcome.OK, "test", reply.prompt_hash)]


async def test_requests_use_a_strict_schema_and_temperature_0(server: OpenAiServer) -> None:
    await ask(client_of(server))
    body = server.bodies[0]
    wanted = body["response_format"]
    assert (wanted["type"], wanted["json_schema"]["strict"]) == ("json_schema", True)
    assert (body["temperature"], body["max_tokens"], body["model"]) == (0, 50, "fake")
    assert body["messages"] == [{"role": "user", "content": PROMPT}]


async def test_the_schema_moves_to_the_prompt_if_the_endpoint_takes_none(server: OpenAiServer) -> None:
    server.refuses = frozenset({"json_schema"})
    client = client_of(server, attempts=1)
    first, second = await ask(client), await ask(client)
    asked = [body.get("response_format", {}).get("type") for body in server.bodies]
    assert asked == ["json_schema", None, None], "the client remembers"
    assert (first.answer, first.calls, second.calls) == (second.answer, 2, 1)


async def test_a_compressed_reply_is_refused(server: OpenAiServer) -> None:
    server.always = Act(Do.COMPRESS)
    failed = await failure(client_of(server))
    assert (failed.outcome, len(server.bodies)) == ("server-error", 1)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Do.BREAK_JSON, "no complete JSON object"),
        (Do.TRUNCATE, "cut off"),
        (Do.WRONG_SCHEMA, "'why' is a required property"),
        (Do.LIE, "fits does not fit the schema's 'enum'"),
        (Do.NO_CHOICES, "empty"),
        (Do.NO_CONTENT, "empty"),
    ],
)
async def test_an_unusable_reply_is_corrected_once(server: OpenAiServer, bad: Do, reason: str) -> None:
    calls: list[CallRecord] = []
    server.then(bad)
    reply = await ask(client_of(server, calls))
    assert reply.calls == 2
    assert reply.answer["fits"] == "yes"
    assert [call.outcome for call in calls] == [Outcome.INVALID_REPLY, Outcome.OK]
    assert reply.prompt_tokens == sum(call.prompt_tokens for call in calls)
    first, second = server.prompts
    assert second.startswith(first)
    assert 0 < len(second) - len(first) <= 300
    assert reason in second
    assert "made: up" not in second, "it quotes nothing of the reply"

    server.always = Act(bad)
    assert (await failure(client_of(server, attempts=1))).outcome == "invalid-reply"
    assert len(server.bodies) == 4


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (Act(Do.RATE_LIMIT), "rate-limited"),
        (Act(Do.FAIL, status=408), "timeout"),
        (Act(Do.FAIL, status=409), "server-error"),
        (Act(Do.FAIL, status=500), "server-error"),
        (Act(Do.FAIL, status=503), "server-error"),
        (Act(Do.RESET), "connection"),
        (Act(Do.NOT_JSON), "server-error"),
    ],
)
async def test_temporary_failures_are_retried(server: OpenAiServer, act: Act, outcome: str) -> None:
    calls: list[CallRecord] = []
    server.then(act, act)
    assert (await ask(client_of(server, calls))).calls == 3
    assert [call.outcome.value for call in calls] == [outcome, outcome, "ok"]

    server.always = act
    assert (await failure(client_of(server))).outcome == outcome
    assert len(server.bodies) == 6


@pytest.mark.parametrize("act", [Act(delay=600.0), Act(Do.DRIP, status=200)])
async def test_a_slow_endpoint_times_out_even_if_it_drips(server: OpenAiServer, act: Act) -> None:
    """The client's own record counts: on a busy machine a call may time out before the endpoint sees it."""
    server.always = act
    calls: list[CallRecord] = []
    assert (await failure(client_of(server, calls, timeout_seconds=0.2, attempts=2))).outcome == "timeout"
    assert [call.outcome for call in calls] == [Outcome.TIMEOUT, Outcome.TIMEOUT]


async def test_retry_after_delays_the_retry(server: OpenAiServer) -> None:
    server.then(Act(Do.RATE_LIMIT, retry_after="0.5"))
    await ask(client_of(server, retry_seconds=5.0))
    assert server.times[1] - server.times[0] >= 0.5


@given(st.one_of(st.none(), st.text(max_size=40), st.floats().map(str)))
def test_any_retry_after_header_is_read(value: str | None) -> None:
    seconds = retry_after(value)
    assert seconds is None or seconds >= 0


async def test_a_call_never_exceeds_the_worst_case(server: OpenAiServer) -> None:
    server.always = Act(delay=600.0)
    server.then(Do.LIE, Act(Do.RATE_LIMIT, retry_after="900"))
    calls: list[CallRecord] = []
    client = client_of(server, calls, timeout_seconds=0.2, attempts=2, retry_seconds=0.3)
    began = time.monotonic()
    await failure(client)
    # Every call times out, and every pause is the longest.
    assert time.monotonic() - began < 3 * 0.2 + 2 * 0.3 + WAIT_SECONDS
    assert len(calls) <= 3


@pytest.mark.parametrize("act", [Act(delay=600.0), Act(Do.RATE_LIMIT, retry_after="600")])
async def test_cancellation_passes_through_calls_and_pauses(server: OpenAiServer, act: Act) -> None:
    calls: list[CallRecord] = []
    server.always = act
    asking = asyncio.create_task(ask(client_of(server, calls, timeout_seconds=900.0, retry_seconds=900.0)))
    await until(lambda: bool(server.bodies))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(server.bodies) == 1


async def test_neither_prompts_nor_keys_are_logged(server: OpenAiServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server.then(Act(Do.FAIL), Do.LIE)
    await ask(client_of(server))
    server.always = Act(Do.FAIL, status=400)
    failed = await failure(client_of(server))
    told = caplog.text + str(failed) + repr(failed.__cause__)
    assert "secret" not in told


async def test_redirects_are_not_followed(server: OpenAiServer) -> None:
    async with OpenAiServer() as elsewhere:
        server.always = Act(Do.REDIRECT, location=elsewhere.base_url + "/chat/completions")
        failed = await failure(client_of(server))
        assert (failed.outcome, failed.detail) == ("client-error", "HTTP 307 (1 calls)")
        assert (len(server.bodies), len(elsewhere.bodies)) == (1, 0)


@pytest.mark.parametrize("status", [200, 400])
async def test_an_endless_reply_is_cut_off(server: OpenAiServer, status: int) -> None:
    server.always = Act(Do.FLOOD, status=status)
    failed = await failure(client_of(server, timeout_seconds=WAIT_SECONDS))
    assert failed.outcome == "server-error"
    assert "4,194,304 bytes" in failed.detail
    assert len(server.bodies) == 1


async def test_credentials_in_the_address_replace_the_key(server: OpenAiServer) -> None:
    await ask(client_of(server, base_url=f"http://key:p%40ss@127.0.0.1:{server.port}/v1"))
    assert server.headers[0]["Authorization"] == aiohttp.encode_basic_auth("key", "p@ss")


async def test_the_environments_proxy_is_used(server: OpenAiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
    monkeypatch.setenv("no_proxy", "inside.invalid")

    def client(host: str) -> LlmClient:
        return client_of(server, base_url=f"http://{host}/v1", timeout_seconds=WAIT_SECONDS, attempts=1)

    assert (await ask(client("outside.invalid"))).calls == 1
    assert server.headers[0]["Host"] == "outside.invalid"
    assert (await failure(client("inside.invalid"))).outcome == "connection"


async def test_credentials_never_come_from_netrc(
    server: OpenAiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ann password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    await ask(client_of(server))
    assert server.headers[0]["Authorization"] == "Bearer sk-secret"


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "judged": {"$ref": "#/$defs/judged"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/word"}, "minItems": 1},
    },
    "required": ["n", "judged", "list"],
    "additionalProperties": False,
    "$defs": {
        "word": {"type": "string", "enum": ["a", "b"]},
        "judged": {"type": "object", "properties": {"w": {"$ref": "#/$defs/word"}}, "required": ["w"]},
    },
}

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["a", "b", "c", ""]))
WORDS = st.one_of(st.just("a"), SCALARS)
NEARLY = st.fixed_dictionaries(
    {
        "n": st.one_of(st.integers(-5, 5), SCALARS),
        "judged": st.one_of(st.fixed_dictionaries({"w": WORDS}, optional={"more": SCALARS}), SCALARS),
        "list": st.one_of(st.lists(WORDS, max_size=3), SCALARS),
    },
    optional={"extra": SCALARS},
)


@given(NEARLY)
def test_a_reply_is_accepted_if_and_only_if_it_fits_the_schema(value: dict[str, Any]) -> None:
    if jsonschema.Draft202012Validator(NESTED).is_valid(value):
        assert read(json.dumps(value), NESTED) == value
    else:
        with pytest.raises(BadReply):
            read(json.dumps(value), NESTED)


def test_long_values_are_cut_to_size() -> None:
    wordy = {"why": "w" * 500, "fits": "no", "best": ["c", "b", "a"]}
    assert read(json.dumps(wordy), SCHEMA) == {"why": "w" * 40, "fits": "no", "best": ["c", "b"]}


def test_errors_do_not_quote_the_model() -> None:
    with pytest.raises(BadReply) as caught:
        read('{"why": "x", "fits": "maybe-secret", "best": [], "secret-name": 1}', SCHEMA)
    assert "secret" not in str(caught.value)


def test_size_bounds_are_removed_at_every_depth() -> None:
    schema = {
        "properties": {"maxItems": {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 1}}},
        "$defs": {"x": {"type": "string", "maxLength": 3}},
    }
    assert without_sizes(schema) == {
        "properties": {"maxItems": {"type": "array", "items": {"type": "string"}}},
        "$defs": {"x": {"type": "string"}},
    }

"""Events over HTTP: what is taken, what is refused, what Kafka gets, and what is told of a batch before it is sent."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import APP_TOPICS, TOPICS, BadRecord, decode, encode
from streams.http.events import check_event
from streams.http.limits import BATCH_EVENTS
from streams.http.problems import Problem
from streams.http.replies import EventSender
from streams.kafka.clients import partition_of
from streams.settings import Settings
from tests.unit.http.http_world import Reply, Served, Tokens, settings_of

NOW = datetime.now(UTC)
A = {"item_id": "arrival", "title": "Arrival", "metadata": {"genres": ["Sci-Fi"], "year": 2016}}
B = {"item_id": "up", "title": "Up", "metadata": {"genres": ["Animation"]}}


class Kafka:
    """In place of the sender: keeps what it is given, or fails."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.is_there = True

    async def send(self, events: list[Any]) -> None:
        if not self.is_there:
            raise Problem(503, "send the same again")
        self.sent += events

    def close(self) -> None:
        """Nothing to end."""


class World:
    def __init__(self, served: Served, tokens: Tokens, kafka: Kafka) -> None:
        self.served, self.kafka, self.tokens = served, kafka, tokens
        self.token = tokens.make("produce", user="*")
        self.of_ann = tokens.make("produce", user="ann")
        self.reader = tokens.make("read-all")

    def send(self, *events: Any, token: str = "", path: str = "/v1/events") -> Reply:
        self.kafka.sent.clear()
        body = json.dumps({"events": events}).encode()
        return self.served.request(path, token or self.token, "POST", body)

    def lint(self, *events: Any) -> list[dict[str, Any]]:
        reply = self.send(*events, path="/v1/events/lint")
        assert (reply.status, self.kafka.sent) == (200, [])
        results: list[dict[str, Any]] = reply.body["results"]
        return results


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tokens = Tokens(tmp_path_factory.mktemp("events"))
    with Served(settings_of(tokens)) as served:
        kafka: Any = Kafka()
        served.api.sender = kafka
        yield World(served, tokens, kafka)


def an_event(topic: str, event_id: str = "e1", **more: Any) -> dict[str, Any]:
    known = {"event_id": event_id, "occurred_at": NOW.isoformat(), "user_id": "ann", **more}
    return {"topic": topic, "event": {name: value for name, value in known.items() if value is not None}}


def a_ranking(name: str = "r1", *items: Any, **more: Any) -> dict[str, Any]:
    shown = list(items) or [A, B]
    return an_event("rankings", f"of-{name}", domain="films", ranking_id=name, candidates=shown, **more)


def a_selection(name: str = "r1", item: str | None = "arrival", **more: Any) -> dict[str, Any]:
    return an_event("selections", f"from-{name}", ranking_id=name, item_id=item, **more)


class FakeProducer:
    def __init__(self) -> None:
        self.records: list[tuple[Any, ...]] = []

    def produce(self, *record: Any, on_delivery: Any) -> None:
        self.records.append(record)
        on_delivery(None, None)

    def poll(self, _: float) -> None:
        """Nothing is left to report."""


def test_events_reach_kafka_in_the_form_of_the_pipeline(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    item = an_event("items", "i", user_id=None, domain="films", item=A)
    reply = world.send(a_ranking(), a_selection(user_id="bob"), item)

    assert (reply.status, reply.body["accepted"], reply.body["refused"]) == (200, 3, 0)
    assert [each["status"] for each in reply.body["results"]] == ["accepted"] * 3
    producer, sender = FakeProducer(), EventSender(Settings())
    monkeypatch.setattr("streams.http.replies.Producer", lambda _: producer)
    asyncio.run(sender.send(world.kafka.sent))
    sender.close()
    expected = (("rankings", "ann"), ("selections", "bob"), ("items", "arrival"))
    assert producer.records == [
        (f"sager.{base}", encode(event), key.encode(), partition_of(key, Settings().partitions))
        for (base, key), event in zip(expected, world.kafka.sent, strict=True)
    ]


def test_invalid_events_are_refused_one_by_one_without_quoting_values(world: World) -> None:
    ahead = (NOW + timedelta(hours=1)).isoformat()
    deep = {"item_id": "a", "metadata": {"secret": [[[[[[1]]]]]]}}
    bad = [
        a_ranking("r2", {"item_id": "x" * 300, "secret-name": 1}),
        an_event("rankings", "secret-3", domain="SECRET", ranking_id="r", candidates=[A, A]),
        an_event("skills", "e4"),
        {"topic": "selections"},
        "secret-5",
        a_selection("r6", occurred_at=ahead),
        a_selection("r7", schema_version=1_234),
        an_event("feedback", "e8", domain="films", item=A, signal="rated", value=99),
        an_event("feedback", "e9", domain="films", item=deep, signal="liked"),
        an_event("feedback", "e10", domain="films", item={"item_id": "a", "metadata": {"n": 2**64}}, signal="liked"),
        a_selection("r11", skill_version=2**63),
    ]  # fmt: skip
    reply = world.send(a_selection(), *bad)

    results = reply.body["results"]
    assert (reply.status, reply.body["accepted"], reply.body["refused"]) == (200, 1, len(bad))
    assert len(world.kafka.sent) == 1
    told = [[each["field"] for each in result["errors"]] for result in results[1:]]
    assert [fields[0] for fields in told] == [
        "candidates.0.item_id", "domain", "topic", "", "", "occurred_at", "schema_version", "event", "item.metadata",
        "item.metadata", "skill_version",
    ]  # fmt: skip
    errors = json.dumps([result["errors"] for result in results[1:]]).lower()
    assert [value for value in ("secret", "99", "1234") if value in errors] == []


def test_a_persons_token_sends_their_events_only(world: World) -> None:
    item = an_event("items", "i", user_id=None, domain="films", item=A)
    reply = world.send(a_selection(), a_selection("r2", user_id="bob"), item, token=world.of_ann)

    assert [each["status"] for each in reply.body["results"]] == ["accepted", "refused", "refused"]
    assert [each["errors"][0]["field"] for each in reply.body["results"][1:]] == ["user_id", "topic"]
    assert [each.user_id for each in world.kafka.sent] == ["ann"]
    assert world.send(a_selection(), token=world.reader).status == 403
    assert world.send(a_selection(), token=world.reader, path="/v1/events/lint").status == 403
    assert world.kafka.sent == []


def test_an_outage_gets_503_and_the_batch_can_be_sent_again(world: World) -> None:
    world.kafka.is_there = False
    try:
        reply = world.send(a_selection())
    finally:
        world.kafka.is_there = True

    assert (reply.status, reply.body["detail"]) == (503, "send the same again")
    assert world.send(a_selection()).body["accepted"] == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"events": []}', 422),
        (b'{"events": {}}', 422),
        (b'{"events": [], "more": 1}', 422),
        (b'{"events": [NaN]}', 400),
        (b'{"events": ' + b"[" * 2_000 + b"]" * 2_000 + b"}", 400),
        (json.dumps({"events": [0] * (BATCH_EVENTS + 1)}).encode(), 422),
        (b'{"events": [' + b"[]," * 100_000 + b"0]}", 422),
    ],
)
def test_a_malformed_batch_is_refused(world: World, body: bytes, status: int) -> None:
    for path in ("/v1/events", "/v1/events/lint"):
        assert world.served.request(path, world.token, "POST", body).status == status


@pytest.mark.parametrize(
    ("scope", "size", "status"),
    [("produce", 2**20 + 1, 413), ("produce", 2**20, 400), ("read-slim", 2**15, 413), ("", 2**15, 401)],
)
def test_only_a_token_that_sends_events_may_send_a_large_body(world: World, scope: str, size: int, status: int) -> None:
    token = world.tokens.make(scope, user="*") if scope else ""

    assert world.served.request("/v1/events", token, "POST", b"x" * size).status == status


def test_lint_lists_the_lessons_of_a_batch(world: World) -> None:
    choice, ranking, late, bare, unknown, known, item = world.lint(
        a_selection(),
        a_ranking("r1", A, {**B, "genre": "Animation"}, instruction="mail me at ann@example.org"),
        a_selection("r9"),
        a_ranking("r3", {"item_id": "x"}),
        an_event("feedback", "f", domain="films", item=A, signal="shared"),
        a_ranking("r4", {"item_id": A["item_id"]}),
        an_event("items", user_id=None, domain="films", item=A),
    )

    assert choice["teaches"] == [
        "counts preference:genre:sci-fi: a line once choices prove it",
        "counts criterion:era:2010s: a line once choices prove it",
        "counts criterion:year:2016-releases: a line once choices prove it",
        "counts preference:genre:animation: a line once choices prove it",
    ]
    assert ranking["teaches"] == ["waits for its selection"]
    assert any("its words: e-mail" in each for each in ranking["warnings"])
    assert any("outside the contract are dropped: 'genre'" in each for each in ranking["warnings"])
    assert late["teaches"] == ["waits for its ranking"]
    assert bare["warnings"] == ["1 of 1 items are ids alone: the topic items must have them"]
    assert (known["warnings"], item["teaches"]) == ([], ["nothing by itself: lists may name it by its id alone"])
    assert unknown["warnings"] == ["changes nothing: unknown-signal"]


def test_lint_lists_a_visit_and_the_errors_of_a_refused_event(world: World) -> None:
    item = {"item_id": "a", "metadata": {"genres": ["Drama"]}}
    visit, refused = world.lint(an_event("interactions", domain="films", item=item), an_event("items"))

    assert visit["teaches"] == ["a visit, counted in the history that a skill begins with: genre drama"]
    assert (refused["teaches"], [each["field"] for each in refused["errors"]]) == ([], ["domain", "item"])


def a_turn(turn: int, text: str = "", role: str = "user", **more: Any) -> dict[str, Any]:
    return an_event("utterances", f"t{turn}", conversation_id="c1", turn=turn, text=text, role=role, **more)


def test_lint_lists_the_lines_of_a_card_that_a_turn_changes(world: World) -> None:
    likes, asks, hates, question = world.lint(
        a_turn(0, "I love jazz."),
        a_turn(1, "Anything else?", role="assistant"),
        a_turn(2, "I can't stand jazz."),
        a_turn(3, "What time is it?", ends=True),
    )

    assert likes["teaches"] == ["added: likes jazz"]
    assert asks["teaches"] == ["no lasting preference by rules"]
    assert hates["teaches"] == ["added: does not like jazz"]
    assert question["teaches"] == ["no lasting preference by rules"]


def test_lint_quotes_no_private_detail(world: World) -> None:
    [told] = world.lint(a_turn(0, "I love jazz. Write to anna@example.org, my IBAN is DE89370400440532013000."))

    assert told["teaches"] == ["added: likes jazz"]
    assert told["warnings"][0].startswith("the privacy filter removes from its words: ")
    assert not any("example" in warning for warning in told["warnings"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
topics = st.sampled_from((*APP_TOPICS, "skills", ""))
names = st.sampled_from(sorted({name for base in APP_TOPICS for name in TOPICS[base].model.model_fields}))
good = st.sampled_from(
    [
        a_ranking(),
        a_selection(),
        a_selection(none_taken=True, item=None),
        an_event("items", user_id=None, domain="films", item=A),
        an_event("interactions", domain="films", item=B),
        an_event("rank-requests", domain="films", request_id="q", candidates=[A], clarify=True),
        an_event("feedback", domain="films", item=A, signal="rated", value=3, scale=[0, 10]),
        an_event(
            "corrections", domain="films", directives=[{"stance": "avoids", "dimension": "genre", "value": "horror"}]
        ),
        an_event("utterances", conversation_id="c1", turn=0, text="I'm vegetarian."),
    ]
)


def changed(entry: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {"topic": entry["topic"], "event": {**entry["event"], **changes}}


nearly_good = st.builds(changed, good, st.dictionaries(names, json_values, max_size=2))
any_entry = json_values | st.fixed_dictionaries({"topic": topics | json_values, "event": json_values}) | nearly_good


@given(st.lists(any_entry, max_size=6))
def test_check_event_never_raises_and_accepts_the_events_that_workers_accept(entries: list[Any]) -> None:
    for entry in entries:
        each = check_event(entry, lambda user: True, NOW)
        json.dumps(each.outcome)
        if each.event is not None:
            assert each.topic is not None
            assert decode(each.topic.model, encode(each.event)) == each.event
            assert decode(each.topic.model, json.dumps(entry["event"]).encode()) == each.event
        elif each.topic is not None and each.outcome["errors"][0]["field"] != "occurred_at":
            with pytest.raises(BadRecord):
                decode(each.topic.model, json.dumps(entry["event"]).encode())

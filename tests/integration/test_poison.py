"""Hostile records of every kind among good ones, on every input topic (invariant 9)."""

import os
import random
from collections import Counter

import orjson
import pytest

from schemas import CONSUMED_TOPICS, TOPICS, DeadLetter, SkillDiff
from tests.builders import slate
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.broker, pytest.mark.thorough]

PER_TOPIC = int(os.environ.get("SAGER_TEST_POISON", "48"))
GOOD_EVERY = max(4, PER_TOPIC // 250)
INPUTS = (*CONSUMED_TOPICS, "items")
NEARLY_A_MEBIBYTE = 1024 * 1024 - 8_000


def poison(kind: int, rng: random.Random) -> bytes:  # noqa: PLR0911
    """One record that no topic takes."""
    body = {"event_id": f"p{rng.random()}", "occurred_at": "2026-01-01T00:00:00Z", "user_id": "mallory"}
    match kind % 8:
        case 0:
            return rng.randbytes(rng.randint(1, 2_000))
        case 1:
            return orjson.dumps({**body, "domain": "films"})[: rng.randint(1, 60)]
        case 2:
            return orjson.dumps({**body, "user_id": 7, "item": [], "candidates": "all", "occurred_at": {}})
        case 3:
            return b'{"a":' * 2_000 + b"1" + b"}" * 2_000
        case 4:
            return orjson.dumps({**body, "schema_version": 99})
        case 5:
            return b"\xff\xfe" + orjson.dumps(body)
        case 6:
            return orjson.dumps({**body, "domain": "films", "item": {"item_id": "x" * 10_000}, "item_id": 1.5})
        case _:
            return b"null"


@pytest.mark.on("kafka")
def test_poison_is_kept_with_its_bytes_and_good_events_go_on(harness: Harness) -> None:
    worker, materializer = harness.worker(), harness.materializer()
    rng = random.Random(4)
    sent: dict[tuple[str, int, int], bytes] = {}

    def remember(error: object, message: object) -> None:
        assert error is None
        sent[message.topic(), message.partition(), message.offset()] = message.value()  # type: ignore[attr-defined]

    good = 0
    for number in range(PER_TOPIC):
        for base in INPUTS:
            value = poison(number, rng) if number else rng.randbytes(NEARLY_A_MEBIBYTE)
            # Kafka itself refuses a record without a key on a compacted topic.
            keyless = [b""] if TOPICS[base].compact else [None, b""]
            key = rng.choice([*keyless, b"\xff\xfe", b"mallory", b"k" * 3_000])
            while True:
                try:
                    harness.raw.produce(harness.settings.topic(base), value, key, on_delivery=remember)
                except BufferError:
                    harness.raw.poll(0.5)
                else:
                    break
        if number % GOOD_EVERY == 0:
            ranking = harness.events.ranking(f"user-{number % 7}", "films", slate(number))
            harness.events.selection(ranking, slate(number)[1]["item_id"])
            good += 1
    harness.raw.flush(60)
    harness.events.flush()

    total = PER_TOPIC * len(INPUTS)
    outputs = harness.count(DeadLetter, total, WAIT_SECONDS + total / 20)
    harness.count(SkillDiff, good, WAIT_SECONDS + good / 5)
    harness.quiet()

    letters = {(l.source.topic, l.source.partition, l.source.offset): l for l in outputs.dead_letters}  # noqa: E741
    assert set(letters) == set(sent)
    assert all(letters[where].value == value for where, value in sent.items())
    reasons = Counter(letter.reason for letter in letters.values())
    assert set(reasons) <= {"not-json", "invalid", "unknown-version", "empty"}
    versioned = [base for base in INPUTS if "schema_version" in TOPICS[base].model.model_fields]
    assert reasons["unknown-version"] == len(versioned) * len([n for n in range(1, PER_TOPIC) if n % 8 == 4])
    assert len(outputs.diffs) == good
    assert worker.poll() is None
    assert materializer.poll() is None
    harness.assert_all_stores_agree()

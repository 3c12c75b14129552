"""What a choice costs on Kafka, counted: messages and bytes do not depend on how busy the machine is."""

import zlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from cramjam import zstd

from benchmarks.choice import calls
from benchmarks.learner import INPUTS, Learner
from benchmarks.running import choices
from operators.tokens import count_tokens
from schemas import TOPICS, Model, PolicySkill, Ranking, Selection, SlimSkill
from tests.fake_log import PREFIX, FakeDeployment, FakeLog, position, settings_in
from tests.harness import by_bytes

USERS, EACH = 6, 15
MESSAGES_PER_CHOICE = 15
BYTES_PER_CHOICE, STORED_PER_CHOICE = 35_000, 6_700
BYTES_PER_CHOICE_OF_THE_GRAPH = 8_500
CALLS_PER_CHOICE, VALIDATIONS_PER_CHOICE = 4_200, 10
"""Of functions, those of C included; and of pydantic's validators in Python. A line of a skill needs no validation."""
BATCH = 4
"""Records that a worker sends at once, at a high rate: for skills they are fewer, for other topics more."""
OF_THE_GRAPH = {"memories", "item-touches", "item-memories"}


async def _choose(log: FakeLog, deployment: FakeDeployment) -> None:
    count_tokens("the vocabulary is loaded before anything is waited for")
    worker = deployment.worker()
    for number, choice in enumerate(choices(USERS * EACH, USERS)):
        log.put_all([by_bytes(Ranking, choice.ranking), by_bytes(Selection, choice.selection)])
        if number % USERS == USERS - 1:
            await worker.quiet()


async def test_a_choice_writes_few_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the graph, every item written as soon as it has heard of a choice: a worker in use writes items less often.

    Keys and values, as `bytes_per_contrast` of `benchmarks.throughput` counts them, and their compressed batches.
    """
    deployment = FakeDeployment(settings_in(tmp_path, fan_out=5, support_floor=3), monkeypatch)
    await _choose(deployment.log, deployment)

    records = defaultdict[str, list[bytes]](list)
    for record in deployment.log.order:
        records[record.topic.removeprefix(PREFIX)].append((record.key or b"") + (record.value or b""))
    sizes = Counter({base: sum(map(len, held)) for base, held in records.items()})
    stored = Counter({base: _stored(base, held) for base, held in records.items()})
    count = USERS * EACH
    assert len(deployment.log.diffs) == count
    assert deployment.log.count().total() / count <= MESSAGES_PER_CHOICE, deployment.log.count()
    assert sizes.total() / count <= BYTES_PER_CHOICE, sizes
    assert stored.total() / count <= STORED_PER_CHOICE, stored
    assert sum(sizes[base] for base in OF_THE_GRAPH) / count <= BYTES_PER_CHOICE_OF_THE_GRAPH, sizes
    await deployment.close()


def _stored(base: str, records: list[bytes]) -> int:
    """The size of a topic's records in batches, compressed as the registry has it, or with gzip's lowest level."""
    batches = (b"".join(records[start : start + BATCH]) for start in range(0, len(records), BATCH))
    is_zstd = TOPICS[base].compression == "zstd"
    return sum(len(zstd.compress(batch) if is_zstd else zlib.compress(batch, 1)) for batch in batches)


async def test_a_plain_loop_learns_the_same_as_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing follows from comparing what they cost."""
    deployment = FakeDeployment(settings_in(tmp_path, propagate=False), monkeypatch)
    await _choose(deployment.log, deployment)
    learner, state = Learner(), dict[tuple[str, bytes], Model]()
    made = Counter[str]()

    for record in list(deployment.log.order):
        base = record.topic.removeprefix(PREFIX)
        if base in INPUTS:
            made.update(output.base for output in learner.on_record(base, record.value or b"", position(record), state))

    skills = {key: value for (base, key), value in state.items() if base == "skills"}
    wanted = deployment.log.newest(PolicySkill)
    assert {key: skill.attributes for key, skill in skills.items() if isinstance(skill, PolicySkill)} == {
        key: skill.attributes for key, skill in wanted.items()
    }
    written = deployment.log.count()
    assert made == +Counter({base: written[base] for base in ("contrasts", "skill-diffs", SlimSkill.TOPIC)})
    await deployment.close()


def test_a_choice_calls_few_functions_and_validates_few_models(tmp_path: Path) -> None:
    counted = calls(users=10, rounds=8, folder=tmp_path)

    assert counted["python"] + counted["c"] <= CALLS_PER_CHOICE
    assert counted["validate_python"] <= VALIDATIONS_PER_CHOICE

"""What a choice costs on Kafka, counted: messages and bytes do not depend on how busy the machine is."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.choices import choices
from benchmarks.learner import INPUTS, Learner
from operators.tokens import count_tokens
from schemas import Model, PolicySkill, Ranking, Selection, SlimSkill
from tests.fake_log import PREFIX, FakeDeployment, FakeLog, position, settings_in
from tests.harness import by_bytes

USERS, EACH = 6, 15
MESSAGES_PER_CHOICE = 15
BYTES_PER_CHOICE = 16_500
BYTES_PER_CHOICE_OF_THE_GRAPH = 4_500
OF_THE_GRAPH = {"memories", "item-touches", "item-memories"}


async def _choose(log: FakeLog, deployment: FakeDeployment) -> None:
    """The benchmarks' choices, some at a time, so that none is waited for long."""
    count_tokens("the vocabulary is loaded before anything is waited for")
    worker = deployment.worker()
    for number, choice in enumerate(choices(USERS * EACH, USERS)):
        log.put_all([by_bytes(Ranking, choice.ranking), by_bytes(Selection, choice.selection)])
        if number % USERS == USERS - 1:
            await worker.quiet()


async def test_what_a_choice_writes_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the graph, every item written as soon as it has heard of a choice: a worker in use writes items less often.

    Keys and values, as `bytes_per_contrast` of `benchmarks.throughput` counts them.
    """
    deployment = FakeDeployment(settings_in(tmp_path, fan_out=5, support_floor=3), monkeypatch)
    await _choose(deployment.log, deployment)

    sizes = Counter[str]()
    for record in deployment.log.order:
        sizes[record.topic.removeprefix(PREFIX)] += len(record.key or b"") + len(record.value or b"")
    count = USERS * EACH
    assert len(deployment.log.diffs) == count
    assert deployment.log.count().total() / count <= MESSAGES_PER_CHOICE, deployment.log.count()
    assert sizes.total() / count <= BYTES_PER_CHOICE, sizes
    assert sum(sizes[base] for base in OF_THE_GRAPH) / count <= BYTES_PER_CHOICE_OF_THE_GRAPH, sizes
    await deployment.close()


async def test_a_plain_loop_learns_what_the_worker_learns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert made == {base: written[base] for base in ("contrasts", "skill-diffs", SlimSkill.TOPIC)}
    await deployment.close()

"""What a choice costs on Kafka, counted: messages and bytes do not depend on how busy the machine is."""

from collections import Counter
from pathlib import Path

import pytest

from benchmarks.choices import choices
from benchmarks.learner import INPUTS, Learner
from operators.rank.features import Spoken
from operators.tokens import count_tokens
from schemas import Model, PolicySkill, Ranking, RankRequest, Selection, SlimSkill
from tests.fake_log import PREFIX, FakeDeployment, FakeLog, position, settings_in
from tests.harness import by_bytes

USERS, EACH = 6, 15
MESSAGES_PER_CHOICE = 15
BYTES_PER_CHOICE = 16_500
BYTES_PER_CHOICE_OF_THE_GRAPH = 4_500
BYTES_PER_OUTCOME = 350
BYTES_OF_FEATURES = 600
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


async def test_what_a_choice_tells_of_weights_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a ranking of ours, beyond what it costs anyway: features on their way to the choice, and one outcome."""
    told = await _ranked(tmp_path / "told", monkeypatch)
    monkeypatch.setattr(Spoken, "told", lambda *_: None)
    silent = await _ranked(tmp_path / "silent", monkeypatch)

    more = {base: (told[base] - silent[base]) / (USERS * EACH) for base in ("rankings", "contrasts", "open-rankings")}
    assert silent["outcomes"] == 0
    assert 0 < told["outcomes"] / (USERS * EACH) <= BYTES_PER_OUTCOME
    assert 0 < sum(more.values()) <= BYTES_OF_FEATURES, more


async def _ranked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Bytes by topic, where the worker ranks what is chosen from."""
    deployment = FakeDeployment(settings_in(folder), monkeypatch)
    count_tokens("the vocabulary is loaded before anything is waited for")
    worker, log, sizes = deployment.worker(), deployment.log, Counter[str]()
    for number, choice in enumerate(choices(USERS * EACH, USERS)):
        shown = by_bytes(Ranking, choice.ranking)
        asked = {"event_id": f"q{number}", "request_id": shown.ranking_id, "occurred_at": shown.occurred_at}
        whose = {"user_id": shown.user_id, "domain": shown.domain}
        log.put(RankRequest(**asked, **whose, candidates=shown.candidates))
        log.put(by_bytes(Selection, choice.selection))
        if number % USERS == USERS - 1:
            await worker.quiet()
    for record in log.order:
        sizes[record.topic.removeprefix(PREFIX)] += len(record.key or b"") + len(record.value or b"")
    await deployment.close()
    return sizes


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

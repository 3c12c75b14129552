"""`kill -9` at random moments under load: nothing lost, nothing twice (invariants 1, 2 and 3)."""

import random
import shutil
import time

import pytest

from schemas import SkillDiff
from streams.settings import Store
from tests.conftest import APACHE
from tests.faults.load import Load, Talk
from tests.faults.oracle import Run, assert_heard, assert_the_graph_knows_each_choice_once, assert_undisturbed, times
from tests.harness import Harness
from tests.openai_server import Act, OpenAiServer, threaded

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.timeout(1_800)]

BROKER = "Apache Kafka" if APACHE else "embedded"
STORE = Store.ROCKSDB if APACHE else Store.MEMORY
"""Stores on disk need a broker that tells the true end of a topic."""


def wait_for_a_new_diff(harness: Harness) -> float:
    """Seconds until a worker's work is seen again, not counting what the last one did."""
    began = time.monotonic()
    while harness.poll(0.0):
        pass
    before = len(harness.outputs.records.get(SkillDiff.TOPIC, []))
    harness.until(lambda out: len(out.records.get(SkillDiff.TOPIC, [])) > before, "a new diff")
    return time.monotonic() - began


def test_kill_9_of_the_only_worker(harness: Harness) -> None:
    """At any moment of its life: while it starts, joins, recovers its tables, works; its disk kept or wiped."""
    rng, kills = random.Random(50), times(short=2, full=3)
    run = Run("kill -9 of the only worker, rules", BROKER, kills)
    harness.materializer()
    with Load(harness.settings, per_second=12) as load:
        worker = harness.worker(store=STORE)
        run.recovery_seconds.append(wait_for_a_new_diff(harness))
        for number in range(kills):
            # Every third dies before it could do anything, the others at work.
            if number % 3 == 1:
                time.sleep(rng.uniform(0.2, 6.0))
            else:
                run.recovery_seconds.append(wait_for_a_new_diff(harness))
                time.sleep(rng.random())
            harness.kill(worker)
            if number % 2:
                shutil.rmtree(harness.settings.data_dir / "worker" / "worker", ignore_errors=True)
            worker = harness.worker(store=STORE)

    outputs = assert_undisturbed(harness, run, load.rankings, load.selections)
    assert_the_graph_knows_each_choice_once(outputs, load.choices)


@pytest.mark.thorough
def test_kill_9_while_people_talk(harness: Harness) -> None:
    """Signals, corrections and lists of which nothing is taken: each is heard, once, and kept in every store."""
    rng, kills = random.Random(54), times(short=2, full=3)
    run = Run("kill -9 of the only worker, signals and words", BROKER, kills)
    harness.materializer()
    with Talk(harness.settings, per_second=12) as talk:
        worker = harness.worker(store=STORE)
        for number in range(kills):
            run.recovery_seconds.append(wait_for_a_new_diff(harness))
            time.sleep(rng.random())
            harness.kill(worker)
            if number % 2:
                shutil.rmtree(harness.settings.data_dir / "worker" / "worker", ignore_errors=True)
            worker = harness.worker(store=STORE)

    assert_heard(harness, run, talk.told)


@pytest.mark.thorough
def test_kill_9_among_three_workers(harness: Harness) -> None:
    """One dies while the others work, rebalance, or start themselves."""
    rng, kills = random.Random(51), times(short=1, full=2)
    run = Run("kill -9 of one of three workers, rules", BROKER, kills)
    harness.materializer()
    with Load(harness.settings, per_second=12) as load:
        workers = {name: harness.peer(name) for name in ("w0", "w1", "w2")}
        wait_for_a_new_diff(harness)
        for _ in range(kills):
            time.sleep(rng.uniform(0.0, 4.0))
            name = rng.choice(list(workers))
            harness.kill(workers[name])
            workers[name] = harness.peer(name)
        run.recovery_seconds.append(wait_for_a_new_diff(harness))

    outputs = assert_undisturbed(harness, run, load.rankings, load.selections)
    assert_the_graph_knows_each_choice_once(outputs, load.choices)


@pytest.mark.thorough
def test_kill_9_with_llm_calls_in_flight(harness: Harness) -> None:
    """The calls of the dead are made again; what they would have answered is not missed, and not applied twice."""
    rng, kills = random.Random(52), times(short=1, full=2)
    run = Run("kill -9 of the only worker, LLM calls in flight", BROKER, kills)
    with threaded(OpenAiServer(always=Act(delay=0.3), keep=False)) as server:
        llm = {"reasoner": "llm", "llm_base_url": server.base_url, "llm_attempts": 2, "gate": False}
        harness.materializer()
        with Load(harness.settings, per_second=12) as load:
            worker = harness.worker(**llm)
            for _ in range(kills):
                run.recovery_seconds.append(wait_for_a_new_diff(harness))
                harness.until(lambda _: server.in_flight > 0, "calls in flight")
                time.sleep(rng.random() * 0.3)
                harness.kill(worker)
                worker = harness.worker(**llm)

        outputs = assert_undisturbed(harness, run, load.rankings, load.selections, by_rules=False)
    assert_the_graph_knows_each_choice_once(outputs, load.choices)
    assert {diff.reasoned_by.reasoner for diff in outputs.diffs} == {"llm"}


@pytest.mark.thorough
def test_kill_9_of_the_materializer(harness: Harness) -> None:
    """The file is intact after each, and holds each row once at the end."""
    rng, kills = random.Random(53), times(short=3, full=5)
    run = Run("kill -9 of the materializer", BROKER, kills)
    with Load(harness.settings, per_second=25) as load:
        harness.worker()
        materializer = harness.materializer()
        wait_for_a_new_diff(harness)
        for _ in range(kills):
            time.sleep(rng.uniform(0.1, 2.5))
            harness.poll()
            harness.kill(materializer)
            materializer = harness.materializer()

    assert_undisturbed(harness, run, load.rankings, load.selections)

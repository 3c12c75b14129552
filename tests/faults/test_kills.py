"""`kill -9` at random moments under load: nothing lost, nothing twice (invariants 1, 2 and 3)."""

import random
import shutil
import signal
import time

import pytest

from schemas import SkillDiff
from tests.conftest import APACHE
from tests.faults.load import Load, Talk
from tests.faults.oracle import (
    Run,
    assert_heard,
    assert_undisturbed,
    times,
)
from tests.harness import Harness
from tests.openai_server import Act, OpenAiServer, threaded

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.timeout(1_800)]

BROKER = "Apache Kafka" if APACHE else "embedded"
STORE = "rocksdb" if APACHE else "memory"
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

    load.assert_undisturbed(harness, run)


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

    load.assert_undisturbed(harness, run)


@pytest.mark.thorough
def test_kill_9_with_llm_calls_in_flight(harness: Harness) -> None:
    """The calls of the dead are made again; what they would have answered is not missed, and not applied twice."""
    rng, kills = random.Random(52), times(short=1, full=2)
    run = Run("kill -9 of the only worker, LLM calls in flight", BROKER, kills)
    with threaded(OpenAiServer(always=Act(delay=0.3), keep=False)) as server:
        llm = {"reasoner": "llm", "llm_base_url": server.base_url, "llm_attempts": 2}
        harness.materializer()
        with Load(harness.settings, per_second=12) as load:
            worker = harness.worker(**llm)
            for _ in range(kills):
                run.recovery_seconds.append(wait_for_a_new_diff(harness))
                harness.until(lambda _: server.in_flight > 0, "calls in flight")
                time.sleep(rng.random() * 0.3)
                harness.kill(worker)
                worker = harness.worker(**llm)

        outputs = load.assert_undisturbed(harness, run, by_rules=False)
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


@pytest.mark.thorough
def test_workers_join_leave_and_die(harness: Harness) -> None:
    rng, rounds = random.Random(60), times(short=1, full=1)
    run = Run("three workers: join, leave, die", BROKER, 4 * rounds)
    harness.materializer()
    with Load(harness.settings, per_second=15) as load:
        working = {"w0": harness.peer("w0")}
        wait_for_a_new_diff(harness)
        for turn in range(rounds):
            for name in (f"w1-{turn}", f"w2-{turn}"):
                working[name] = harness.peer(name)
                time.sleep(rng.uniform(0, 4))
            leaves, dies = rng.sample(list(working), 2)
            harness.has_started(leaves)
            assert harness.stop(working.pop(leaves)) == 0
            time.sleep(rng.uniform(0, 3))
            harness.kill(working.pop(dies))
            run.recovery_seconds.append(wait_for_a_new_diff(harness))

    load.assert_undisturbed(harness, run)


@pytest.mark.thorough
def test_a_frozen_worker_that_resumes_writes_nothing_stale(harness: Harness) -> None:
    """A stopped virtual machine, a long pause: the others have taken over, and it does not know that yet."""
    rounds = times(short=1, full=1)
    run = Run("worker frozen for longer than its session, then resumed", BROKER, rounds)
    harness.materializer()
    with Load(harness.settings, per_second=15) as load:
        workers = [harness.peer("w0"), harness.peer("w1")]
        wait_for_a_new_diff(harness)
        time.sleep(6)
        for turn in range(rounds):
            frozen = workers[turn % 2]
            frozen.send_signal(signal.SIGSTOP)
            try:
                time.sleep(harness.settings.session_seconds + 6)
                run.recovery_seconds.append(wait_for_a_new_diff(harness))
            finally:
                frozen.send_signal(signal.SIGCONT)
            time.sleep(6)

    load.assert_undisturbed(harness, run, may_arrive_late=True)

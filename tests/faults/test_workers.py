"""Workers that join, leave, die and freeze under load: partitions move, and every user's order holds."""

import random
import signal
import time

import pytest

from tests.faults.load import Load
from tests.faults.oracle import Run, assert_the_graph_knows_each_choice_once, assert_undisturbed, times
from tests.faults.test_kills import BROKER, wait_for_a_new_diff
from tests.harness import Harness

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(1_800)]


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

    outputs = assert_undisturbed(harness, run, load.rankings, load.selections)
    assert_the_graph_knows_each_choice_once(outputs, load.choices)


def test_a_frozen_worker_that_comes_back_writes_nothing_stale(harness: Harness) -> None:
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

    outputs = assert_undisturbed(harness, run, load.rankings, load.selections, may_arrive_late=True)
    assert_the_graph_knows_each_choice_once(outputs, load.choices)

"""The worker as a Faust app: Faust's own commands, and a user's own agent, table, topic and timer beside ours."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from streams.kafka.clients import client_config, no_group
from streams.local.children import environment, open_log
from tests.builders import slate
from tests.harness import Harness
from tests.waiting import until

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker]

GUIDE = Path(__file__).parents[2] / "docs" / "extending.md"
EVERY = 10
"""A report comes with every tenth version."""


class Extended:
    def __init__(self, harness: Harness, folder: Path) -> None:
        [code] = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        (folder / "changes.py").write_text(code.replace("interval=60", "interval=0.2"), encoding="utf-8")
        self.harness, self._log = harness, harness.settings.data_dir / "worker.log"
        self._environment = environment(harness.settings)
        self._environment["PYTHONPATH"] = os.pathsep.join([str(folder), self._environment["PYTHONPATH"]])
        self._rankings = 0

    def command(self, app: str, *args: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-P", "-m", "faust", "-A", app, *args]
        return subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def worker(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", "faust", "-A", "changes", "worker", "-l", "info"]
        with open_log(self._log) as log:
            started = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        self.harness.processes.append(started)
        return started

    def logged(self, text: str) -> bool:
        return text in self._log.read_text(errors="replace")

    def choose(self, times: int) -> None:
        for _ in range(times):
            shown = slate(self._rankings)
            self.harness.events.selection(self.harness.events.ranking("ann", "films", shown), shown[0]["item_id"])
            self._rankings += 1
        self.harness.events.flush()


class Reports:
    def __init__(self, harness: Harness) -> None:
        settings, self.found = harness.settings, list[Any]()
        self._consumer = Consumer(client_config(settings, **no_group("reports")))
        topic, partitions = settings.topic("reports"), range(settings.partitions)
        self._consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])

    def read(self) -> list[bytes]:
        while (message := self._consumer.poll(0.1)) is not None:
            if message.error() is None:
                self.found.append(message.value())
        return self.found


def output(command: subprocess.Popen[str]) -> str:
    printed, _ = command.communicate(timeout=120)
    assert command.returncode == 0, printed
    return printed


def test_fausts_commands_and_a_users_own_agent_table_topic_and_timer_work(harness: Harness, tmp_path: Path) -> None:
    extended, topic = Extended(harness, tmp_path), harness.settings.topic
    first = extended.worker()
    agents, tables = extended.command("changes", "agents"), extended.command("streams.worker.app", "tables")
    listed, held = output(agents), output(tables)
    assert {"contrast-rankings", "evolve", "propagate", "rank"} <= set(re.findall(r"@([\w-]+)", listed))
    assert f"{topic('contrasts')}, {topic('feedback')}" in listed
    assert {"open-rankings", "skills", "conversations"} <= set(re.findall(r"^\| ([\w-]+)", held, re.MULTILINE))

    extended.choose(EVERY)
    reports = Reports(harness)
    until(lambda: reports.read() == [b'{"person":"ann","versions":10}'], "the first report", harness.logs)
    until(lambda: extended.logged("counted 10 versions"), "the timer", harness.logs)

    sent = extended.command("changes", "send", "@report", '{"person": "bob", "versions": 0}')
    assert harness.stop(first) == 0
    extended.worker()
    assert "topic_partition" in output(sent)
    extended.choose(EVERY)
    again = {b'{"person":"ann","versions":20}', b'{"person":"bob","versions":0}'}
    until(lambda: set(reports.read()[1:]) == again, "the table to be recovered", harness.logs)

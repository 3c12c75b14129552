"""Security of the wire, against an Apache Kafka that wants TLS and passwords; and what must never be told."""

import json
import re
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiokafka
import pytest
from aiokafka.client import AIOKafkaClient
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from benchmarks.surroundings import reached_as
from infra.kafka.kafka import Kafka
from infra.kafka.secured import Secured, authority
from sager_client import SlimSkills
from schemas import SkillDiff, SlimSkill
from streams.exceptions import KafkaRefused
from streams.kafka.clients import reach
from streams.local.broker import free_port
from streams.local.children import environment
from streams.settings import Settings
from streams.worker.create import credentials
from tests.builders import slate
from tests.conftest import APACHE, a_deployment, sasl_user, where_kafka_starts
from tests.harness import Harness
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.broker
secured_kafka = pytest.mark.skipif(not APACHE, reason="the embedded broker knows neither TLS nor SASL")

PASSWORD, KEY_PASSWORD = "marked-kafka-password", "marked-key-password"
LLM_KEY, LLM_URL_KEY = "marked-llm-key", "marked-llm-url-key"
SECRETS = (PASSWORD, KEY_PASSWORD, LLM_KEY, LLM_URL_KEY)


@dataclass(frozen=True)
class Cluster:
    """A cluster with a plain listener and secured ones, and the files to use them."""

    kafka: Kafka
    files: Secured
    stranger: Path
    """The certificate of an authority that has signed nothing here."""

    def user(self, **more: Any) -> dict[str, Any]:
        return {**sasl_user(self.kafka.secured, self.files, "sager"), **more}

    def certificate(self) -> dict[str, Any]:
        """Settings of a client certificate, to put on top of others."""
        return {
            "kafka_ssl_certificate": self.files.certificate,
            "kafka_ssl_key": self.files.key,
            "kafka_ssl_key_password": KEY_PASSWORD,
        }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("secured")
    with where_kafka_starts():
        files = Secured(folder / "pem", {"sager": PASSWORD}, KEY_PASSWORD)
        kafka = Kafka(log=folder / "kafka.log", secured=files)
    with kafka:
        yield Cluster(kafka, files, authority(folder, "stranger"))


def sager(*args: str, settings: Settings) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "streams.cli", *args],
        env={**environment(settings), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )


def choose(harness: Harness, times: int) -> None:
    for number in range(times):
        shown = slate(number % 4)
        ranking = harness.events.ranking(f"user-{number % 4}", "films", shown)
        harness.events.selection(ranking, shown[0]["item_id"])
    harness.events.flush()


# --- it works


@secured_kafka
def test_the_pipeline_runs_over_tls_with_a_password(cluster: Cluster, tmp_path: Path) -> None:
    settings = a_deployment(tmp_path, **cluster.user())

    with Harness(settings) as harness:
        harness.worker()
        harness.materializer()
        choose(harness, 48)  # twelve by each of four people: a line must prove itself
        outputs = harness.count(SkillDiff, 48)
        harness.count(SlimSkill, 4)
        with SlimSkills(connection=reached_as(settings)) as slim:
            known = len(slim)
        topics = sager("topics", "--json", settings=settings)
        harness.assert_all_stores_agree()

    assert outputs.dead_letters == []
    assert known
    assert topics.returncode == 0, topics.stderr
    assert {topic["state"] for topic in json.loads(topics.stdout)} == {"ok"}


@secured_kafka
@pytest.mark.seldom
def test_the_pipeline_runs_with_a_client_certificate(cluster: Cluster, tmp_path: Path) -> None:
    """On a listener that lets nobody in without one."""
    settings = a_deployment(
        tmp_path,
        bootstrap=cluster.kafka.mutual,
        kafka_security_protocol="SSL",
        kafka_ssl_ca=cluster.files.ca,
        **cluster.certificate(),
    )

    with Harness(settings) as harness:
        harness.worker()
        harness.materializer()
        choose(harness, 4)
        harness.count(SkillDiff, 4)
        harness.assert_all_stores_agree()


# --- it does not, and says why


@secured_kafka
def test_a_certificate_must_bear_the_name_that_we_connect_to(cluster: Cluster) -> None:
    by_name = cluster.kafka.secured.replace("127.0.0.1", "localhost")

    with pytest.raises(KafkaRefused, match="host names in SAGER_BOOTSTRAP"):
        reach(Settings(**cluster.user(bootstrap=by_name)), 15)
    _, seen = reach(Settings(**cluster.user(bootstrap=by_name, kafka_ssl_verify_hostname=False)), 15)

    assert len(seen.brokers) == 1


@secured_kafka
@pytest.mark.seldom
async def test_fausts_client_verifies_authority_and_name_too(cluster: Cluster) -> None:
    by_name = cluster.kafka.secured.replace("127.0.0.1", "localhost")
    for given in ({"kafka_ssl_ca": cluster.stranger}, {"bootstrap": by_name}):
        settings = Settings(**cluster.user(**given))
        shown = credentials_to_aiokafka_auth(credentials(settings))
        fausts = AIOKafkaClient(bootstrap_servers=settings.bootstrap, **shown)
        with pytest.raises(aiokafka.errors.KafkaConnectionError):
            await fausts.bootstrap()
        await fausts.close()


# --- what is never told


@secured_kafka
def test_secrets_appear_in_no_output(cluster: Cluster, tmp_path: Path) -> None:
    """Not in logs at DEBUG, metrics, command lines, `sager config`, dead letters or any other record, nor in errors."""
    troubles = [*[Act(Do.FAIL, status=400)] * 4, Act(Do.FAIL), Act(Do.RESET), Act(Do.NOT_JSON), Act(Do.BREAK_JSON)]
    with threaded(OpenAiServer()) as server:
        server.then(*troubles)
        settings = a_deployment(
            tmp_path,
            **cluster.user(),
            **cluster.certificate(),
            log_level="DEBUG",
            reasoner="llm",
            on_llm_failure="dead-letter",
            llm_base_url=server.base_url.replace("://", f"://key:{LLM_URL_KEY}@"),
            llm_api_key=LLM_KEY,
            llm_attempts=1,
            llm_retry_seconds=0.1,
        )
        told = {}
        with Harness(settings) as harness:
            ports = {"worker": free_port(), "materialize": free_port()}
            for verb, port in ports.items():
                process = harness.start(verb, metrics_port=port)
                told[f"command line of {verb}"] = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            harness.raw.produce(settings.topic("items"), b"{", b"item", partition=0)
            harness.raw.flush(10)
            choose(harness, 20)
            harness.until(
                lambda out: len(out.records.get("skill-diffs", [])) + len(out.dead_letters) >= 21, "all choices", 90
            )
            harness.duckdb("SELECT count(*) FROM dead_letters", lambda rows: bool(rows and rows[0][0]))
            for verb, port in ports.items():
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                    told[f"metrics of {verb}"] = answer.read()
            for command in ("config", "config --json", "topics", "slim user-1"):
                done = sager(*command.split(), settings=settings)
                told[command] = (done.stdout + done.stderr).encode()
            for name, value in (("kafka_ssl_ca", cluster.stranger), ("partitions", 3)):
                done = sager("topics", settings=settings.model_copy(update={name: value}))
                assert done.returncode == 1
                told[f"topics with wrong {name}"] = (done.stdout + done.stderr).encode()
            for process in list(harness.processes):
                harness.stop(process)
            outputs = harness.quiet()
        for base, records in outputs.records.items():
            told[f"records of {base}"] = b"\n".join((m.key() or b"") + (m.value() or b"") for m in records)
        for verb in ports:
            told[f"log of {verb}"] = (settings.data_dir / f"{verb}.log").read_bytes()

    assert server.bodies
    assert {letter.stage for letter in outputs.dead_letters} >= {"evolve", "materialize"}
    assert b" DEBUG " in told["log of worker"]
    assert b"**********" in told["config"]
    assert b"sager_llm_calls_total" in told["metrics of worker"]
    assert [(where, secret) for where, text in told.items() for secret in SECRETS if secret.encode() in text] == []


# --- who can listen in


LISTENING = "0A"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc")
def test_processes_listen_on_the_loopback_by_default(harness: Harness) -> None:
    port, open_port = free_port(), free_port()
    worker = harness.worker(metrics_port=port)
    materializer = harness.start("materialize", metrics_port=open_port, metrics_host="0.0.0.0")
    for each in (port, open_port):
        harness.until(lambda _, each=each: _answers(each), f"metrics on {each}")

    assert {host for host, _ in _listeners(worker.pid)} == {"127.0.0.1"}
    assert ("0.0.0.0", open_port) in _listeners(materializer.pid)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _listeners(pid: int) -> set[tuple[str, int]]:
    """On what a process listens: its sockets, looked up in the kernel's tables. IPv6 addresses stay in hexadecimal."""
    links = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    inodes = {match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", link))}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTENING and rest[5] in inodes:
                host, port = local.split(":")
                address = socket.inet_ntoa(bytes.fromhex(host)[::-1]) if table == "tcp" else host
                found.add((address, int(port, 16)))
    return found

"""The containers of the Helm chart and of docker-compose.yml as processes of this machine."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.surroundings import reached_as
from infra import chart
from infra.compose import ROOT, DidNotRun, Running
from sager_client import EventProducer
from streams.http import tokens
from streams.local.broker import free_port
from streams.local.demo import catalogue
from streams.settings import Settings
from tests.waiting import WAIT_SECONDS, until

pytestmark = [pytest.mark.broker, pytest.mark.on("embedded")]
HELM = chart.helm() or ""
EXAMPLE = chart.CHART.parent / "examples" / "minimal.yaml"
SECRET_FILES, VOLUME = "/run/secrets/sager", "/var/lib/sager"


class Cluster:
    """The containers of a rendered chart as processes, with folders for volumes, Secrets and logs."""

    def __init__(self, documents: list[dict[str, Any]], settings: Settings, folder: Path) -> None:
        self.folder, self.ports = folder, dict[str, int]()
        kinds = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ConfigMap"}
        self._common = kinds["trial-sager-settings"]["data"]
        templates = [each["spec"]["template"] for each in documents if each["kind"] in ("StatefulSet", "Job")]
        self.containers = {raw["name"]: raw for template in templates for raw in template["spec"]["containers"]}
        self._instead = {
            "SAGER_BOOTSTRAP": settings.bootstrap,
            "SAGER_EMBEDDED": "true",
            "SAGER_PREFIX": settings.prefix,
            "SAGER_APP_ID": settings.app_id,
            # The embedded broker is one, and few partitions start faster.
            "SAGER_REPLICATION": "1",
            "SAGER_STANDBY_REPLICAS": "0",
            "SAGER_PARTITIONS": str(settings.partitions),
            "SAGER_SESSION_SECONDS": "6",
        }

    def start(self, name: str, volume: str, secrets: dict[str, str]) -> "subprocess.Popen[bytes]":
        raw, data = self.containers[name], self.folder / volume
        data.mkdir(exist_ok=True)
        values = {
            **(self._common if raw.get("envFrom") else {}),
            **{one["name"]: one.get("value") for one in raw["env"]},
        }
        values = {
            key: secrets[key.removeprefix("SAGER_").lower()] if value is None else value
            for key, value in values.items()
        }
        values |= self._instead
        for key, value in values.items():
            values[key] = value.replace(VOLUME, str(data)).replace(SECRET_FILES, str(self.folder / "secrets"))
            if key.endswith("_PORT"):
                self.ports[f"{name} {value}"] = free_port()
                values[key] = str(self.ports[f"{name} {value}"])
        machine = {key: value for key, value in os.environ.items() if not key.startswith(("SAGER_", "OPENAI_"))}
        tmp = self.folder / f"tmp-{name}"
        tmp.mkdir()
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "streams.cli", *raw["args"]],
                env={**machine, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp), **values},
                cwd=data,
                stdout=log,
                stderr=log,
            )

    def passes(self, name: str, probe: str) -> bool:
        """True if a container passes one of its probes, as for a kubelet."""
        values = self.containers[name][f"{probe}Probe"]["httpGet"]
        (port,) = [each["containerPort"] for each in self.containers[name]["ports"] if each["name"] == values["port"]]
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.ports[f'{name} {port}']}{values['path']}", timeout=5
            ) as answer:
                return 200 <= answer.status < 400
        except (urllib.error.HTTPError, OSError):
            return False

    def log(self, name: str) -> str:
        return "\n".join((self.folder / f"{name}.log").read_text(errors="replace").splitlines()[-20:])


@contextmanager
def running_cluster(cluster: Cluster, secrets: dict[str, str]) -> Iterator[dict[str, "subprocess.Popen[bytes]"]]:
    assert cluster.start("topics", "topics", secrets).wait(WAIT_SECONDS) == 0, cluster.log("topics")
    with ExitStack() as stack:
        processes = {}
        for name, volume in (("worker", "worker-0"), ("materializer", "materializer-0"), ("api", "materializer-0")):
            processes[name] = cluster.start(name, volume, secrets)
            stack.callback(processes[name].kill)
        for name, process in processes.items():
            for probe in ("startup", "liveness", "readiness"):

                def passed(name: str = name, probe: str = probe, process: "subprocess.Popen[bytes]" = process) -> bool:
                    assert process.poll() is None, cluster.log(name)
                    return cluster.passes(name, probe)

                until(passed, f"{name} to pass its {probe} probe", lambda name=name: cluster.log(name))
        yield processes


@pytest.mark.thorough
@pytest.mark.skipif(not HELM and not os.environ.get("SAGER_TEST_REQUIRE_HELM"), reason="helm is not installed")
def test_containers_of_the_chart_learn_from_a_choice_and_end_in_order(settings: Settings, tmp_path: Path) -> None:
    documents = chart.rendered(HELM, EXAMPLE, more=("--set", "worker.replicas=1,api.console=true"))
    token, entry = tokens.new_token("reader", ["read-all"], None, None)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "http_tokens").write_text(tokens.token_toml(entry), encoding="utf-8")
    (secrets / "http_tokens").chmod(0o440)
    cluster = Cluster(documents, settings, tmp_path)
    films = catalogue.load()["films"]

    with running_cluster(cluster, {"pseudonym_key": "a secret that is shared by all workers"}) as processes:
        with EventProducer(connection=reached_as(settings)) as events:
            shown = [film.model_dump() for film in films[:10]]
            events.selection(events.ranking("ann", "films", shown), films[3].item_id)
        http = cluster.ports["api 8088"]

        def skill() -> Any:
            request = urllib.request.Request(
                f"http://127.0.0.1:{http}/v1/users/ann/skills?domain=films",
                headers={"Authorization": f"Bearer {token}"},
            )
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return json.load(answer)["skills"][0]
            except (urllib.error.HTTPError, IndexError):
                return None

        assert until(skill, "the skill over HTTP", lambda: cluster.log("worker"))["version"] >= 1
        with urllib.request.urlopen(f"http://127.0.0.1:{http}/console/login", timeout=5) as page:
            assert page.status == 200
        assert (tmp_path / "materializer-0" / "data" / "sager.duckdb").is_file()
        assert any((tmp_path / "worker-0" / "data" / "worker").rglob("*.sst")) or any(
            (tmp_path / "worker-0" / "data" / "worker").rglob("CURRENT")
        ), "the tables are on the volume"
        for process in processes.values():
            process.terminate()
        assert {name: process.wait(WAIT_SECONDS) for name, process in processes.items()} == {
            "worker": 0,
            "materializer": 0,
            "api": 0,
        }


def compose_services(settings: Settings, folder: Path, **overrides: str) -> Running:
    machine = {name: value for name, value in os.environ.items() if not name.startswith(("SAGER_", "OPENAI_"))}
    return Running(
        folder=folder,
        bootstrap=settings.bootstrap,
        entry=[sys.executable, "-P", "-m", "streams.cli"],
        environment={
            **machine,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{machine['PATH']}",
            "PYTHONPATH": str(ROOT),
            "SAGER_DATA_DIR": "/var/lib/sager",
        },
        overrides={
            "SAGER_EMBEDDED": str(settings.embedded).lower(),
            "SAGER_PREFIX": settings.prefix,
            "SAGER_APP_ID": settings.app_id,
            **overrides,
        },
    )


def test_a_failed_service_is_reported_with_its_log(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(DidNotRun, match=r"topics ended with 1\n(.|\n)*SAGER_RANKER"):
        compose_services(settings, tmp_path, SAGER_RANKER="magic").all()

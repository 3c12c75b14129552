"""The Helm chart: lint, Kubernetes' own schemas, and what it says of our processes, settings, alerts and dashboards."""

import functools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import kubernetes_validate
import pytest

from infra import chart, dockerfile
from infra.chart import CHART, FILES, STRINGS
from streams import shared_settings
from streams.settings import Settings
from tests.chart_kinds import SPECS

EXAMPLES = sorted((CHART.parent / "examples").glob("*.yaml"))
VERSIONS = ("1.27.0", kubernetes_validate.latest_version())
"""The oldest that the chart takes, and the newest whose schemas there are."""
LASTING = ("worker", "materializer", "api", "webhooks")
HELM = chart.helm() or ""

needs_helm = pytest.mark.skipif(
    not HELM and not os.environ.get("SAGER_TEST_REQUIRE_HELM"), reason="helm is not installed: `make helm` makes it"
)
every_example = pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)
every_version = pytest.mark.parametrize("version", VERSIONS)


class Container(NamedTuple):
    """A container, with what is around it."""

    owner: dict[str, Any]
    pod: dict[str, Any]
    raw: dict[str, Any]
    settings: dict[str, str]

    @property
    def environment(self) -> dict[str, Any]:
        """Variable by name, with those of the ConfigMap; None for one that comes out of a Secret."""
        own = {each["name"]: each.get("value") for each in self.raw["env"]}
        return {**(self.settings if self.raw.get("envFrom") else {}), **own}

    @property
    def ports(self) -> dict[str, int]:
        return {each["name"]: each["containerPort"] for each in self.raw.get("ports", [])}


@functools.cache
def documents(values: Path, version: str = VERSIONS[0]) -> list[dict[str, Any]]:
    assert HELM, "SAGER_TEST_REQUIRE_HELM is set, and there is no helm: `make helm` makes it"
    return chart.rendered(HELM, values, version=version)


def named(values: Path, kind: str, name: str) -> dict[str, Any]:
    (found,) = [each for each in of_kind(values, kind) if each["metadata"]["name"] == f"trial-sager-{name}"]
    return found


def of_kind(values: Path, kind: str) -> list[dict[str, Any]]:
    return [each for each in documents(values) if each["kind"] == kind]


def pods(values: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for each in documents(values):
        if each["kind"] == "Pod":
            yield each, each
        elif "template" in each.get("spec", {}):
            yield each, each["spec"]["template"]


def containers(values: Path) -> dict[str, Container]:
    settings = named(values, "ConfigMap", "settings")["data"]
    return {
        raw["name"]: Container(owner, pod, raw, settings)
        for owner, pod in pods(values)
        for raw in pod["spec"]["containers"]
    }


def example(name: str) -> Path:
    return next(each for each in EXAMPLES if each.stem == name)


# --- what Kubernetes and helm say


@needs_helm
@every_example
def test_helm_lint_passes(values: Path) -> None:
    command = [HELM, "lint", "--strict", str(CHART), "--values", str(values), "--kube-version", chart.KUBERNETES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@needs_helm
@every_example
@every_version
def test_every_document_is_valid_for_kubernetes(values: Path, version: str) -> None:
    for document in documents(values, version):
        ours = SPECS.get((document["apiVersion"], document["kind"]))
        if ours is None:
            kubernetes_validate.validate(document, version, strict=True)
        else:
            jsonschema.validate(document["spec"], ours)


# --- the form of pods


@needs_helm
@every_example
def test_a_pod_has_no_more_rights_than_it_needs(values: Path) -> None:
    (user,) = dockerfile.stages(dockerfile.FILE.read_text(encoding="utf-8"))[-1].of("USER")
    for _, pod in pods(values):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        told = spec["securityContext"]
        assert told["runAsNonRoot"] is True
        assert f"{told['runAsUser']}:{told['runAsGroup']}" == user
        assert told["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert {"cpu", "memory"} <= set(container["resources"]["requests"])
            assert "memory" in container["resources"]["limits"]


@needs_helm
@every_example
def test_processes_write_only_to_volumes(values: Path) -> None:
    for name, container in containers(values).items():
        mounts = {each["mountPath"]: each for each in container.raw["volumeMounts"]}
        spec = container.owner["spec"]
        volumes = {each["name"] for each in container.pod["spec"]["volumes"]}
        claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", [])}
        assert {each["name"] for each in mounts.values()} <= volumes | claims
        assert len({each["name"] for each in container.pod["spec"]["volumes"]}) == len(container.pod["spec"]["volumes"])
        assert "/tmp" in mounts
        data = container.environment.get("SAGER_DATA_DIR")
        if name in LASTING and name != "webhooks":
            # The volume's root belongs to the node: a folder in it is the process' own, and can be closed to others.
            assert data == "/var/lib/sager/data"
            assert mounts["/var/lib/sager"].get("readOnly", False) is (name == "api")


@needs_helm
@every_example
def test_services_policies_and_budgets_find_their_pods(values: Path) -> None:
    labels = [(pod["metadata"]["labels"], pod) for _, pod in pods(values)]
    for each in documents(values):
        spec = each.get("spec", {})
        selector = spec.get("podSelector", spec.get("selector"))
        if selector is None or each["kind"] == "Job":
            continue
        wanted = selector.get("matchLabels", selector)
        found = [pod for has, pod in labels if wanted.items() <= has.items()]
        assert len(found) == 1, f"{each['kind']} {each['metadata']['name']}"
        served = {port["name"] for container in found[0]["spec"]["containers"] for port in container.get("ports", [])}
        asked = [port.get("targetPort") for port in spec.get("ports", [])]
        asked += [port["port"] for rule in spec.get("ingress", []) for port in rule["ports"]]
        asked += [point["port"] for point in spec.get("podMetricsEndpoints", [])]
        assert set(asked) <= served


# --- settings and secrets


@needs_helm
@every_example
def test_processes_can_read_their_mounted_files(values: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("SAGER_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    for container in containers(values).values():
        with monkeypatch.context() as patched:
            for name, value in container.environment.items():
                if value is not None and value.startswith("/run/secrets/"):
                    (tmp_path / Path(value).name).touch()
                    patched.setenv(name, str(tmp_path / Path(value).name))
                else:
                    patched.setenv(name, "a secret of more than thirty-two characters" if value is None else value)
            read = Settings()
        assert read.bootstrap == container.environment["SAGER_BOOTSTRAP"]
        assert read.partitions == int(container.environment["SAGER_PARTITIONS"])


OF_THE_API = {"http_tokens", "http_certificate", "http_key", "console_metrics_token"}
OWN = {
    "worker": {"chain_key", "pseudonym_key", "llm_api_key", "vouched"},
    "materializer": {"chain_key"},
    "api": {"chain_key", "pseudonym_key", "vouched", *OF_THE_API},
    "topics": set[str](),
    "webhooks": {"webhooks"},
    "doctor": {"chain_key", "pseudonym_key", "llm_api_key", "vouched"},
}


@needs_helm
@every_example
def test_a_process_gets_no_secret_that_is_not_its_own(values: Path) -> None:
    for name, container in containers(values).items():
        secret = {each.removeprefix("SAGER_").lower() for each in container.environment} & (STRINGS | FILES)
        protected = {"http_tokens"} if values.stem == "everything" and name != "topics" else set()
        assert {each for each in secret if not each.startswith("kafka_")} <= OWN[name] | protected
        assert not {f"SAGER_{each.upper()}" for each in STRINGS | FILES} & set(container.settings)


GOES_BY = {"worker": shared_settings.ALL, "materializer": shared_settings.FILTERS, "api": shared_settings.ALL}
"""The settings that a process shares with the others."""


@needs_helm
@every_example
def test_processes_have_the_same_settings_where_they_must(values: Path) -> None:
    """A materializer without the workers' key lets erased events back in."""
    found = containers(values)
    for name, theirs in GOES_BY.items():
        if name not in found:
            continue
        for setting in set(theirs) & (STRINGS | FILES):
            variable = f"SAGER_{setting.upper()}"
            assert _given(found[name], variable) == _given(found["worker"], variable), f"{name}: {variable}"
        assert found[name].settings == found["worker"].settings


def _given(container: Any, variable: str) -> Any:
    """Where a container has a variable from: a value, or the key of a Secret; None if it has none."""
    return next((each for each in container.raw["env"] if each["name"] == variable), None)


# --- what is refused


REFUSED = {
    "no broker": (("--set", "settings.bootstrap="), "name Kafka's bootstrap servers"),
    "a setting that is none": (("--set", "settings.calls_at_once=3"), "calls_at_once"),
    "a setting with a wrong value": (("--set", "settings.reasoner=magic"), "'rules', 'llm'"),
    "a value that is none": (("--set", "worker.replica=3"), "replica"),
    "a secret among the settings": (("--set", "settings.chain_key=abc"), "chain_key"),
    "more workers than partitions": (("--set", "worker.replicas=33"), "33 workers share 32 partitions"),
    "a secret of nowhere": (("--set", "existingSecret="), "name the Secret"),
    "a console without an API": (("--set", "api.enabled=false,api.console=true"), "api.console needs api.enabled"),
}


MISSING = {
    "workers without a common key": ("settings.bootstrap=kafka:9092", "openssl rand -hex 32"),
    "an API without tokens": ("settings.bootstrap=kafka:9092,worker.replicas=1", "api.enabled=false"),
}


@needs_helm
@pytest.mark.parametrize(("values", "says"), MISSING.values(), ids=MISSING)
def test_a_missing_file_is_reported_with_its_command(values: str, says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        chart.rendered(HELM, more=("--set", values))


@needs_helm
@pytest.mark.parametrize(("more", "says"), REFUSED.values(), ids=REFUSED)
def test_a_mistake_is_refused_before_anything_is_installed(more: tuple[str, ...], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        chart.rendered(HELM, example("minimal"), more=more)


# --- alerts, dashboards, autoscaling


# --- what is generated, and what is told


@pytest.mark.parametrize("path", chart.files(), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == chart.files()[path], "make it anew: python -m infra.chart"

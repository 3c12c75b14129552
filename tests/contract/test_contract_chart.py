"""The Helm chart: lint, Kubernetes' schemas, rights of pods, settings, secrets and refused values."""

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

from infra import chart, image
from infra.chart import CHART, FILES, STRINGS
from streams.http import process_health
from streams.settings import Settings
from tests.chart_kinds import SPECS

EXAMPLES = sorted((CHART.parent / "examples").glob("*.yaml"))
# The oldest supported Kubernetes, and the newest with published schemas.
VERSIONS = ("1.27.0", kubernetes_validate.latest_version())
LONG_RUNNING = ("worker", "materializer", "api", "webhooks")
HELM = chart.helm() or ""

needs_helm = pytest.mark.skipif(
    not HELM and not os.environ.get("SAGER_TEST_REQUIRE_HELM"), reason="helm is not installed: `make helm` makes it"
)
every_example = pytest.mark.parametrize("values", EXAMPLES, ids=lambda path: path.stem)
every_version = pytest.mark.parametrize("version", VERSIONS)


class Container(NamedTuple):
    owner: dict[str, Any]
    pod: dict[str, Any]
    raw: dict[str, Any]
    settings: dict[str, str]

    @property
    def environment(self) -> dict[str, Any]:
        """Return variables by name, with those of the ConfigMap; None for a Secret's."""
        own = {each["name"]: each.get("value") for each in self.raw["env"]}
        return {**(self.settings if self.raw.get("envFrom") else {}), **own}


@functools.cache
def documents(values: Path, version: str = VERSIONS[0]) -> list[dict[str, Any]]:
    assert HELM, "SAGER_TEST_REQUIRE_HELM is set, and there is no helm: `make helm` makes it"
    return chart.rendered(HELM, values, version=version)


def pods(values: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for each in documents(values):
        if each["kind"] == "Pod":
            yield each, each
        elif "template" in each.get("spec", {}):
            yield each, each["spec"]["template"]


def containers(values: Path) -> dict[str, Container]:
    (settings,) = [
        each["data"]
        for each in documents(values)
        if (each["kind"], each["metadata"]["name"]) == ("ConfigMap", "trial-sager-settings")
    ]
    return {
        raw["name"]: Container(owner, pod, raw, settings)
        for owner, pod in pods(values)
        for raw in pod["spec"]["containers"]
    }


def example(name: str) -> Path:
    return next(each for each in EXAMPLES if each.stem == name)


@needs_helm
@every_example
def test_helm_lint_passes(values: Path) -> None:
    command = [HELM, "lint", "--strict", str(CHART), "--values", str(values), "--kube-version", chart.KUBERNETES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@needs_helm
@every_example
@every_version
def test_documents_fit_the_schemas_of_kubernetes(values: Path, version: str) -> None:
    for document in documents(values, version):
        ours = SPECS.get((document["apiVersion"], document["kind"]))
        if ours is None:
            kubernetes_validate.validate(document, version, strict=True)
        else:
            jsonschema.validate(document["spec"], ours)


@needs_helm
@every_example
def test_a_pod_has_no_more_rights_than_it_needs(values: Path) -> None:
    (user,) = image.stages(image.FILE.read_text(encoding="utf-8"))[-1].of("USER")
    for _, pod in pods(values):
        spec = pod["spec"]
        assert spec["automountServiceAccountToken"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        security = spec["securityContext"]
        assert security["runAsNonRoot"] is True
        assert f"{security['runAsUser']}:{security['runAsGroup']}" == user
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
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
def test_writable_paths_are_volumes(values: Path) -> None:
    for name, container in containers(values).items():
        mounts = {each["mountPath"]: each for each in container.raw["volumeMounts"]}
        spec = container.owner["spec"]
        volumes = {each["name"] for each in container.pod["spec"]["volumes"]}
        claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", [])}
        assert {each["name"] for each in mounts.values()} <= volumes | claims
        assert len({each["name"] for each in container.pod["spec"]["volumes"]}) == len(container.pod["spec"]["volumes"])
        assert "/tmp" in mounts
        data = container.environment.get("SAGER_DATA_DIR")
        if name in LONG_RUNNING and name != "webhooks":
            # The volume's root belongs to the node; a folder in it belongs to the process, with permissions of its own.
            assert data == "/var/lib/sager/data"
            assert mounts["/var/lib/sager"].get("readOnly", False) is (name == "api")


@needs_helm
@every_example
def test_services_policies_and_budgets_select_one_pod(values: Path) -> None:
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


@needs_helm
@every_example
def test_the_settings_of_each_process_are_valid(values: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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


OF_THE_API = {"http_tokens", "http_certificate", "http_key"}
SECRETS = {
    "worker": {"chain_key", "pseudonym_key", "llm_api_key", "vouched"},
    "materializer": {"chain_key"},
    "api": {"chain_key", "pseudonym_key", "vouched", *OF_THE_API},
    "topics": set[str](),
    "webhooks": {"webhooks"},
    "doctor": {"chain_key", "pseudonym_key", "llm_api_key", "vouched"},
}


@needs_helm
@every_example
def test_a_process_gets_only_its_own_secrets(values: Path) -> None:
    for name, container in containers(values).items():
        secret = {each.removeprefix("SAGER_").lower() for each in container.environment} & (STRINGS | FILES)
        protected = {"http_tokens"} if values.stem == "everything" and name != "topics" else set()
        assert {each for each in secret if not each.startswith("kafka_")} <= SECRETS[name] | protected
        assert not {f"SAGER_{each.upper()}" for each in STRINGS | FILES} & set(container.settings)


@needs_helm
@every_example
def test_processes_share_the_settings_that_must_agree_in_the_chart(values: Path) -> None:
    # A materializer without the workers' key lets erased events back in.
    shared = {"worker": process_health.ALL, "materializer": process_health.FILTERS, "api": process_health.ALL}
    found = containers(values)
    for name in sorted(found.keys() & shared.keys()):
        theirs = shared[name]
        for setting in set(theirs) & (STRINGS | FILES):
            variable = f"SAGER_{setting.upper()}"
            assert _given(found[name], variable) == _given(found["worker"], variable), f"{name}: {variable}"
        assert found[name].settings == found["worker"].settings


def _given(container: Any, variable: str) -> Any:
    return next((each for each in container.raw["env"] if each["name"] == variable), None)


REFUSED = {
    "no broker": ("settings.bootstrap=", "name Kafka's bootstrap servers"),
    "unknown setting": ("settings.calls_at_once=3", "calls_at_once"),
    "wrong value of a setting": ("settings.reasoner=magic", "'rules', 'llm'"),
    "unknown value": ("worker.replica=3", "replica"),
    "secret among the settings": ("settings.chain_key=abc", "chain_key"),
    "more workers than partitions": ("worker.replicas=33", "33 workers share 32 partitions"),
    "no Secret": ("existingSecret=", "name the Secret"),
    "console without an API": ("api.enabled=false,api.console=true", "api.console needs api.enabled"),
}
INCOMPLETE = {
    "workers without a common key": ("settings.bootstrap=kafka:9092", "openssl rand -hex 32"),
    "API without tokens": ("settings.bootstrap=kafka:9092,worker.replicas=1", "api.enabled=false"),
}


@needs_helm
@pytest.mark.parametrize(("values", "message"), INCOMPLETE.values(), ids=INCOMPLETE)
def test_a_missing_value_is_refused_with_advice(values: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        chart.rendered(HELM, more=("--set", values))


@needs_helm
@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_value_is_refused(values: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        chart.rendered(HELM, example("minimal"), more=("--set", values))


@pytest.mark.parametrize("path", chart.files(), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == chart.files()[path], "run python -m infra.chart"

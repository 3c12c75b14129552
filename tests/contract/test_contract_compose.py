"""docker-compose.yml: what each service must have, and that everything it names is there."""

import re
from typing import Any

import pytest
import yaml

from infra.compose import EXAMPLE, FILE, ROOT, VARIABLE, Service, services, variables
from streams import agreement
from streams.settings import Settings

SERVICES = services({})
OURS = [service for service in SERVICES.values() if service.ours]
LASTING = [service for service in SERVICES.values() if service.raw["restart"] == "unless-stopped"]
WRITES_ITS_ROOT = {"kafka": "its start script writes the configuration into the image's own folders"}


def by_name(service: Service) -> str:
    return service.name


every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=by_name)


def raw() -> dict[str, Any]:
    return dict(yaml.safe_load(FILE.read_text(encoding="utf-8")))


# --- what each service has


@every_service
def test_a_service_has_no_more_rights_than_it_needs(service: Service) -> None:
    assert service.raw["user"].split(":")[0] not in ("", "0", "root")
    assert service.raw["cap_drop"] == ["ALL"]
    assert service.raw["security_opt"] == ["no-new-privileges:true"]
    assert service.raw.get("read_only", False) is (service.name not in WRITES_ITS_ROOT)
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc"} & set(service.raw)


@pytest.mark.parametrize("service", LASTING, ids=by_name)
def test_what_runs_on_has_a_health_check(service: Service) -> None:
    assert service.raw["healthcheck"]["test"][0] == "CMD"
    assert {"interval", "timeout", "retries", "start_period"} <= set(service.raw["healthcheck"])


@every_service
def test_nothing_is_listened_on_beyond_this_host(service: Service) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service.raw.get("ports", []))


@pytest.mark.parametrize("service", [s for s in OURS if s.probe], ids=by_name)
def test_there_is_time_to_finish_what_was_begun(service: Service) -> None:
    assert service.grace_seconds > float(service.environment["SAGER_SHUTDOWN_SECONDS"])


def test_the_broker_is_the_one_that_is_tested_with() -> None:
    tested = re.search(r"<kafka.version>(.+?)<", (ROOT / "infra" / "kafka" / "pom.xml").read_text(encoding="utf-8"))

    assert tested is not None
    assert SERVICES["kafka"].raw["image"] == f"apache/kafka:{tested[1]}"


# --- what it names is there


def test_prometheus_scrapes_the_ports_that_are_served() -> None:
    scraped = (ROOT / "infra" / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")

    assert f"port: {SERVICES['worker'].environment['SAGER_METRICS_PORT']}" in scraped
    assert f"materializer:{SERVICES['materializer'].environment['SAGER_METRICS_PORT']}" in scraped


# --- settings


def passed(service: Service) -> set[str]:
    return set(service.raw["environment"])


def test_processes_have_the_same_settings_where_they_must() -> None:
    """A materializer without the workers' key lets erased events back in."""
    goes_by = {"worker": agreement.ALL, "materializer": agreement.FILTERS, "http": agreement.ALL}
    wanted = {f"SAGER_{name.upper()}": f"of {name}" for name in agreement.ALL}
    given = services(wanted)

    for name, settings in goes_by.items():
        variables_of = {f"SAGER_{setting.upper()}" for setting in settings}
        assert {each: given[name].environment.get(each) for each in variables_of} == {
            each: wanted[each] for each in variables_of
        }, name


def test_keys_of_the_llm_reach_workers_alone() -> None:
    assert [service.name for service in OURS if "OPENAI_API_KEY" in passed(service)] == ["worker"]


def test_no_secret_is_written_down() -> None:
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|API_KEY|PRIVATE")
    literal = [
        f"{service.name}: {name}"
        for service in SERVICES.values()
        for name, value in service.environment.items()
        if secret.search(name) and value
    ]

    assert literal == []
    assert [name for name, value in variables().items() if secret.search(name) and value] == []


def examples() -> dict[str, str]:
    """Every line of .env.example, those too that are commented out; the first of each name."""
    found: dict[str, str] = {}
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if shown := re.fullmatch(r"(?:# )?([A-Z][A-Z0-9_]+)=(.*)", line):
            found.setdefault(shown[1], shown[2])
    return found


def test_every_variable_of_the_file_is_in_the_example_with_its_default() -> None:
    asked = {found["name"]: found["default"] for found in VARIABLE.finditer(FILE.read_text(encoding="utf-8"))}
    limits = {name: default for name, default in asked.items() if not name.startswith("SAGER_")}

    assert set(asked) <= set(examples())
    assert {name: examples()[name] for name in limits} == limits


def test_the_settings_of_the_example_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in services(variables()).values():
        for name, value in service.environment.items():
            if name.startswith("SAGER_"):
                monkeypatch.setenv(name, value)

    assert Settings().prefix == "sager."


# --- the program that reads it

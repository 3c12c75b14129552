"""Compose file, systemd units, image, lock files and workflows: rights, settings, secrets and versions."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from infra.compose import EXAMPLE, ROOT, VARIABLE, Service, services, variables
from infra.compose import FILE as COMPOSE
from infra.image import FILE, stages
from streams.cli import app
from streams.http import process_health
from streams.settings import Settings

# --- docker-compose.yml

SERVICES = services({})
OURS = [service for service in SERVICES.values() if service.ours]
LONG_RUNNING = [service for service in SERVICES.values() if service.raw["restart"] == "unless-stopped"]
# Kafka's start script writes the configuration into the image's own folders.
WRITES_ITS_ROOT = {"kafka"}


every_service = pytest.mark.parametrize("service", SERVICES.values(), ids=lambda service: service.name)


@every_service
def test_a_service_has_no_more_rights_than_it_needs(service: Service) -> None:
    assert service.raw["user"].split(":")[0] not in ("", "0", "root")
    assert service.raw["cap_drop"] == ["ALL"]
    assert service.raw["security_opt"] == ["no-new-privileges:true"]
    assert service.raw.get("read_only", False) is (service.name not in WRITES_ITS_ROOT)
    assert not {"privileged", "cap_add", "devices", "network_mode", "pid", "ipc"} & set(service.raw)


@pytest.mark.parametrize("service", LONG_RUNNING, ids=lambda service: service.name)
def test_a_long_running_service_has_a_health_check(service: Service) -> None:
    assert service.raw["healthcheck"]["test"][0] == "CMD"
    assert {"interval", "timeout", "retries", "start_period"} <= set(service.raw["healthcheck"])


@every_service
def test_ports_are_bound_to_this_host(service: Service) -> None:
    assert all(port.startswith("127.0.0.1:") for port in service.raw.get("ports", []))


@pytest.mark.parametrize("service", [s for s in OURS if s.probe], ids=lambda service: service.name)
def test_the_grace_period_covers_a_shutdown(service: Service) -> None:
    assert service.grace_seconds > float(service.environment["SAGER_SHUTDOWN_SECONDS"])


def test_prometheus_scrapes_the_metrics_ports() -> None:
    scraped = (ROOT / "infra" / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")

    assert f"port: {SERVICES['worker'].environment['SAGER_METRICS_PORT']}" in scraped
    assert f"materializer:{SERVICES['materializer'].environment['SAGER_METRICS_PORT']}" in scraped


def test_processes_share_the_settings_that_must_agree() -> None:
    # A materializer without the workers' key lets erased events back in.
    shared = {"worker": process_health.ALL, "materializer": process_health.FILTERS, "http": process_health.ALL}
    wanted = {f"SAGER_{name.upper()}": f"of {name}" for name in process_health.ALL}
    given = services(wanted)

    for name, settings in shared.items():
        variables_of = {f"SAGER_{setting.upper()}" for setting in settings}
        assert {each: given[name].environment.get(each) for each in variables_of} == {
            each: wanted[each] for each in variables_of
        }, name


def test_only_workers_get_the_llm_key() -> None:
    assert [service.name for service in OURS if "OPENAI_API_KEY" in service.raw["environment"]] == ["worker"]


def test_no_secret_has_a_literal_value() -> None:
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
    found: dict[str, str] = {}
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        if shown := re.fullmatch(r"(?:# )?([A-Z][A-Z0-9_]+)=(.*)", line):
            found.setdefault(shown[1], shown[2])
    return found


def test_the_example_lists_every_variable_with_its_default() -> None:
    defaults = {found["name"]: found["default"] for found in VARIABLE.finditer(COMPOSE.read_text(encoding="utf-8"))}
    limits = {name: default for name, default in defaults.items() if not name.startswith("SAGER_")}

    assert set(defaults) <= set(examples())
    assert {name: examples()[name] for name in limits} == limits


def test_the_settings_of_the_example_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in services(variables()).values():
        for name, value in service.environment.items():
            if name.startswith("SAGER_"):
                monkeypatch.setenv(name, value)

    assert Settings().prefix == "sager."


# --- systemd

FOLDER = ROOT / "infra" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")
# systemd-analyze rates exposure from 0 to 10, and calls up to 4.9 OK.
MAX_EXPOSURE = 1.5
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="there is no systemd on this machine")


def unit_lines(unit: Path, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)


def environment(unit: Path) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in unit_lines(unit, "Environment"))


@needs_systemd
@every_unit
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    # systemd looks for the program, which is not installed here: /bin/true replaces it.
    for each in [*UNITS, FOLDER / "sager.target"]:
        text = each.read_text(encoding="utf-8").replace("/opt/sager/bin/sager", "/bin/true")
        (tmp_path / each.name).write_text(text, encoding="utf-8")
    name = unit.name.replace("@", "@1")
    env = {"SYSTEMD_UNIT_PATH": f"{tmp_path}:", "PATH": "/usr/bin:/bin"}
    command = [str(ANALYZE), "verify", "--man=no", str(tmp_path / name)]
    checked = subprocess.run(command, capture_output=True, text=True, env=env, check=False)

    assert (checked.returncode, checked.stderr) == (0, "")

    command = [str(ANALYZE), "security", "--offline=true", "--no-pager", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    exposure = re.search(r"exposure level.*: ([\d.]+)", done.stdout)
    assert exposure is not None, done.stderr
    assert float(exposure[1]) <= MAX_EXPOSURE


@every_unit
def test_a_unit_runs_a_sager_command_as_its_own_user(unit: Path) -> None:
    command: Any = typer.main.get_command(app)
    (start,) = unit_lines(unit, "ExecStart")
    program, verb, *rest = start.split()

    assert (program, rest) == ("/opt/sager/bin/sager", [])
    assert verb in command.commands
    assert unit_lines(unit, "User") == ["sager"]
    assert "u sager " in (FOLDER / "sager.sysusers").read_text(encoding="utf-8")


def test_units_share_no_port_and_no_folder() -> None:
    ports = [environment(unit)["SAGER_METRICS_PORT"] for unit in UNITS if unit.stem != "sager-console"]
    folders = [folder for unit in UNITS for folder in unit_lines(unit, "StateDirectory")]

    assert len(set(ports)) == len(ports)
    assert len(set(folders)) == len(folders)
    assert (
        environment(FOLDER / "sager-serve.service")["SAGER_DATA_DIR"]
        in (environment(FOLDER / "sager-materializer.service")["SAGER_DATA_DIR"])
    )


# Beside the secrets of a process' Kafka user. The API and the console find erased events with the chain key.
SECRETS = {
    "worker": {"chain_key", "pseudonym_key", "llm_api_key"},
    "materializer": {"chain_key"},
    "serve": {"chain_key"},
    "console": {"chain_key"},
}
OF_KAFKA = {"kafka_sasl_password", "kafka_ssl_key_password"}


@every_unit
def test_a_unit_reads_its_own_secrets_as_credentials(unit: Path) -> None:
    name = unit.stem.removeprefix("sager-").removesuffix("@")
    sources = dict(line.split(":") for line in unit_lines(unit, "LoadCredential"))
    others = [source for each in UNITS if each != unit for source in unit_lines(each, "LoadCredential")]

    assert set(sources) == {value[3:] for value in environment(unit).values() if value.startswith("%d/")}
    assert sources["sager.toml"] == f"/etc/sager/{name}.toml"
    assert f"sager.toml:{sources['sager.toml']}" not in others


@pytest.mark.parametrize("name", SECRETS)
def test_a_secrets_file_names_only_the_secrets_of_its_process(name: str) -> None:
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    filled_in = tomllib.loads(re.sub(r"^#(?=\w+ = )", "", text, flags=re.MULTILINE))

    assert tomllib.loads(text) == {}, "an empty value would override a default"
    assert set(filled_in) == SECRETS[name] | OF_KAFKA


def test_every_secret_setting_is_in_a_secrets_file() -> None:
    secrets = {field for field, about in Settings.model_fields.items() if "SecretStr" in str(about.annotation)}

    assert secrets == OF_KAFKA.union(*SECRETS.values())


# --- the image and lock files

FIRST, LAST = stages(FILE.read_text(encoding="utf-8"))


def test_the_image_has_the_user_and_folders_of_compose() -> None:
    assert FIRST.image == LAST.image
    assert LAST.of("ENTRYPOINT") == ['["sager"]']
    assert {service.raw["user"] for service in OURS} == set(LAST.of("USER"))
    made = LAST.of("RUN")[0].partition("install -d")[2]
    writable = {target for service in OURS for _, target, fixed in service.mounts if not fixed}
    assert writable <= set(made.split())


def test_the_image_copies_every_package_of_the_wheel() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages = re.search(r"\[tool.hatch.build.targets.wheel\]\npackages = \[(.+)\]", pyproject)
    copied = {source for rest in FIRST.of("COPY") for source in rest.split()[:-1]}
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}

    assert packages is not None
    assert set(re.findall(r'"(\w+)"', packages[1])) <= copied
    assert copied == let_in


def pinned(lock: str) -> set[str]:
    return set(re.findall(r"^[\w.\[\]-]+==[\w.+]+", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE))


# Installing the developers' lock after that of the demo (run.lock) must not replace packages of a running pipeline.
@pytest.mark.parametrize("lock", ["requirements.lock", "build.lock", "run.lock"])
def test_other_locks_pin_the_tested_versions(lock: str) -> None:
    pins = pinned(f"infra/{lock}")

    assert pins
    assert pins <= pinned("requirements.lock")


READ = ["Makefile", "infra/Dockerfile", ".github/workflows/*.yml", "README.md", "docs/**/*.md", "clients/**/*.md"]
INSTALLS = re.compile(r"(?<!uv )pip install\b[^\n]*--require-hashes[^\n]*")


def installs() -> list[tuple[str, str]]:
    """Return the files and commands with which `pip` installs a lock file."""
    files = sorted({file for pattern in READ for file in ROOT.glob(pattern) if "node_modules" not in file.parts})
    return [
        (str(file.relative_to(ROOT)), found)
        for file in files
        for found in INSTALLS.findall(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize(("file", "command"), installs())
def test_pip_installs_lock_files_without_dependencies(file: str, command: str) -> None:
    # Else a new release of a package that another one needs with an extra breaks each install (pypa/pip#9644).
    assert "--no-deps" in command


# --- workflows

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_pins_its_actions_and_limits_rights_and_time(workflow: Path) -> None:
    text = workflow.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    used = [line.strip() for line in text.splitlines() if "uses:" in line]

    assert used
    assert [line for line in used if not PINNED.search(line)] == []
    assert content["permissions"] == {"contents": "read"}
    assert [job for job, body in content["jobs"].items() if "timeout-minutes" not in body] == []

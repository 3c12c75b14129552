"""The systemd units, images and lock files beside the processes, settings and packages they name."""

import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer

from infra.compose import ROOT, services
from infra.dockerfile import FILE, stages
from streams.cli import app
from streams.settings import Settings

FOLDER = ROOT / "infra" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
ANALYZE = shutil.which("systemd-analyze")
MOST_EXPOSED = 1.5
"""Of 10, as systemd-analyze counts; it calls up to 4.9 OK."""
every_unit = pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="there is no systemd on this machine")


def told(unit: Path) -> dict[str, list[str]]:
    """What a unit's lines say, by name."""
    found = defaultdict[str, list[str]](list)
    for line in unit.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith(("#", "[")):
            name, value = line.split("=", 1)
            found[name].append(value)
    return found


def environment(unit: Path) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in told(unit)["Environment"])


@needs_systemd
@every_unit
def test_systemd_finds_nothing_to_say(unit: Path, tmp_path: Path) -> None:
    """It looks for the program, which is not on this machine: another stands in."""
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
    assert float(exposure[1]) <= MOST_EXPOSED


@every_unit
def test_a_unit_runs_one_of_our_commands_as_a_user_of_its_own(unit: Path) -> None:
    command: Any = typer.main.get_command(app)
    (start,) = told(unit)["ExecStart"]
    program, verb, *rest = start.split()

    assert (program, rest) == ("/opt/sager/bin/sager", [])
    assert verb in command.commands
    assert told(unit)["User"] == ["sager"]
    assert "u sager " in (FOLDER / "sager.sysusers").read_text(encoding="utf-8")


def test_processes_of_one_machine_share_no_port_and_no_folder() -> None:
    ports = [environment(unit)["SAGER_METRICS_PORT"] for unit in UNITS if unit.stem != "sager-console"]
    folders = [folder for unit in UNITS for folder in told(unit)["StateDirectory"]]

    assert len(set(ports)) == len(ports)
    assert len(set(folders)) == len(folders)
    assert (
        environment(FOLDER / "sager-serve.service")["SAGER_DATA_DIR"]
        in (environment(FOLDER / "sager-materializer.service")["SAGER_DATA_DIR"])
    )


@every_unit
def test_secrets_come_as_credentials(unit: Path) -> None:
    given = {line.split(":")[0] for line in told(unit)["LoadCredential"]}
    read = {value.removeprefix("%d/") for value in environment(unit).values() if value.startswith("%d/")}

    assert given == read


SECRETS = {
    "worker": {"chain_key", "pseudonym_key", "llm_api_key"},
    "materializer": {"chain_key"},
    "serve": {"chain_key"},
    "console": {"chain_key", "console_metrics_token"},
}
"""The secrets that each process uses beside those of its Kafka user. The API and the console need the chain key to find
events that were forgotten."""
OF_KAFKA = {"kafka_sasl_password", "kafka_ssl_key_password"}


@every_unit
def test_a_unit_has_a_file_of_secrets_of_its_own(unit: Path) -> None:
    name = unit.stem.removeprefix("sager-").removesuffix("@")
    sources = dict(line.split(":") for line in told(unit)["LoadCredential"])
    others = [source for each in UNITS if each != unit for source in told(each)["LoadCredential"]]

    assert sources["sager.toml"] == f"/etc/sager/{name}.toml"
    assert f"sager.toml:{sources['sager.toml']}" not in others


@pytest.mark.parametrize("name", SECRETS)
def test_a_file_of_secrets_names_those_of_its_process_and_no_other(name: str) -> None:
    text = (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    filled_in = tomllib.loads(re.sub(r"^#(?=\w+ = )", "", text, flags=re.MULTILINE))
    known = {field for field, about in Settings.model_fields.items() if "SecretStr" in str(about.annotation)}

    assert tomllib.loads(text) == {}, "none has a value, and an empty one would overrule a default"
    assert set(filled_in) == SECRETS[name] | OF_KAFKA
    assert set(filled_in) <= known


def test_every_secret_setting_is_in_a_file_of_a_unit() -> None:
    known = {field for field, about in Settings.model_fields.items() if "SecretStr" in str(about.annotation)}

    assert known == set().union(*SECRETS.values(), OF_KAFKA)


FIRST, LAST = stages(FILE.read_text(encoding="utf-8"))
SERVICES = services({})
OURS = [service for service in SERVICES.values() if service.ours]


def test_the_image_runs_as_compose_has_it() -> None:
    assert FIRST.image == LAST.image
    assert LAST.of("ENTRYPOINT") == ['["sager"]']
    assert {service.raw["user"] for service in OURS} == set(LAST.of("USER"))
    made = LAST.of("RUN")[0].partition("install -d")[2]
    writable = {target for service in OURS for _, target, fixed in service.mounts if not fixed}
    assert writable <= set(made.split())


def test_the_image_has_every_package_of_the_wheel() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages = re.search(r"\[tool.hatch.build.targets.wheel\]\npackages = \[(.+)\]", pyproject)
    copied = {source for rest in FIRST.of("COPY") for source in rest.split()[:-1]}
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] == "!"}

    assert packages is not None
    assert set(re.findall(r'"(\w+)"', packages[1])) <= copied
    assert copied == let_in


@pytest.mark.parametrize("lock", ["requirements.lock", "build.lock"])
def test_the_image_gets_what_is_tested_with(lock: str) -> None:
    pins = [
        {line.partition(" ")[0] for line in file.read_text(encoding="utf-8").splitlines() if "==" in line[:60]}
        for file in (ROOT / "infra" / lock, ROOT / "requirements.lock")
    ]

    assert pins[0]
    assert pins[0] <= pins[1]


ROOT = Path(__file__).parents[2]
READ = ["Makefile", "infra/Dockerfile", ".github/workflows/*.yml", "README.md", "docs/**/*.md", "clients/**/*.md"]
INSTALLS = re.compile(r"(?<!uv )pip install\b[^\n]*--require-hashes[^\n]*")


def installs() -> list[tuple[str, str]]:
    """Where `pip` installs from a lock file, and how. `uv` reads a pin with an extra right."""
    files = sorted({file for pattern in READ for file in ROOT.glob(pattern) if "node_modules" not in file.parts})
    return [
        (str(file.relative_to(ROOT)), found)
        for file in files
        for found in INSTALLS.findall(file.read_text(encoding="utf-8"))
    ]


def test_the_lock_of_the_demo_pins_what_the_developers_lock_pins() -> None:
    """Otherwise installing the second after the first would replace packages of a running pipeline."""
    of_demo, of_developers = (
        set(re.findall(r"^[\w.-]+==[\w.]+", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE))
        for file in ("infra/run.lock", "requirements.lock")
    )

    assert of_demo
    assert of_demo <= of_developers


@pytest.mark.parametrize(("file", "command"), installs())
def test_pip_resolves_nothing_of_a_lock_file(file: str, command: str) -> None:
    """Else a new release of what another package wants with an extra ends every install (pypa/pip#9644)."""
    assert "--no-deps" in command

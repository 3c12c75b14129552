"""The images: of one release each; and ours holds what is tested, as docker-compose.yml has it."""

import re

import pytest

from infra.compose import ROOT, services
from infra.dockerfile import FILE, stages

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

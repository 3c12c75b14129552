"""The images: of one release each; and ours holds what is tested, as docker-compose.yml has it."""

import re

import pytest

from infra.compose import ROOT, services
from infra.dockerfile import FILE, stages

FIRST, LAST = stages(FILE.read_text(encoding="utf-8"))
SERVICES = services({})
OURS = [service for service in SERVICES.values() if service.ours]


def is_pinned(image: str) -> bool:
    """Whether a tag says which release: three numbers, or llama.cpp's number of a build."""
    return re.search(r":(v?\d+\.\d+\.\d+(-[\w.-]+)?|server-b\d+)$", image) is not None


@pytest.mark.parametrize("image", sorted({LAST.image} | {service.raw["image"] for service in SERVICES.values()}))
def test_an_image_is_of_one_release(image: str) -> None:
    assert is_pinned(image)


@pytest.mark.parametrize("image", ["kafka", "kafka:latest", "kafka:4", "python:3.11-slim-bookworm", "llama.cpp:server"])
def test_a_tag_that_moves_is_not_pinned(image: str) -> None:
    assert not is_pinned(image)


def test_the_image_is_the_one_that_the_release_names() -> None:
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)

    assert version is not None
    assert {service.raw["image"] for service in OURS} == {f"sager-streams:{version[1]}"}
    assert f'image.version="{version[1]}"' in LAST.of("LABEL")[0]


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


def test_an_instruction_that_the_check_would_not_carry_out_is_refused() -> None:
    with pytest.raises(ValueError, match="ADD"):
        stages("FROM python:3.11.15-slim-bookworm AS build\nADD x.tar /opt\n")

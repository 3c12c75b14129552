"""API documents match the routes; the Python and TypeScript clients match their documents."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute

from schemas.export import asyncapi
from streams.cli.output import json_text
from streams.http.openapi import PROBLEMS, ROUTERS, TAGS, document
from streams.http.tokens import Scope
from tests.contract.test_contract_docs import ROOT
from tests.contract.test_contract_layers import imports

# --- the documents

API = ROOT / "docs" / "api"
AGAIN = "make api, or without Node: sager schemas export --out docs/api --documents"


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


@pytest.mark.parametrize(("name", "make"), [("openapi.json", document), ("asyncapi.json", asyncapi)])
def test_the_committed_documents_are_current(name: str, make: Callable[[], dict[str, Any]]) -> None:
    committed = (API / name).read_text(encoding="utf-8")

    assert committed == f"{json_text(make(), 2)}\n", f"{name} is out of date: {AGAIN}"


def test_every_route_is_an_operation() -> None:
    routes = {
        (route.path_format, method.lower())
        for router in ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }

    assert {(path, method) for path, method, _ in operations()} == routes


def test_operations_have_a_summary_scopes_and_problems() -> None:
    scopes = {str(scope) for scope in Scope}
    for path, method, operation in operations():
        where = f"{method} {path}: see streams/http/openapi.py"
        assert operation["summary"], where
        assert not operation["summary"].endswith("."), where
        assert "Needs " in operation["description"], where
        assert len(operation["tags"]) == 1, where
        assert set(operation["tags"]) <= set(TAGS), where
        assert operation["responses"].keys() >= PROBLEMS.keys(), where
        assert {each for group in operation["security"] for each in group["bearer"]} <= scopes, where
        for parameter in operation.get("parameters", []):
            assert parameter.get("description"), f"{where}: {parameter['name']}"
            assert "null" not in json.dumps(parameter["schema"].get("anyOf", [])), f"{where}: {parameter['name']}"


# --- the clients

CLIENT = ROOT / "clients" / "python"
TYPESCRIPT = ROOT / "clients" / "typescript"
SCHEMAS = {path.name: path.read_bytes() for path in (ROOT / "schemas").iterdir() if path.is_file()}
DEPENDENCIES = {"confluent_kafka", "pydantic", "pydantic_core"}
HEAVY = ("duckdb", "faust", "typer", "aiokafka", "pydantic_settings", "orjson", "rich", "operators", "streams")


def build(source: Path, target: str, to: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(to)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (made,) = to.iterdir()
    return made


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(CLIENT, "sdist", folder / "made")) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("sager_client-*"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel from the source distribution alone."""
    return zipfile.ZipFile(build(sdist, "wheel", tmp_path_factory.mktemp("wheel") / "made"))


def test_the_wheel_has_the_event_models_byte_for_byte(wheel: zipfile.ZipFile) -> None:
    within = "sager_client/schemas/"

    assert {
        name.removeprefix(within): wheel.read(name) for name in wheel.namelist() if name.startswith(within)
    } == SCHEMAS


def test_the_wheel_depends_only_on_librdkafka_and_pydantic(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()

    assert set(re.findall(r"^Requires-Dist: ([\w-]+)", metadata, re.MULTILINE)) == {"confluent-kafka", "pydantic"}


@pytest.mark.parametrize("file", sorted((CLIENT / "sager_client").glob("*.py")), ids=lambda file: file.name)
def test_client_modules_import_nothing_else_of_ours(file: Path) -> None:
    absolute = {found.partition(".")[0] for found in imports(file)} - {""}

    assert absolute - set(sys.stdlib_module_names) <= DEPENDENCIES


def test_an_app_with_its_own_schemas_package_can_import_the_client(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    installed, app = tmp_path / "site", tmp_path / "app"
    wheel.extractall(installed)
    (app / "schemas").mkdir(parents=True)
    (app / "schemas" / "__init__.py").write_text("MINE = True\n")
    (app / "main.py").write_text(
        "import sys\nimport schemas\nimport sager_client\nassert schemas.MINE\n"
        "assert sager_client.Ranking.__module__ == 'sager_client.schemas.events'\n"
        f"print([name for name in {HEAVY} if name in sys.modules])\n"
    )

    done = subprocess.run(
        [sys.executable, str(app / "main.py")],
        env={**os.environ, "PYTHONPATH": str(installed)},
        cwd=app,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("package", ["schemas", "operators", "streams", "evaluation", "clients/python/sager_client"])
def test_typed_packages_have_the_marker_file(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


FOLDERS = (TYPESCRIPT, ROOT / "infra" / "api-lint", ROOT / "docs" / "examples" / "kafkajs")


def test_the_typescript_types_have_every_schema() -> None:
    document = json.loads((ROOT / "docs" / "api" / "openapi.json").read_bytes())
    types = (TYPESCRIPT / "src" / "openapi.ts").read_text(encoding="utf-8")
    schemas = types[types.index("    schemas: {") : types.index("    responses: {")]

    assert set(re.findall(r"^        (\w+): ", schemas, re.MULTILINE)) == set(document["components"]["schemas"]), (
        "make api"
    )


def test_the_typescript_readme_shows_the_tested_example() -> None:
    example = (TYPESCRIPT / "examples" / "first.mjs").read_text(encoding="utf-8")

    assert f"```js\n{example}```" in (TYPESCRIPT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_npm_packages_are_pinned_by_version_and_hash(folder: Path) -> None:
    package = json.loads((folder / "package.json").read_bytes())
    lock = json.loads((folder / "package-lock.json").read_bytes())

    for version in (package.get("dependencies", {}) | package.get("devDependencies", {})).values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), "an exact version"
    for name, each in lock["packages"].items():
        assert not name or each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, f"{name}: npm install --omit-lockfile-registry-resolved"

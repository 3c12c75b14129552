"""The TypeScript client next to what it is made of: the API's document, the signals, the Python client's version."""

import json
import re
import tomllib

import pytest

from schemas import Signal
from tests.contract.test_contract_docs import ROOT

CLIENT = ROOT / "clients" / "typescript"
PACKAGE = json.loads((CLIENT / "package.json").read_bytes())
FOLDERS = (CLIENT, ROOT / "infra" / "api-lint", ROOT / "docs" / "examples" / "kafkajs")


def test_its_types_have_every_schema_of_the_document() -> None:
    document = json.loads((ROOT / "docs" / "api" / "openapi.json").read_bytes())
    types = (CLIENT / "src" / "openapi.ts").read_text(encoding="utf-8")
    schemas = types[types.index("    schemas: {") : types.index("    responses: {")]

    again = "make api"
    assert set(re.findall(r"^        (\w+): ", schemas, re.MULTILINE)) == set(document["components"]["schemas"]), again


def test_its_signals_are_those_of_the_pipeline() -> None:
    [union] = re.findall(r"export type Signal =([^;]+);", (CLIENT / "src" / "types.ts").read_text(encoding="utf-8"))

    assert set(re.findall(r'"(\w+)"', union)) == {str(each) for each in Signal}


def test_the_example_of_its_readme_is_the_one_that_is_run() -> None:
    example = (CLIENT / "examples" / "first.mjs").read_text(encoding="utf-8")

    assert f"```js\n{example}```" in (CLIENT / "README.md").read_text(encoding="utf-8")


def test_it_has_no_dependencies_and_the_python_clients_version() -> None:
    python = tomllib.loads((ROOT / "clients" / "python" / "pyproject.toml").read_text(encoding="utf-8"))

    assert "dependencies" not in PACKAGE
    assert (PACKAGE["version"], PACKAGE["license"]) == (python["project"]["version"], "Apache-2.0")
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_installed_is_pinned_by_its_hash_wherever_it_comes_from(folder) -> None:
    package = json.loads((folder / "package.json").read_bytes())
    lock = json.loads((folder / "package-lock.json").read_bytes())

    for version in (package.get("dependencies", {}) | package.get("devDependencies", {})).values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), "an exact version"
    for name, each in lock["packages"].items():
        assert not name or each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, f"{name}: npm install --omit-lockfile-registry-resolved"

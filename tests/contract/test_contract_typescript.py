"""The TypeScript client next to what it is made of: the API's document, the signals, the Python client's version."""

import json
import re

import pytest

from tests.contract.test_contract_docs import ROOT

CLIENT = ROOT / "clients" / "typescript"
FOLDERS = (CLIENT, ROOT / "infra" / "api-lint", ROOT / "docs" / "examples" / "kafkajs")


def test_its_types_have_every_schema_of_the_document() -> None:
    document = json.loads((ROOT / "docs" / "api" / "openapi.json").read_bytes())
    types = (CLIENT / "src" / "openapi.ts").read_text(encoding="utf-8")
    schemas = types[types.index("    schemas: {") : types.index("    responses: {")]

    again = "make api"
    assert set(re.findall(r"^        (\w+): ", schemas, re.MULTILINE)) == set(document["components"]["schemas"]), again


def test_the_example_of_its_readme_is_the_one_that_is_run() -> None:
    example = (CLIENT / "examples" / "first.mjs").read_text(encoding="utf-8")

    assert f"```js\n{example}```" in (CLIENT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_installed_is_pinned_by_its_hash_wherever_it_comes_from(folder) -> None:
    package = json.loads((folder / "package.json").read_bytes())
    lock = json.loads((folder / "package-lock.json").read_bytes())

    for version in (package.get("dependencies", {}) | package.get("devDependencies", {})).values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), "an exact version"
    for name, each in lock["packages"].items():
        assert not name or each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, f"{name}: npm install --omit-lockfile-registry-resolved"

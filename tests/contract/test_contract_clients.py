"""The Python client's distribution and the TypeScript client beside the documents they come from."""

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "python"
SCHEMAS = {path.name: path.read_bytes() for path in (ROOT / "schemas").iterdir() if path.is_file()}
DEPENDENCIES = {"confluent_kafka", "pydantic", "pydantic_core"}
HEAVY = ("duckdb", "faust", "typer", "aiokafka", "pydantic_settings", "orjson", "rich", "operators", "streams")


def build(source: Path, target: str, to: Path) -> Path:
    """The archive that hatchling makes of a folder."""
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
    """The source distribution, unpacked far away from the repository."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(build(CLIENT, "sdist", folder / "made")) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("sager_client-*"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """What the source distribution gives where nothing else of the repository is."""
    return zipfile.ZipFile(build(sdist, "wheel", tmp_path_factory.mktemp("wheel") / "made"))


def test_the_wheel_has_the_event_models_byte_for_byte(wheel: zipfile.ZipFile) -> None:
    within = "sager_client/schemas/"

    assert {
        name.removeprefix(within): wheel.read(name) for name in wheel.namelist() if name.startswith(within)
    } == SCHEMAS


def test_the_wheel_needs_librdkafka_and_pydantic_only(wheel: zipfile.ZipFile) -> None:
    metadata = wheel.read(next(name for name in wheel.namelist() if name.endswith("/METADATA"))).decode()

    assert set(re.findall(r"^Requires-Dist: ([\w-]+)", metadata, re.MULTILINE)) == {"confluent-kafka", "pydantic"}


@pytest.mark.parametrize("file", sorted((CLIENT / "sager_client").glob("*.py")), ids=lambda file: file.name)
def test_a_module_imports_the_client_relatively_and_nothing_else_of_ours(file: Path) -> None:
    absolute = {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }

    assert absolute - set(sys.stdlib_module_names) <= DEPENDENCIES


def test_an_app_with_a_package_schemas_of_its_own_can_import_it(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
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
def test_a_package_that_is_typed_says_so(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


TYPESCRIPT = ROOT / "clients" / "typescript"
FOLDERS = (TYPESCRIPT, ROOT / "infra" / "api-lint", ROOT / "docs" / "examples" / "kafkajs")


def test_its_types_have_every_schema_of_the_document() -> None:
    document = json.loads((ROOT / "docs" / "api" / "openapi.json").read_bytes())
    types = (TYPESCRIPT / "src" / "openapi.ts").read_text(encoding="utf-8")
    schemas = types[types.index("    schemas: {") : types.index("    responses: {")]

    again = "make api"
    assert set(re.findall(r"^        (\w+): ", schemas, re.MULTILINE)) == set(document["components"]["schemas"]), again


def test_the_example_of_its_readme_is_the_one_that_is_run() -> None:
    example = (TYPESCRIPT / "examples" / "first.mjs").read_text(encoding="utf-8")

    assert f"```js\n{example}```" in (TYPESCRIPT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_installed_is_pinned_by_its_hash_wherever_it_comes_from(folder) -> None:
    package = json.loads((folder / "package.json").read_bytes())
    lock = json.loads((folder / "package-lock.json").read_bytes())

    for version in (package.get("dependencies", {}) | package.get("devDependencies", {})).values():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), "an exact version"
    for name, each in lock["packages"].items():
        assert not name or each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, f"{name}: npm install --omit-lockfile-registry-resolved"

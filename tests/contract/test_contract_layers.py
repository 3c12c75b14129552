"""Layers (DESIGN 5) and determinism (invariant 10), read off the source: who imports whom, who asks the clock."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"schemas", "operators", "streams", "evaluation", "infra", "benchmarks", "tests", "sager_client"}
SCHEMAS = sorted((ROOT / "schemas").rglob("*.py"))
OPERATORS = sorted((ROOT / "operators").rglob("*.py"))
# The one place that talks to a model: it waits, retries and measures time, which is what it is for.
LLM = [file for file in OPERATORS if file.is_relative_to(ROOT / "operators" / "llm")]
PURE = [file for file in OPERATORS if file not in LLM]
PRODUCT = sorted(file for folder in ("streams", "evaluation") for file in (ROOT / folder).rglob("*.py"))

IO = {
    "asyncio", "concurrent", "http", "logging", "multiprocessing", "os", "secrets", "selectors", "socket", "sqlite3",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
"""Standard modules by which a pure function would meet a clock, a chance, a network or a disk."""


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> Iterator[str]:
    """Full names of all modules that a file imports, also inside of functions."""
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level <= (1 if file in SCHEMAS else 0), f"{name(file)}: relative import"
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def packages(file: Path) -> set[str]:
    return {module.partition(".")[0] for module in imports(file)}


def third_party(file: Path) -> set[str]:
    return packages(file) - OURS - {""} - set(sys.stdlib_module_names)


def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("file", SCHEMAS, ids=name)
def test_schemas_import_nothing_of_ours(file: Path) -> None:
    # Not even themselves by name: the client's distribution carries them as `sager_client.schemas`.
    assert not packages(file) & OURS
    assert third_party(file) <= {"pydantic", "pydantic_core"}
    assert not packages(file) & IO


@pytest.mark.parametrize("file", OPERATORS, ids=name)
def test_operators_import_schemas_and_operators_only(file: Path) -> None:
    assert packages(file) & OURS <= {"schemas", "operators"}


@pytest.mark.parametrize("file", PURE, ids=name)
def test_pure_operators_know_no_kafka_no_database_and_no_network(file: Path) -> None:
    allowed = {"contacts.py": {"phonenumbers", "stdnum"}, "numbered.py": {"stdnum"}}
    assert third_party(file) <= allowed.get(file.name, {"orjson"})
    assert not packages(file) & IO
    assert not [module for module in imports(file) if module.startswith("random.")], "as `import random`, to be seen"


def test_the_product_imports_neither_its_benchmarks_nor_its_tests_nor_the_client() -> None:
    assert {name(file): packages(file) & {"benchmarks", "tests", "infra", "sager_client"} for file in PRODUCT} == {
        name(file): set() for file in PRODUCT
    }


def test_only_the_command_line_imports_the_evaluation() -> None:
    importing = [name(file) for file in PRODUCT if name(file).startswith("streams/") and "evaluation" in packages(file)]

    assert importing
    assert all(file.startswith("streams/cli/evaluation/") for file in importing)


@pytest.mark.parametrize("file", LLM, ids=name)
def test_the_llm_client_needs_three_libraries_only(file: Path) -> None:
    assert third_party(file) <= {"aiohttp", "tenacity", "orjson"}


@pytest.mark.parametrize("file", PURE, ids=name)
def test_no_operator_needs_the_llm_client(file: Path) -> None:
    """What they ask of a client is in `asks`."""
    assert not [module for module in imports(file) if module.startswith("streams.llm")]


@pytest.mark.parametrize("file", PURE, ids=name)
def test_pure_operators_never_ask_the_clock_or_chance(file: Path) -> None:
    for called, call in calls(file):
        last = called.rpartition(".")[2]
        assert last not in {"now", "utcnow", "today", "time", "monotonic", "perf_counter"}, f"{called} at {call.lineno}"
        if called.rpartition(".")[0] == "random":
            assert called == "random.Random", f"{called} at {call.lineno}"
            assert call.args, f"random.Random without a seed at {call.lineno}"
        assert called not in {"open", "print", "input", "exec", "eval", "hash", "id"}, f"{called} at {call.lineno}"


@pytest.mark.parametrize("file", PURE, ids=name)
def test_pure_operators_keep_no_state_of_their_own(file: Path) -> None:
    for node in ast.walk(tree(file)):
        assert not isinstance(node, ast.Global | ast.Nonlocal), f"{name(file)}:{node.lineno}"


def test_the_scanner_itself_sees_what_it_is_for(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    import faust\n    from datetime import datetime\n    return datetime.now()\n")

    assert packages(file) == {"faust", "datetime"}
    assert third_party(file) == {"faust"}
    assert [called for called, _ in calls(file)] == ["datetime.now"]

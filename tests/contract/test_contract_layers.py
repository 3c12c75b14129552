"""Layers (DESIGN 5) and determinism (invariant 10): which package imports which, and that operators read no clock."""

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = {"schemas", "operators", "streams", "evaluation", "infra", "benchmarks", "tests", "sager_client"}
IO = {
    "asyncio", "concurrent", "http", "logging", "multiprocessing", "os", "secrets", "selectors", "socket", "sqlite3",
    "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
"""Standard modules that give access to a clock, randomness, a network or a disk."""
CLOCKS = {"now", "utcnow", "today", "time", "monotonic", "perf_counter"}
SIDE_EFFECTS = {"open", "print", "input", "exec", "eval", "hash", "id"}
LIBRARIES = {"contacts.py": {"phonenumbers", "stdnum"}, "numbered.py": {"stdnum"}}


def files(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


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
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def packages(file: Path) -> set[str]:
    return {module.partition(".")[0] for module in imports(file)}


def third_party(file: Path) -> set[str]:
    return packages(file) - OURS - {""} - set(sys.stdlib_module_names)


def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def broken(folder: str, rule: Callable[[Path], object]) -> dict[str, object]:
    """The files of a folder for which the rule returns anything, with what it returns."""
    found = {name(file): rule(file) for file in files(folder)}
    assert found
    return {file: wrong for file, wrong in found.items() if wrong}


def impure(file: Path) -> list[str]:
    """The calls that read a clock, randomness or the outside."""
    found = []
    for called, call in calls(file):
        scope, _, last = called.rpartition(".")
        seedless = scope == "random" and (last != "Random" or not call.args)
        if last in CLOCKS or called in SIDE_EFFECTS or seedless:
            found.append(f"{called} at line {call.lineno}")
    return found


def test_schemas_import_nothing_of_ours() -> None:
    # Not even themselves by name: the client's distribution carries them as `sager_client.schemas`.
    assert not broken("schemas", lambda file: packages(file) & (OURS | IO))
    assert not broken("schemas", lambda file: third_party(file) - {"pydantic", "pydantic_core"})


def test_operators_import_schemas_and_operators_only() -> None:
    assert not broken("operators", lambda file: packages(file) & OURS - {"schemas", "operators"})


def test_operators_know_no_kafka_no_database_and_no_network() -> None:
    assert not broken("operators", lambda file: third_party(file) - LIBRARIES.get(file.name, {"orjson"}))
    assert not broken("operators", lambda file: packages(file) & IO)


def test_operators_read_no_clock_and_no_randomness() -> None:
    assert not broken("operators", impure)
    assert not broken("operators", lambda file: [each for each in imports(file) if each.startswith("random.")])


def test_operators_keep_no_state() -> None:
    changes = ast.Global | ast.Nonlocal
    assert not broken("operators", lambda file: [node for node in ast.walk(tree(file)) if isinstance(node, changes)])


def test_the_language_rules_import_nothing_of_ours() -> None:
    package = "packages/language/sager_language"
    assert not broken(package, lambda file: packages(file) & (OURS | IO))
    assert not broken(package, lambda file: third_party(file) - {"sager_language", "phonenumbers", "stdnum"})


def test_the_product_imports_neither_its_benchmarks_nor_its_tests_nor_the_client() -> None:
    for folder in ("streams", "evaluation"):
        assert not broken(folder, lambda file: packages(file) & {"benchmarks", "tests", "infra", "sager_client"})


def test_only_the_command_line_imports_the_evaluation() -> None:
    importing = broken("streams", lambda file: packages(file) & {"evaluation"})

    assert importing
    assert all(file.startswith("streams/cli/evaluation/") for file in importing)


def test_the_scanner_finds_violations(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("def f():\n    import faust\n    import random\n    from datetime import datetime\n"
                    "    random.Random()\n    return datetime.now()\n")  # fmt: skip

    assert third_party(file) == {"faust"}
    assert impure(file) == ["random.Random at line 5", "datetime.now at line 6"]

"""The layers: no package imports one above it, no module itself in a circle; each file keeps the rules of source."""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

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


PACKAGES = ("schemas", "operators", "streams", "evaluation")


def modules(root: Path) -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            found[".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = file
    return found


def imports_by_module(root: Path) -> dict[str, set[str]]:
    """Every module with the modules that it names in a `from ... import`, wherever that stands."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for module, file in known.items():
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        graph[module] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom):
                continue
            origin = ".".join(filter(None, (package if node.level else "", node.module)))
            for alias in node.names:
                target = f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in known else origin
                if target in known and target != module:
                    graph[module].add(target)
    return graph


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = imports_by_module(ROOT)

    assert len(graph) > 300
    TopologicalSorter(graph).prepare()


def test_a_circle_is_seen(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        file = tmp_path / "schemas" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"def f():\n    from schemas.{other} import g\n")

    with pytest.raises(CycleError):
        TopologicalSorter(imports_by_module(tmp_path)).prepare()


PUBLIC = [*sorted((ROOT / "schemas").rglob("*.py")), *sorted((ROOT / "operators").rglob("*.py"))]
FOLDERS = ("schemas", "operators", "streams", "evaluation", "infra", "benchmarks", "tests", "docs")
LOOSE_END = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\s*\(#\d+\))")


def undocumented(node: ast.AST, path: str) -> Iterator[str]:
    """Public modules, classes, functions and methods without a docstring."""
    assert isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if not ast.get_docstring(node):
        yield path
    if isinstance(node, ast.Module | ast.ClassDef):
        for child in node.body:
            is_definition = isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if is_definition and not child.name.startswith("_"):  # type: ignore[attr-defined]
                yield from undocumented(child, f"{path}:{child.lineno} {child.name}")  # type: ignore[attr-defined]


def test_everything_public_has_a_docstring() -> None:
    trees = {name(file): ast.parse(file.read_text(encoding="utf-8")) for file in PUBLIC}

    assert [place for file, tree in trees.items() for place in undocumented(tree, file)] == []


def test_no_loose_end_without_its_issue() -> None:
    """Write the word with the number of its issue: `(#12)`."""
    found = [
        f"{name(file)}:{number}"
        for folder in FOLDERS
        for kind in ("*.py", "*.md", "*.yml", "*.yaml", "*.toml", "*.sh")
        for file in sorted((ROOT / folder).rglob(kind))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if LOOSE_END.search(line)
    ]

    assert found == []

"""No module imports, however far round, itself: also not inside of a function."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "operators", "streams", "evaluation")


def modules(root: Path) -> dict[str, Path]:
    found = {}
    for package in PACKAGES:
        for file in sorted((root / package).rglob("*.py")):
            found[".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")] = file
    return found


def imports(root: Path) -> dict[str, set[str]]:
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
    graph = imports(ROOT)

    assert len(graph) > 300
    TopologicalSorter(graph).prepare()


def test_a_circle_is_seen(tmp_path: Path) -> None:
    for name, other in (("one", "two"), ("two", "one")):
        file = tmp_path / "schemas" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"def f():\n    from schemas.{other} import g\n")

    with pytest.raises(CycleError):
        TopologicalSorter(imports(tmp_path)).prepare()

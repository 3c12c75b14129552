"""What every reader may count on: docstrings, and no loose ends."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PUBLIC = [*sorted((ROOT / "schemas").rglob("*.py")), *sorted((ROOT / "operators").rglob("*.py"))]
FOLDERS = ("schemas", "operators", "streams", "evaluation", "infra", "benchmarks", "tests", "docs")
LOOSE_END = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\s*\(#\d+\))")


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


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

"""The code base stays within the limits of pyproject.toml."""

import ast
import asyncio
import subprocess
import tempfile
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.trace_selection import Tracer, trace

ROOT = Path(__file__).parents[2]
PRODUCT = ("schemas", "operators", "streams", "clients/python")
LISTS = {".txt", ".tsv", ".csv"}
LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["sager"]["limits"]


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(["/usr/bin/git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [file for name in listed.decode().split("\0") if name and (file := ROOT / name).is_file()]


def files(*folders: str, suffixes: set[str] | None = None) -> list[Path]:
    wanted = suffixes or {".py"}
    roots = [ROOT / folder for folder in folders]
    return [each for each in tracked() if each.suffix in wanted and any(each.is_relative_to(root) for root in roots)]


def lines(found: list[Path]) -> int:
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in found)


def long_functions() -> int:
    nodes = (node for file in files(*PRODUCT) for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum((node.end_lineno or 0) - node.lineno + 1 > 50 for node in functions)


@cache
def traced() -> Tracer:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(trace(Path(folder)))


MEASURES = {
    "product_lines": lambda: lines(files(*PRODUCT)),
    "product_files": lambda: len(files(*PRODUCT)),
    "operators_lines": lambda: lines(files("operators")),
    "worker_lines": lambda: lines(files("streams/worker", "streams/kafka")),
    "list_lines": lambda: lines(files(*PRODUCT, suffixes=LISTS)),
    "test_lines": lambda: lines(files("tests")),
    "tracked_files": lambda: len(tracked()),
    "evaluation_lines": lambda: lines(files("evaluation")),
    "benchmarks_lines": lambda: lines(files("benchmarks")),
    "modules_over_350_lines": lambda: sum(lines([file]) > 350 for file in files(*PRODUCT)),
    "functions_over_50_lines": long_functions,
    "files_of_a_selection": lambda: len(traced().files),
    "changes_of_file_of_a_selection": lambda: traced().changes,
}


def test_every_limit_has_a_measure() -> None:
    assert LIMITS.keys() == MEASURES.keys()


@pytest.mark.parametrize("name", MEASURES)
def test_the_code_base_stays_within_its_limits(name: str) -> None:
    assert MEASURES[name]() <= LIMITS[name], "remove something, or raise the limit with a reason in the commit message"

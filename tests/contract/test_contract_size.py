"""The code base stays within the limits of pyproject.toml: its size, its names and its wording."""

import ast
import asyncio
import re
import subprocess
import tempfile
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.trace_selection import Tracer, trace

ROOT = Path(__file__).parents[2]
PRODUCT = ("schemas", "operators", "streams", "clients/python")
LISTS = {".txt", ".tsv", ".csv"}
LIMITS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["sager"]["limits"]


# Phrases that make a reader search for the actor or the noun. A rise of a count is a reason to reword.
PHRASES = re.compile(
    r"\b(?:told|tells?|said|says?|nobody|somebody|anybody|whoever|anew|of which|of whom|goes by|stands for|let out)\b"
    r"|(?:^|[.:;,(] ?|\b(?:and|or|of|for|from|with|by|in|on|to) )what (?:is|are|was|has|have|a|the|it|they|one)\b",
    re.IGNORECASE | re.MULTILINE,
)


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
    functions = (node for node in trees() if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return sum((node.end_lineno or 0) - node.lineno + 1 > 50 for node in functions)


def comment_lines() -> int:
    return sum(line.lstrip().startswith("#") for file in files(*PRODUCT) for line in file.read_text().splitlines())


@cache
def trees() -> list[ast.AST]:
    return [node for file in files(*PRODUCT) for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))]


def code_phrases() -> int:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = (ast.get_docstring(node) or "" for node in trees() if isinstance(node, documented))
    return sum(len(PHRASES.findall(doc)) for doc in docs)


def docs_text() -> str:
    found = [file for file in tracked() if file.suffix == ".md" and (file.parent == ROOT or "docs" in file.parts)]
    return "\n".join(file.read_text(encoding="utf-8") for file in found)


def classes_of_one_name() -> int:
    counts = Counter(node.name for node in trees() if isinstance(node, ast.ClassDef))
    return sum(count > 1 for count in counts.values())


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
    "files_of_a_folder": lambda: max(Counter(file.parent for file in files(*PRODUCT)).values()),
    "rooms_of_streams": lambda: len({file.parent for file in files("streams")} & set((ROOT / "streams").iterdir())),
    "classes_of_one_name": classes_of_one_name,
    "lines_per_comment": lambda: lines(files(*PRODUCT)) // comment_lines(),
    "odd_phrases_of_code": code_phrases,
    "odd_phrases_of_docs": lambda: len(PHRASES.findall(docs_text())),
    "docs_words": lambda: len(docs_text().split()),
    "files_of_a_selection": lambda: len(traced().files),
    "changes_of_file_of_a_selection": lambda: traced().changes,
}


def test_every_limit_has_a_measure() -> None:
    assert LIMITS.keys() == MEASURES.keys()


@pytest.mark.parametrize("name", MEASURES)
def test_the_code_base_stays_within_its_limits(name: str) -> None:
    assert MEASURES[name]() <= LIMITS[name], "remove something, or raise the limit with a reason in the commit message"

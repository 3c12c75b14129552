"""Layers: no package imports one above it, no import circles, and callers use `operators.steps`."""

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from graphlib import TopologicalSorter
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
    given = [ROOT / folder for folder in folders]
    return sorted(file for each in given for file in ([each] if each.suffix == ".py" else each.rglob("*.py")))


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (f"{origin}{alias.name}" for alias in node.names)


def packages(file: Path) -> set[str]:
    return {module.partition(".")[0] for module in imports(file)}


def third_party(file: Path) -> set[str]:
    return packages(file) - OURS - {""} - set(sys.stdlib_module_names)


def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


def broken(folder: str, rule: Callable[[Path], object]) -> dict[str, object]:
    found = {name(file): rule(file) for file in files(folder)}
    assert found
    return {file: wrong for file, wrong in found.items() if wrong}


def impure(file: Path) -> list[str]:
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


PRODUCT = ("schemas", "operators", "streams", "evaluation")


def imports_by_module() -> dict[str, set[str]]:
    known = {
        name(file).removesuffix(".py").replace("/", ".").removesuffix(".__init__"): file for file in files(*PRODUCT)
    }
    graph: dict[str, set[str]] = {}
    for module, file in known.items():
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        absolute = (f"{package}{found}" if found.startswith(".") else found for found in imports(file))
        targets = {found if found in known else found.rpartition(".")[0] for found in absolute}
        graph[module] = targets & known.keys() - {module}
    return graph


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = imports_by_module()

    assert len(graph) > 250
    TopologicalSorter(graph).prepare()


FOLDERS = ("schemas", "operators", "streams", "evaluation", "infra", "benchmarks", "tests", "docs")
LOOSE_END = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b(?!\s*\(#\d+\))")


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


# The order of these operators is a rule, so an agent that called them itself could get it wrong.
ORDERED = {
    "operators.cards.fold": {"apply_diff"},
    "operators.cards.merge": {"apply_command", "merge_extraction"},
    "operators.evolve.proposals": {"validate"},
    "operators.graph.items": {"remember_choice"},
    "operators.learning.commands": {"resolve_command"},
    "operators.learning.corrections": {"resolve_correction", "resolve_ignored"},
    "operators.learning.feedback": {"resolve_abstention", "resolve_feedback"},
    "operators.learning.fold": {"has_learned", "initial_skill", "merge"},
    "operators.learning.prior": {"frequency_prior", "observe", "statinit"},
    "operators.learning.limits": {"fit_seed"},
    "operators.learning.tiers": {"resolve_tiers"},
    "operators.learning.update": {"resolve_choice", "resolve_visit"},
    "operators.seals": {"seal_diff"},
    "operators.slim.rules": {"slim"},
    "operators.slim.selection": {"select"},
}  # fmt: skip
# It counts all visits before any stream begins, which is no event's step.
ALLOWED = {"evaluation/community.py": {"operators.learning.prior.observe"}}


def ordered_operators(file: Path) -> set[str]:
    found = {
        f"{home}.{operator}"
        for home, operators in ORDERED.items()
        for operator in operators
        for module in imports(file)
        if module.endswith(f".{operator}") and module.startswith(f"{home}.")
    }
    return found - ALLOWED.get(name(file), set())


def test_every_ordered_operator_exists() -> None:
    missing = [
        f"{home}.{operator}"
        for home, operators in ORDERED.items()
        for operator in operators
        if not hasattr(importlib.import_module(home), operator)
    ]

    assert missing == []


@pytest.mark.parametrize("folder", ["streams/worker", "streams/operations/whatif.py", "evaluation", "benchmarks"])
def test_callers_use_the_steps_instead_of_their_operators(folder: str) -> None:
    assert broken(folder, ordered_operators) == {}, "call operators.steps instead"


@pytest.mark.parametrize(
    "caller", ["streams/worker/agents/evolve.py", "evaluation/skill_arms.py", "tests/faults/oracle.py"]
)
def test_agents_evaluation_and_oracle_run_the_same_steps(caller: str) -> None:
    assert any(module.startswith("operators.steps") for module in imports(ROOT / caller))

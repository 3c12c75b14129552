"""One step, written once (DESIGN 4): the order of an agent's work stands in `operators.steps` and nowhere else."""

from pathlib import Path

import pytest

from tests.contract.test_contract_layers import ROOT, imports, name

STEPS = {
    "operators.cards.merge.resolve_command",
    "operators.cards.merge.resolve",
    "operators.seals.seal",
    "operators.seals.seal_all",
    "operators.contrast.join_ranking",
    "operators.contrast.join_selection",
    "operators.evolve.proposals",
    "operators.erasure.said_still",
    "operators.erasure.what_remains",
    "operators.learning.tiers.fit_seed",
    "operators.learning.fold.has_learned",
    "operators.learning.fold.merge",
    "operators.learning.tiers.resolve_tiers",
    "operators.learning.feedback.resolve_abstention",
    "operators.learning.commands.resolve_command",
    "operators.learning.feedback.resolve_correction",
    "operators.learning.update.resolve_choice",
    "operators.learning.feedback.resolve_feedback",
    "operators.learning.feedback.resolve_ignored",
    "operators.learning.update.resolve_visit",
    "operators.learning.fold.initial_skill",
    "operators.graph.items.on_touch",
    "operators.graph.items.touches",
    "operators.graph.items.with_taken",
    "operators.slim.selected_lines",
    "operators.slim.slim",
    "operators.slim.extract_slim",
    "operators.statinit.observe",
    "operators.statinit.statinit",
}
"""Operators of which the order is a rule, by the name under which they are imported."""

ALLOWED = {
    # A log is rewritten, version by version: that is no event's step.
    "streams/worker/writer.py": {"operators.seals.seal_all"},
    # All visits at once, before any stream begins: no event's step.
    "evaluation/community.py": {
        "operators.graph.items.touches",
        "operators.graph.items.with_taken",
        "operators.statinit.observe",
    },
}

CALLERS = sorted(
    file
    for folder in ("streams/worker", "streams/operations/whatif", "evaluation", "benchmarks")
    for file in (ROOT / folder).rglob("*.py")
)


def parts_of_steps(file: Path) -> set[str]:
    """What a file imports of the operators that steps are made of, in whatever module of theirs they stand."""
    packages = {each.rpartition(".")[0]: set[str]() for each in STEPS}
    for each in STEPS:
        packages[each.rpartition(".")[0]].add(each.rpartition(".")[2])
    found = set()
    for module in imports(file):
        home, _, imported = module.rpartition(".")
        for package, names in packages.items():
            if imported in names and (home == package or home.startswith(f"{package}.")):
                found.add(f"{package}.{imported}")
    return found


def test_whoever_works_on_events_takes_the_steps() -> None:
    found = {name(file): parts_of_steps(file) - ALLOWED.get(name(file), set()) for file in CALLERS}

    assert {file: parts for file, parts in found.items() if parts} == {}, "call operators.steps instead"


@pytest.mark.parametrize(
    "caller", ["streams/worker/agents/evolve.py", "evaluation/skill_arms.py", "tests/faults/oracle.py"]
)
def test_they_do_take_them(caller: str) -> None:
    assert any(module.startswith(("operators.steps", "streams.steps")) for module in imports(ROOT / caller))

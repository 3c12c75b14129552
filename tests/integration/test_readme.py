"""The README's two examples, run as they stand: a choice goes in, a slim skill comes out, into a prompt."""

import re
from pathlib import Path
from typing import Any

import pytest

from schemas import SlimSkill
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

README = Path(__file__).parents[2] / "README.md"
MOST_LINES = 10


def examples() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(code: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(code, "README.md", "exec"), scope)
    return scope


@pytest.fixture
def deployment(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Harness:
    """What an app finds by its environment alone."""
    monkeypatch.setenv("SAGER_BOOTSTRAP", harness.settings.bootstrap)
    monkeypatch.setenv("SAGER_PREFIX", harness.settings.prefix)
    monkeypatch.setenv("SAGER_PARTITIONS", str(harness.settings.partitions))
    return harness


def test_each_example_has_at_most_ten_lines() -> None:
    lengths = [len(code.splitlines()) for code in examples()]

    assert len(lengths) == 2
    assert max(lengths) <= MOST_LINES


def test_the_examples_work(deployment: Harness, capsys: pytest.CaptureFixture[str]) -> None:
    produce, inject = examples()
    deployment.worker()

    # Twice, as the README says: one choice is a hypothesis, the second confirms it.
    run(produce)
    run(produce)
    (slim,) = deployment.count(SlimSkill, 1).values(SlimSkill)
    prompt = run(inject)["prompt"]

    assert slim.text == "likes: sci-fi | style: prefers 2010s"
    assert prompt.splitlines()[-1].endswith(slim.text)
    # What the README says is printed is what is printed.
    assert capsys.readouterr().out.strip() == prompt
    assert prompt in README.read_text(encoding="utf-8")

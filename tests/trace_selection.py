"""The files that one selection passes, from Kafka's bytes to the slim skill: `python -m tests.trace_selection`.

The real worker runs on the fake log. A user who has chosen before takes one more item; every call into a file of the
product counts. A change is a call into another file than the call before it.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas import Candidate, Ranking, Selection
from tests.fake_log import FakeLog, FakeWorker, settings_in

ROOT = Path(__file__).parents[1]
OURS = tuple(f"{ROOT / part}/" for part in ("schemas", "operators", "streams", "packages"))
ITEMS = [Candidate(item_id=f"i{n}", metadata={"genre": ["noir", "comedy", "western"][n % 3]}) for n in range(6)]
WARM = 8


class Tracer:
    """Counts calls by file, and changes of file."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.changes = 0
        self._last = ""

    def __call__(self, frame: Any, event: str, _: object) -> None:
        if event != "call":
            return
        name = frame.f_code.co_filename
        if not name.startswith(OURS):
            return
        self.files[name] += 1
        self.changes += name != self._last
        self._last = name


def show(log: FakeLog, number: int) -> None:
    """Put a ranking on the log."""
    items = tuple(ITEMS[number % 3 :] + ITEMS[: number % 3])
    log.put(Ranking(event_id=f"e{number}", domain="films", candidates=items, **names(number)))


def take(log: FakeLog, number: int) -> None:
    """Put the selection that answers a ranking on the log."""
    log.put(Selection(event_id=f"s{number}", item_id="i3", **names(number)))


def names(number: int) -> dict[str, Any]:
    """Return the fields that a ranking and its selection share."""
    return {"ranking_id": f"r{number}", "user_id": "ann", "occurred_at": datetime.now(UTC)}


async def trace(folder: Path) -> Tracer:
    """Return what one more choice of a known user calls."""
    log = FakeLog(settings_in(folder))
    worker = FakeWorker(log)
    for number in range(WARM):
        show(log, number)
        take(log, number)
        await worker.quiet()
    tracer = Tracer()
    show(log, WARM)
    await worker.quiet()
    take(log, WARM)
    sys.setprofile(tracer)
    await worker.quiet()
    sys.setprofile(None)
    await worker.stop()
    return tracer


def main() -> None:
    """Print the number of files and of changes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one line")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        traced = asyncio.run(trace(Path(name)))
    if args.json:
        print(json.dumps({"files": len(traced.files), "changes": traced.changes}))
        return
    for name, calls in traced.files.most_common():
        print(f"{calls:6} {Path(name).relative_to(ROOT)}")
    print(f"{len(traced.files)} files, {traced.changes} changes")


if __name__ == "__main__":
    main()

"""What an idle `sager up` burns: CPU of each of its processes, in percent of a core.

Run it as `python -m benchmarks.idle --json`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.processes import children_of
from benchmarks.surroundings import ROOT

READY_SECONDS = 120.0
SETTLE_SECONDS = 5.0
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Start it, let it settle, and look at /proc twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to look")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), args.seconds)
    if args.json:
        json.dump(found, sys.stdout)
        sys.stdout.write("\n")
        return
    for name, percent in found.items():
        print(f"{name:<14}{percent:6.1f} % of a core")


def measured(folder: Path, seconds: float) -> dict[str, float]:
    """Percent of a core by process, and of all."""
    out = folder / "out"
    with out.open("wb") as file:
        up = subprocess.Popen(
            [sys.executable, "-P", "-m", "streams.cli", "up", "--data-dir", str(folder / "data")],
            stdout=file,
            stderr=file,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    try:
        give_up = time.monotonic() + READY_SECONDS
        while b"Ctrl-C ends it" not in out.read_bytes():
            if up.poll() is not None or time.monotonic() > give_up:
                raise SystemExit(f"`sager up` did not come up:\n{out.read_text()}")
            time.sleep(0.1)
        time.sleep(SETTLE_SECONDS)
        before, began = ticks(up.pid), time.monotonic()
        time.sleep(seconds)
        after, passed = ticks(up.pid), time.monotonic() - began
    finally:
        up.send_signal(signal.SIGINT)
        up.wait(60)
    shares: dict[str, float] = {}
    for pid, (name, count) in after.items():
        spent = (count - before.get(pid, (name, 0))[1]) / TICKS
        shares[name] = round(shares.get(name, 0.0) + 100 * spent / passed, 2)
    return {**shares, "all": round(sum(shares.values()), 2)}


def ticks(pid: int) -> dict[int, tuple[str, int]]:
    """Name and spent ticks of a process and of all below it, by pid."""
    process = Path(f"/proc/{pid}")
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    found = {pid: (_name(process), int(fields[11]) + int(fields[12]))}
    for child in children_of(pid):
        found |= ticks(child)
    return found


def _name(process: Path) -> str:
    words = (process / "cmdline").read_bytes().decode().split("\0")
    if "tansu" in words[0]:
        return "broker"
    known = ("worker", "materialize", "up", "streams.local.proxy")
    return next((word.removeprefix("streams.local.") for word in known if word in words), "other")


if __name__ == "__main__":
    main()

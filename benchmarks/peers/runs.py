"""One peer's run: started, warmed up, given its choices, and asked /proc what they took."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from benchmarks.choices import Choice, choices
from benchmarks.peers import environments
from benchmarks.processes import cpu_seconds
from benchmarks.running import LOG, Running, worker
from benchmarks.surroundings import ROOT
from streams.local.launch import environment
from streams.settings import Settings


@dataclass(frozen=True)
class Load:
    """What every peer gets.

    Attributes:
        choices: how many are measured.
        warm: how many come before.
        users: whose.
    """

    choices: int
    warm: int
    users: int


class Spent(NamedTuple):
    """What the choices took: CPU seconds of the peer's own process, and seconds by the clock."""

    cpu: float
    clock: float


Start = Callable[[Settings], "subprocess.Popen[bytes]"]


def on_kafka(settings: Settings, load: Load, start: Start = worker) -> Spent:
    """A peer that reads rankings and selections and writes diffs."""
    with Running(settings, start) as running:
        running.send(load.warm, load.users, "warm")
        running.wait(load.warm, "warm-up")
        before, _ = running.settled()
        began = time.monotonic()
        running.send(load.choices, load.users, "choice")
        running.wait(load.warm + load.choices, "diffs")
        clock = time.monotonic() - began
        after, _ = running.settled()
    return Spent(after - before, clock)


def plain(settings: Settings) -> "subprocess.Popen[bytes]":
    """The plain loop."""
    return _module(settings, sys.executable, "plain")


def quix(place: Path) -> Start:
    """The Quix Streams application.

    Raises:
        Unavailable: its environment cannot be made.
    """
    python = environments.python(environments.with_operators(environments.QUIX), place)

    def start(settings: Settings) -> "subprocess.Popen[bytes]":
        return _module(settings, str(python), "quix", "--folder", str(settings.data_dir / "state"))

    return start


def _module(settings: Settings, python: str, name: str, *more: str) -> "subprocess.Popen[bytes]":
    command = [python, "-m", f"benchmarks.peers.{name}", "--bootstrap", settings.bootstrap, "--prefix", settings.prefix]
    with (settings.data_dir / LOG).open("wb") as log:
        return subprocess.Popen(
            [*command, *more],
            stdout=log,
            stderr=log,
            cwd=settings.data_dir,
            env={**environment(settings), "PYTHONPATH": str(ROOT)},
        )


def mem0(folder: Path, place: Path, load: Load, *, raw: bool) -> Spent:
    """mem0's `add`, with or without its model.

    Raises:
        Unavailable: its environment cannot be made.
        RuntimeError: it has ended, or added nothing.
    """
    python = environments.python((environments.MEM0,), place)
    script = Path(__file__).with_name("mem0_add.py")
    with _stub() as url, (folder / LOG).open("wb") as log:
        command = [str(python), str(script), "--folder", str(folder), "--url", url, *(["--raw"] if raw else [])]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            cwd=folder,
            env=_clean(folder),
        ) as process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("mem0 has no pipes")
            try:
                _add(process.stdin, process.stdout, choices(load.warm, load.users, "warm"), folder)
                before, began = cpu_seconds(process.pid), time.monotonic()
                _add(process.stdin, process.stdout, choices(load.choices, load.users, "choice"), folder)
                return Spent(cpu_seconds(process.pid) - before, time.monotonic() - began)
            finally:
                process.stdin.close()
                process.terminate()


def _add(stdin: IO[str], stdout: IO[str], chosen: Iterator[Choice], folder: Path) -> None:
    for choice in chosen:
        stdin.write(json.dumps({"user": choice.ranking.user_id, "text": told(choice)}) + "\n")
    stdin.write("\n")
    stdin.flush()
    answer = stdout.readline()
    if not answer.startswith("done") or answer.strip() == "done 0":
        last = (folder / LOG).read_text(errors="replace").splitlines()[-3:]
        raise RuntimeError(f"mem0 has added nothing: {' '.join(last)}")


def told(choice: Choice) -> str:
    """A choice as a person would tell it."""
    shown = {candidate.item_id: candidate for candidate in choice.ranking.candidates}
    [name] = choice.selection.taken
    taken = shown.pop(name)
    others = ", ".join(candidate.title for candidate in shown.values())
    facts = ", ".join(f"{key} {value}" for key, value in taken.metadata.items())
    return f"I was shown {others} and {taken.title}. I took {taken.title} ({facts}) from {choice.ranking.ranking_id}."


@contextmanager
def _stub() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.peers.stub"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        try:
            yield (server.stdout or sys.stdin).readline().strip()
        finally:
            server.terminate()


def _clean(folder: Path) -> dict[str, str]:
    """This environment without what belongs to others: no keys, no modules of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SAGER_", "OPENAI_", "MEM0_"))}
    kept.pop("PYTHONPATH", None)
    return {**kept, "HOME": str(folder)}

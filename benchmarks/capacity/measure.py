"""Measures the constants: settled users, a worker, the materializer and the embedded broker, in some minutes."""

import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.capacity.constants import Constants, TopicSize
from benchmarks.capacity.held import held_bytes
from benchmarks.processes import cpu_seconds
from benchmarks.running import Running
from benchmarks.surroundings import endpoint, rss_mib
from benchmarks.traffic import Counted, Traffic
from streams.demo import catalogue
from streams.http.tokens import as_toml, new
from streams.local.broker import EmbeddedBroker, free_port
from streams.local.launch import child
from streams.local.probes import why_not_ready
from streams.settings import Settings

USERS, EACH = 60, 30
"""After thirty choices a skill is about full."""
WARM = 60
READY_SECONDS, LOOK_SECONDS = 120.0, 0.2
LLM_CHOICES, LLM_USERS, LLM_SECONDS = 400, 80, 0.25


def measured() -> Constants:
    """The constants of this machine and this code."""
    total = USERS * EACH
    with tempfile.TemporaryDirectory(prefix="sager-capacity-") as held, ExitStack() as stack:
        folder = Path(held)
        broker = stack.enter_context(EmbeddedBroker(folder / "broker.log"))
        _say(f"{total} choices of {USERS} users, without the graph")
        bare = _run(broker, folder / "bare", total, USERS, propagate=False)
        _say(f"{LLM_CHOICES} choices with LLM calls")
        with endpoint(LLM_SECONDS) as url:
            asked = _run(broker, folder / "llm", LLM_CHOICES, LLM_USERS, reasoner="llm", llm_base_url=url)
        _say(f"{total} choices of {USERS} users, with all processes")
        return Constants(
            measured_on=datetime.now(UTC).date().isoformat(),
            users=USERS,
            items=len(catalogue.load()["films"]),
            choices=total,
            worker_cpu_ms_without_graph=_ms(bare, total),
            worker_cpu_ms_with_llm=_ms(asked, LLM_CHOICES),
            **_all(broker, folder / "all", total),
        )


def _all(broker: EmbeddedBroker, folder: Path, total: int) -> dict[str, Any]:
    """What all processes spend, and what topics hold."""
    settings = _settings(broker, folder)
    with Running(settings) as running:
        materializer = child(["materialize"], settings, folder / "materialize.log")
        try:
            running.send(WARM, USERS, "warm")
            running.wait(WARM, "warm-up")
            before, _ = running.settled()
            empty = rss_mib(running.process.pid)
            rows, brokers = cpu_seconds(materializer.pid), cpu_seconds(_pid(broker))
            running.send(total, USERS, "choice")
            running.wait(WARM + total, "diffs")
            brokers = cpu_seconds(_pid(broker)) - brokers  # our own reading of the topics comes after this
            after, counted = running.settled()
            rows = cpu_seconds(materializer.pid) - rows
            return {
                "worker_cpu_ms": _ms(after - before, total),
                "materializer_cpu_ms": _ms(rows, total),
                "broker_cpu_ms": _ms(brokers, total),
                "worker_mib": round(empty),
                "api_mib": round(_api_mib(settings)),
                "held_bytes": round(held_bytes()),
                "materializer_mib": round(rss_mib(materializer.pid)),
                "topics": sizes(counted, running.traffic, total),
            }
        finally:
            materializer.terminate()
            materializer.wait(60)


def _api_mib(settings: Settings) -> float:
    """Resident memory of the API with the console, once it is ready; this few users are nothing in it."""
    file = settings.data_dir / "tokens.toml"
    file.write_text(as_toml(new("benchmark", ["operate"], None, None)[1]), encoding="utf-8")
    file.chmod(0o600)
    port = free_port()
    own = settings.model_dump(exclude_unset=True) | {
        "http_tokens": file,
        "http_port": free_port(),
        "metrics_port": port,
    }
    process = child(["console"], Settings(**own), settings.data_dir / "console.log")
    try:
        give_up = time.monotonic() + READY_SECONDS
        while why := why_not_ready(f"http://127.0.0.1:{port}"):
            if time.monotonic() > give_up:
                raise SystemExit(f"the API is not ready: {why}")
            time.sleep(LOOK_SECONDS)
        return rss_mib(process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _run(broker: EmbeddedBroker, folder: Path, total: int, users: int, **more: Any) -> float:
    """A worker's CPU seconds for so many choices."""
    with Running(_settings(broker, folder, **more)) as running:
        running.send(WARM, users, "warm")
        running.wait(WARM, "warm-up")
        before, _ = running.settled()
        running.send(total, users, "choice")
        running.wait(WARM + total, "diffs")
        after, _ = running.settled()
        return after - before


def _settings(broker: EmbeddedBroker, folder: Path, **more: Any) -> Settings:
    folder.mkdir(mode=0o700)
    return Settings(
        bootstrap=broker.bootstrap,
        embedded=True,
        data_dir=folder,
        prefix=f"{folder.name}.",
        app_id=folder.name,
        session_seconds=6,
        rebalance_seconds=8,
        **more,
    )


def sizes(counted: Counted, traffic: Traffic, total: int) -> dict[str, TopicSize]:
    """What each topic has got per choice, and what compaction leaves of it."""
    return {
        base: TopicSize(
            bytes_per_choice=round(counted.plain[base] / total, 1),
            stored_per_choice=round(counted.stored[base] / total, 1),
            keys=len(traffic.newest[base]),
            bytes_per_key=round(sum(traffic.newest[base].values()) / len(traffic.newest[base]), 1),
        )
        for base in sorted(counted.records)
        if traffic.newest[base]
    }


def _ms(seconds: float, total: int) -> float:
    return round(1_000 * seconds / total, 3)


def _pid(broker: EmbeddedBroker) -> int:
    process = broker._process
    if process is None:
        raise RuntimeError("the embedded broker does not run")
    return process.pid


def _say(what: str) -> None:
    print(what, file=sys.stderr, flush=True)

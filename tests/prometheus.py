"""A real Prometheus for a test: scraping what it is told, evaluating the real rules, answering queries."""

import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError

import pytest

from infra.prometheus.get import PrometheusUnavailable, find, get
from streams.local.broker import free_port

START_SECONDS = 20.0


def programs() -> Path:
    """The folder with `prometheus` and `promtool`; skips, or fails where SAGER_TEST_REQUIRE_PROMETHEUS is set."""
    required = bool(os.environ.get("SAGER_TEST_REQUIRE_PROMETHEUS"))
    try:
        here = get() if required else find()
    except PrometheusUnavailable as why:
        pytest.fail(f"Prometheus is required here: {why}")
    if here is None:
        pytest.skip("there is no Prometheus on this machine; `make prometheus` fetches it")
    return here


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [programs() / "promtool", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )


class QueryError(AssertionError):
    """Prometheus did not take a query."""


class Prometheus:
    """As a context manager.

    Args:
        folder: for its configuration, data and log.
        jobs: where to scrape, by job: `host:port`.
        rules: a folder of rule files.
    """

    def __init__(self, folder: Path, jobs: Mapping[str, Sequence[str]], rules: Path) -> None:
        self._program = programs() / "prometheus"
        self._folder = folder
        self._port = free_port()
        self.log = folder / "prometheus.log"
        folder.mkdir(parents=True, exist_ok=True)
        scrapes = [{"job_name": job, "static_configs": [{"targets": list(hosts)}]} for job, hosts in jobs.items()]
        told = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [f"{rules}/*.yml"],
            "scrape_configs": scrapes,
        }
        self._config = folder / "prometheus.yml"
        self._config.write_text(json.dumps(told))  # JSON is YAML
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                [
                    self._program,
                    f"--config.file={self._config}",
                    f"--storage.tsdb.path={self._folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        give_up = time.monotonic() + START_SECONDS
        while not self._is_ready():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < give_up, self.log.read_text()
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=1) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    def ask(self, path: str, **parameters: Any) -> Any:
        """The `data` of an answer.

        Raises:
            QueryError: it was refused; the message says why.
        """
        query = urllib.parse.urlencode(parameters, doseq=True)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/api/v1/{path}?{query}", timeout=10) as reply:
                return json.load(reply)["data"]
        except HTTPError as refusal:
            with refusal:
                raise QueryError(json.load(refusal)["error"]) from None

    def now(self, expr: str) -> list[tuple[dict[str, str], float]]:
        """The series of an expression at this moment, with their values."""
        result = self.ask("query", query=expr)["result"]
        return [(series["metric"], float(series["value"][1])) for series in result]

    def over(self, expr: str, since: float) -> list[tuple[dict[str, str], list[float]]]:
        """The series of an expression since then, as a panel draws them."""
        told = self.ask("query_range", query=expr, start=since, end=time.time(), step=1)["result"]
        return [(series["metric"], [float(value) for _, value in series["values"]]) for series in told]

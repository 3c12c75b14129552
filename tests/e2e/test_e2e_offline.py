"""A machine without a network: only the loopback interface is up."""

import json
import os
import subprocess
import sys

import pytest

from tests.e2e.cli_user import BASE
from tests.waiting import WAIT_SECONDS

ALONE = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket() as probe:
    fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Brings up the loopback interface of a new network namespace, which has no other, and runs Python there."""


def alone(*args: str, seconds: float, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python in a network namespace of its own."""
    return subprocess.run(
        ["unshare", "--map-root-user", "--net", sys.executable, "-c", ALONE, *args],
        env=env,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    """Skip where this user may not make a network namespace. Root may, and CI runs as root."""
    try:
        probe = alone("-c", "", seconds=WAIT_SECONDS, env=BASE)
    except FileNotFoundError:
        pytest.skip("there is no `unshare` here: network namespaces are Linux's")
    if probe.returncode and os.geteuid() != 0:
        pytest.skip(f"this user may not make a network namespace: {probe.stderr.strip()}")
    assert probe.returncode == 0, probe.stderr


@pytest.mark.thorough
def test_the_demo_runs_where_only_the_loopback_interface_is_up(tmp_path):
    small = ("--users", "2", "--rounds", "1", "--data-dir", str(tmp_path), "--json")
    done = alone("-P", "-m", "streams.cli", "demo", *small, seconds=2 * WAIT_SECONDS, env=BASE)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["diffs"] == 2


def test_localhost_is_found_where_only_the_loopback_interface_is_up(tmp_path):
    code = """
import sys
from pathlib import Path
from streams.kafka.clients import reach
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings
with EmbeddedBroker(Path(sys.argv[1])) as broker:
    for embedded in (True, False):
        reach(Settings(bootstrap=f"localhost:{broker.port}", embedded=embedded), 10)
"""
    done = alone("-P", "-c", code, str(tmp_path / "broker.log"), seconds=WAIT_SECONDS, env=BASE)

    assert done.returncode == 0, done.stderr

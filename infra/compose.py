"""Runs our services of docker-compose.yml as processes of this machine.

It supports merged mappings, `${NAME:-default}` and passed-on names. A service gets exactly the environment in the file;
its volumes become folders, its port a free one. Its own health check decides when it is up; it is stopped by SIGTERM
and must exit with 0 within its grace period.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from streams.local.broker import free_port

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docker-compose.yml"
EXAMPLE = ROOT / ".env.example"
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}|\$(?P<dollar>\$)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0}
HEALTHY_SECONDS = 120.0
# The image's user. Only root can switch to it; others run the processes as themselves.
USER = 10001


@dataclass(frozen=True)
class Service:
    """One service of the file with its variables substituted."""

    name: str
    raw: Mapping[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes; names without a value are left out."""
        return {name: str(value) for name, value in self.raw.get("environment", {}).items() if value is not None}

    @property
    def ours(self) -> bool:
        """Whether it runs our image."""
        return "build" in self.raw

    @property
    def probe(self) -> list[str]:
        """The command of its health check; empty if it has none."""
        test = self.raw.get("healthcheck", {}).get("test", [])
        return [str(word) for word in test[1:]]

    @property
    def grace_seconds(self) -> float:
        """How long it may take to stop; Docker's default is 10 s."""
        given = str(self.raw.get("stop_grace_period", "10s"))
        number = given.rstrip("sm")
        return float(number) * _SECONDS[given[len(number) :]]

    @property
    def mounts(self) -> list[tuple[str, str, bool]]:
        """Yield source (empty if unnamed), target, and whether it is read-only."""
        found = []
        for volume in self.raw.get("volumes", []):
            source, _, rest = volume.rpartition(":/") if ":/" in volume else ("", "", volume.lstrip("/"))
            target, _, mode = rest.partition(":")
            found.append((source, f"/{target}", mode == "ro"))
        return found


def variables(file: Path = EXAMPLE) -> dict[str, str]:
    """The variables that a file like .env sets."""
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def services(values: Mapping[str, str], file: Path = FILE) -> dict[str, Service]:
    """Return the services of all profiles with these variables."""
    given = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {name: Service(name, _filled(raw, values)) for name, raw in given["services"].items()}


def _filled(part: Any, values: Mapping[str, str]) -> Any:
    match part:
        case dict():
            filled = {key: _filled(value, values) for key, value in part.items()}
            if isinstance(passed := filled.get("environment"), dict):
                filled["environment"] = {
                    name: values.get(name) if value is None else value for name, value in passed.items()
                }
            return filled
        case list():
            return [_filled(value, values) for value in part]
        case str():
            return VARIABLE.sub(
                lambda found: found["dollar"] or values.get(found["name"]) or found["default"] or "", part
            )
        case _:
            return part


class DidNotRun(RuntimeError):
    """A service did not start, become healthy or stop, with its log."""


@dataclass
class Running:
    """Our services on a broker.

    `folder` is for volumes and logs, `entry` the image's ENTRYPOINT on this machine; `unprivileged` runs them as USER
    when started as root, and `overrides` are settings of the broker and the tenant.
    """

    folder: Path
    bootstrap: str
    entry: Sequence[str]
    environment: Mapping[str, str]
    unprivileged: bool = False
    overrides: Mapping[str, str] = field(default_factory=dict)

    def all(self) -> dict[str, float]:
        """Run all services; return their seconds from start to healthy.

        Services that need a profile are left out. Raises DidNotRun if one failed, did not become healthy, or did not
        stop properly.
        """
        found = services(variables()).values()
        ours = [service for service in found if service.ours and "profiles" not in service.raw]
        for service in ours:
            if not service.probe and (code := self._start(service, {}).wait(HEALTHY_SECONDS)):
                raise self._failure(service, f"ended with {code}")
        with ExitStack() as stack:
            started = []
            for service in ours:
                if not service.probe:
                    continue
                own = {"SAGER_METRICS_PORT": str(free_port())}
                process = self._start(service, own)
                stack.callback(process.kill)
                started.append((service, own, process, time.monotonic()))
            took = {service.name: self._healthy(service, own, process, at) for service, own, process, at in started}
            for _, _, process, _ in started:
                process.terminate()
            for service, _, process, _ in started:
                self._ended(service, process)
        return took

    def _start(self, service: Service, own: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with (self._home(service) / "log").open("wb") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                [*self.entry, *service.raw["command"]],
                cwd=self._home(service),
                env=self._environment(service, own),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._user(),
            )
            return process

    def _healthy(
        self, service: Service, own: Mapping[str, str], process: "subprocess.Popen[bytes]", started: float
    ) -> float:
        """Run the health check like Docker, only more often."""
        env = self._environment(service, own)
        program = shutil.which(service.probe[0], path=env["PATH"])
        while True:
            probe = subprocess.run(
                [program or service.probe[0], *service.probe[1:]], env=env, capture_output=True, check=False, timeout=30
            )
            if probe.returncode == 0:
                return time.monotonic() - started
            if process.poll() is not None:
                raise self._failure(service, f"ended with {process.returncode}")
            if time.monotonic() - started > HEALTHY_SECONDS:
                raise self._failure(service, f"did not become healthy: {probe.stderr.decode()}")
            time.sleep(1)

    def _ended(self, service: Service, process: "subprocess.Popen[bytes]") -> None:
        try:
            code = process.wait(service.grace_seconds)
        except subprocess.TimeoutExpired as error:
            raise self._failure(service, f"did not end within {service.grace_seconds} s") from error
        if code:
            raise self._failure(service, f"ended with {code} after SIGTERM")

    def _environment(self, service: Service, own: Mapping[str, str]) -> dict[str, str]:
        limits = {
            **self.environment,
            **service.environment,
            **self.overrides,
            "SAGER_BOOTSTRAP": self.bootstrap,
            **own,
            "TMPDIR": str(self._made(service, "/tmp")),  # noqa: S108 - the container's  # nosec B108
        }
        for _, target, _ in service.mounts:
            here = self._made(service, target)
            limits = {
                name: value.replace(target, str(here), 1) if value.startswith(target) else value
                for name, value in limits.items()
            }
        return limits

    def _home(self, service: Service) -> Path:
        return self._made(service, "/")

    def _made(self, service: Service, path: str) -> Path:
        """The folder for a path of the container, writable for its user."""
        made = self.folder / service.name / path.lstrip("/")
        made.mkdir(parents=True, exist_ok=True)
        if self._user():
            os.chown(made, USER, USER)
        return made

    def _user(self) -> dict[str, Any]:
        return {"user": USER, "group": USER, "extra_groups": []} if self.unprivileged and os.geteuid() == 0 else {}

    def _failure(self, service: Service, what: str) -> DidNotRun:
        lines = (self._home(service) / "log").read_text(errors="replace").splitlines()
        return DidNotRun("\n".join([f"{service.name} {what}", *lines[-30:]]))

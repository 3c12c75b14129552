"""Runs our services of docker-compose.yml like Compose, but as processes of this machine and on a given broker.

A service gets exactly the environment in the file; its volumes become folders, its port a free one. Its own health
check decides when it is up; it is stopped by SIGTERM and must exit with 0 within its grace period.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infra.compose import Service, services, variables
from streams.local.broker import free_port

HEALTHY_SECONDS = 120.0
USER = 10001
"""The image's user. Only root can switch to it; others run the processes as themselves."""


class DidNotRun(RuntimeError):
    """A service did not start, become healthy or stop as required; the message includes its log."""


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
        """Runs the topics, then worker and materializer together; returns each one's seconds from start to healthy.

        Services that need a profile are left out.

        Raises:
            DidNotRun: one of them failed, did not become healthy, or did not stop properly.
        """
        ours = {
            name: service
            for name, service in services(variables()).items()
            if service.ours and "profiles" not in service.raw
        }
        once = [service for service in ours.values() if not service.probe]
        lasting = [service for service in ours.values() if service.probe]
        for service in once:
            process = self._start(service, {})
            if process.wait(HEALTHY_SECONDS):
                raise DidNotRun(f"{service.name} ended with {process.returncode}\n{self._log(service)}")
        with ExitStack() as stack:
            started = []
            for service in lasting:
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
        """Runs the health check like Docker, only more often."""
        env = self._environment(service, own)
        program = shutil.which(service.probe[0], path=env["PATH"])
        while True:
            probe = subprocess.run(
                [program or service.probe[0], *service.probe[1:]], env=env, capture_output=True, check=False, timeout=30
            )
            if probe.returncode == 0:
                return time.monotonic() - started
            if process.poll() is not None:
                raise DidNotRun(f"{service.name} ended with {process.returncode}\n{self._log(service)}")
            if time.monotonic() - started > HEALTHY_SECONDS:
                raise DidNotRun(f"{service.name} did not become healthy: {probe.stderr.decode()}\n{self._log(service)}")
            time.sleep(1)

    def _ended(self, service: Service, process: "subprocess.Popen[bytes]") -> None:
        try:
            code = process.wait(service.grace_seconds)
        except subprocess.TimeoutExpired as error:
            raise DidNotRun(
                f"{service.name} did not end within {service.grace_seconds} s\n{self._log(service)}"
            ) from error
        if code:
            raise DidNotRun(f"{service.name} ended with {code} after SIGTERM\n{self._log(service)}")

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
        """The folder for this path of the service's container, writable for its user."""
        made = self.folder / service.name / path.lstrip("/")
        made.mkdir(parents=True, exist_ok=True)
        if self._user():
            os.chown(made, USER, USER)
        return made

    def _user(self) -> dict[str, Any]:
        return {"user": USER, "group": USER, "extra_groups": []} if self.unprivileged and os.geteuid() == 0 else {}

    def _log(self, service: Service) -> str:
        lines = (self._home(service) / "log").read_text(errors="replace").splitlines()
        return "\n".join(lines[-30:])

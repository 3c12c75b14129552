"""Reads docker-compose.yml like Compose, as far as ours needs: merged mappings, `${NAME:-default}`, passed-on names.

Its services can thus be checked, and their commands run, without a Docker engine: see `infra.image`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docker-compose.yml"
EXAMPLE = ROOT / ".env.example"
VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::-(?P<default>[^}]*))?\}|\$(?P<dollar>\$)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0}


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
        """Source (empty for a volume without a name), target, and whether it is read-only."""
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
    """Return all services of all profiles, with these variables of the environment and .env."""
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

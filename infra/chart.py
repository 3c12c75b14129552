"""Generates the Helm chart's schema and its README's table.

    python -m infra.chart

Also finds helm, and renders the chart with it, for the tests.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from infra.compose import ROOT
from streams.settings import Settings

CHART = ROOT / "infra" / "helm" / "sager"
SCHEMA, README, VALUES = CHART / "values.schema.json", CHART / "README.md", CHART / "values.yaml"
# `make helm` puts it here.
HELM = ROOT / ".helm" / "helm"
# The default Kubernetes version for rendering: a helm built by `go install` has none.
KUBERNETES = "1.33.0"
PLACE, END = "<!-- values -->\n", "<!-- end -->"

# Settings that the templates decide.
FIXED = frozenset({"data_dir", "duckdb", "embedded", "group", "http_host", "http_port", "metrics_host", "metrics_port"})
# Settings that come out of a Secret, as variables and as files.
STRINGS = frozenset({"kafka_sasl_password", "kafka_ssl_key_password", "chain_key", "pseudonym_key", "llm_api_key"})
FILES = frozenset(
    {"kafka_ssl_ca", "kafka_ssl_certificate", "kafka_ssl_key"}
    | {"http_tokens", "http_certificate", "http_key", "vouched", "webhooks"}
)
# Values whose default does not determine their type, by name.
_OPEN: dict[str, dict[str, Any]] = {
    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "nodeSelector": {"type": "object", "additionalProperties": {"type": "string"}},
    "affinity": {"type": "object"},
    "resources": {"type": "object"},
    "token": {"$ref": "#/$defs/key"},
    "settings": {"$ref": "#/$defs/settings"},
    "secrets": {"$ref": "#/$defs/secrets"},
    "tag": {"type": "string"},
    "type": {"enum": ["ClusterIP", "NodePort", "LoadBalancer"]},
    "pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "maxUnavailable": {"type": ["integer", "string"]},
}
_LEAST = {"replicas": 1, "min": 1, "max": 0, "lag": 1, "scaleDownSeconds": 0, "port": 1}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_LINE = re.compile(r"^(?P<indent> *)(?P<name>\w+):(?P<rest>.*)$")


def schema() -> dict[str, Any]:
    """The JSON Schema of the chart's values, without unknown names."""
    described = Settings.model_json_schema(by_alias=False)
    mine = {name: each for name, each in described["properties"].items() if name not in FIXED | STRINGS | FILES}
    known = {name: {key: value for key, value in each.items() if key != "title"} for name, each in mine.items()}
    known["bootstrap"] = known["bootstrap"] | {"default": ""}
    name = {"type": "string", "minLength": 1}
    key = {"type": "object", "additionalProperties": False, "properties": {"secret": name, "key": name}}
    entry = {**key, "properties": {**key["properties"], "value": {"type": "string", "minLength": 1}}}  # type: ignore[dict-item]
    secrets = {name: {"$ref": "#/$defs/entry"} for name in sorted(STRINGS | FILES)}
    definitions = {
        "key": key,
        "entry": entry,
        "secrets": {"type": "object", "additionalProperties": False, "properties": secrets},
        "settings": {"type": "object", "additionalProperties": False, "properties": known},
        **{
            name: {key: value for key, value in each.items() if key != "title"}
            for name, each in described["$defs"].items()
        },
    }
    found = _of(yaml.safe_load(VALUES.read_text(encoding="utf-8")))
    # A chart that has this one as a dependency hands down `global`.
    found["properties"]["global"] = {"type": "object"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "$defs": definitions}


def _of(value: Any, name: str = "") -> dict[str, Any]:
    """The schema of a value, by its default."""
    if name in _OPEN:
        return _OPEN[name]
    if isinstance(value, Mapping):
        inner = {key: _of(each, key) for key, each in value.items()}
        return {"type": "object", "additionalProperties": False, "properties": inner}
    if isinstance(value, list):
        items = {type(each) for each in value}
        return {"type": "array", **({"items": {"type": _TYPES[items.pop()]}} if len(items) == 1 else {})}
    return {"type": _TYPES[type(value)], **({"minimum": _LEAST[name]} if name in _LEAST else {})}


def table() -> str:
    """The chart's described values with defaults, as a Markdown table."""
    defaults = yaml.safe_load(VALUES.read_text(encoding="utf-8"))
    rows = ["| value | default | what it is |", "| --- | --- | --- |"]
    for path, described in _described(VALUES.read_text(encoding="utf-8").splitlines()):
        value: Any = defaults
        for name in path:
            value = value[name]
        is_open = value and path[-1] in ("settings", "pods")
        shown = "" if is_open else f"`{json.dumps(value)}`"
        rows.append(f"| `{'.'.join(path)}` | {shown} | {described} |")
    return "\n".join(rows)


def _described(lines: list[str]) -> Iterator[tuple[list[str], str]]:
    path: list[tuple[int, str]] = []
    described: list[str] = []
    for line in lines:
        bare = line.strip()
        if bare.startswith("# -- "):
            described = [bare.removeprefix("# -- ")]
        elif bare.startswith("# ") and described:
            described.append(bare.removeprefix("# "))
        elif found := _LINE.match(line):
            indent = len(found["indent"])
            path = [*((at, name) for at, name in path if at < indent), (indent, found["name"])]
            if described:
                yield [name for _, name in path], " ".join(described).replace("|", "\\|")
            described = []
        else:
            described = []


def files() -> dict[Path, str]:
    """Every generated file, with its text."""
    before, _, rest = README.read_text(encoding="utf-8").partition(PLACE)
    _, _, after = rest.partition(END)
    return {
        SCHEMA: json.dumps(schema(), indent=2) + "\n",
        README: f"{before}{PLACE}\n{table()}\n\n{END}{after}",
    }


def helm() -> str | None:
    """The helm of `make helm`, or an installed one."""
    return str(HELM) if HELM.is_file() else shutil.which("helm")


def rendered(
    helm_at: str, *values: Path, version: str = KUBERNETES, more: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """Return all documents of the chart with these values.

    Raises:
        ValueError: helm refuses them; the message is its own.
    """
    files = [part for path in values for part in ("--values", str(path))]
    command = [helm_at, "template", "trial", str(CHART), "--namespace", "sager", "--kube-version", version]
    done = subprocess.run([*command, *files, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        # It also reports each symbolic link that it follows.
        raise ValueError("\n".join(line for line in done.stderr.splitlines() if "symbolic link" not in line))
    return [each for each in yaml.safe_load_all(done.stdout) if each]


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))

"""Writes the dashboards and the alert rules into infra/grafana and infra/prometheus."""

from pathlib import Path

from infra.monitoring.alerts import GROUPS
from infra.monitoring.feedback import FEEDBACK
from infra.monitoring.llm import LLM
from infra.monitoring.panels import encoded
from infra.monitoring.pipeline import PIPELINE
from infra.monitoring.policy import policy
from infra.monitoring.quality import QUALITY
from infra.monitoring.rules import rules
from infra.monitoring.worker import WORKER

INFRA = Path(__file__).resolve().parents[1]
DASHBOARDS = (PIPELINE, QUALITY, FEEDBACK, LLM, WORKER)


def files() -> dict[Path, str]:
    """Every generated file, with its text."""
    folder = INFRA / "grafana" / "dashboards"
    return {
        **{folder / f"{told.uid.removeprefix('sager-')}.json": encoded(told) for told in DASHBOARDS},
        INFRA / "grafana" / "people" / "dashboards" / "policy.json": policy(),
        **{INFRA / "prometheus" / "rules" / f"{group}.yml": rules(group) for group in GROUPS},
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(INFRA.parent))

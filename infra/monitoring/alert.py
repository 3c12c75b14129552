"""What an alert is.

It is `(expr) op limit`, and `expr` has a value while all is well, so that a panel can show how far it is from the limit
and a test can see that the alert looks at something that is there. `op` is `>=` or `<`, as Grafana's thresholds.
"""

from dataclasses import dataclass
from typing import Literal

CRITICAL: Literal["critical"] = "critical"
"""Somebody is woken: users are served nothing, or something may be lost."""
WARNING: Literal["warning"] = "warning"
"""Somebody looks at it the next working day."""


@dataclass(frozen=True)
class Alert:
    """One alert. `lasting` is Prometheus' `for`; `summary` may name labels as `{{ $labels.topic }}`."""

    name: str
    severity: Literal["critical", "warning"]
    expr: str
    op: Literal[">=", "<"]
    limit: float
    lasting: str
    summary: str
    description: str

    @property
    def condition(self) -> str:
        """The alert's PromQL."""
        return f"({self.expr}) {self.op} {self.limit:.15g}"

"""The model of an alert.

It is `(expr) op limit`. `expr` also has a value while all is well, so that a panel can show its distance from the limit
and a test can verify that the alert queries existing series. `op` is `>=` or `<`, as in Grafana's thresholds.
"""

from dataclasses import dataclass
from typing import Literal

CRITICAL: Literal["critical"] = "critical"
"""Page someone: users are not served, or data may be lost."""
WARNING: Literal["warning"] = "warning"
"""Look at it on the next working day."""


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

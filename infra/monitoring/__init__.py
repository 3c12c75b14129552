"""Makes the Grafana dashboards and Prometheus' alert rules: `python -m infra.monitoring`.

Made rather than hand-kept, because dozens of panels and alerts share what must not drift apart: a limit is written
once, in `alerts`, and is both the alert's and the red line in a panel; and variables, links, annotations and ids are
the same on every dashboard. What is made is committed, so that nobody needs Python to use it.
"""

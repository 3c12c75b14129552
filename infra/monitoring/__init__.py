"""Generates the Grafana dashboards and Prometheus' alert rules: `python -m infra.monitoring`.

They are generated because dozens of panels and alerts share what must not diverge: a limit is written once, in
`alerts`, and is both the alert's limit and the red line in a panel; variables, links, annotations and ids are the same
on every dashboard. The generated files are committed, so that using them does not need Python.
"""

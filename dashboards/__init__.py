"""Dashboards: Grafana boards and their provisioning, Prometheus' configuration and rules.

Everything in grafana/ and prometheus/ is written by
`python -m dashboards.builder`; a test compares.
"""

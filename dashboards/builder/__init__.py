"""The one builder of all boards and rules: typed, so that a misspelt field is no board at all.

panels ─► boards ────────► grafana/boards/*.json
provisioning ────────────► grafana/provisioning/
rules, scraping ─────────► prometheus/
"""

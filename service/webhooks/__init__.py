"""Webhooks: addresses of the settings are told when a run ends, signed, and told again if need be.

    POST /v1/runs {webhooks: [ci]} ──► Watches ──run ended──► Deliveries ──► Sender ──► the address
                                         └────── SQLite: a restart loses none ──┘

A request can name an address of the settings, never give one. The key that signs never leaves the
service. docs/service.md tells a receiver what to check.
"""

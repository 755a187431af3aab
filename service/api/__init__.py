"""HTTP: routers under /v1, problems, event streams, artefacts, the description of it all.

    request ──► security ──► router ──► ports.Runs, schedules, webhooks
                                │
    answer  ◄── models ◄────────┴──► ServiceError ──problems──► application/problem+json

A router reads the request, asks one part of the service, and says what became of it. It holds no
state and starts no process.
"""

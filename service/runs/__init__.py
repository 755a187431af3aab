"""The runs: their queue, their processes, their store, and what becomes of them over restarts.

    submit ──resolve──► Store (queued) ──► Queue ──► RunnerProcess ──► python -m service.runs.runner
                          ▲                              │ messages            └── chaos.soak
                          └──── events, verdict ◄── Carrying (one run) ──► Feeds ──► subscribers

One run at a time, since a live run uses the whole machine. `manager.RunManager` is the only part
that the rest of the service knows; it implements `service.ports.Runs`.
"""

"""Exploration: many seeds in the simulator, and what becomes of a failure among them.

    explore ─► blocks of seeds ─► Executor ─► Child (on a variant's interpreter) ─► summaries
                                                                                        │
    verdict.json, explored.json ◄── aggregate ◄─────────────────────────────────────────┤
    failure.json, story ◄── shrink ◄── the first failure ◄──────────────────────────────┘

Nothing here imports saq: the simulator runs in processes of its own (`serving` is their inside).
"""

"""Exploration: many seeds in the simulator, and what becomes of a failure among them.

explore ─► blocks of seeds ─► Executor ─► Child (a variant's interpreter) ─► summaries ─► verdict
                                                                                 │
                                                 failure: shrink ─► failure.json ┘ ─► story
"""

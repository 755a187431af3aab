"""Schedules: runs by the clock. A table, the cron arithmetic, and the keeper that acts on them.

    PUT /v1/schedules/nightly ──► ScheduleStore (SQLite) ──► Keeper ──due──► Runs.submit
                                                               └─ allow, forbid, replace; keep

Times are UTC. Of the times that passed while the service was away, at most one is caught up.
"""

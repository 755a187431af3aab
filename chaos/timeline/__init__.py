"""The timeline: one variant's history, folded once into what checkers and counters ask about.

    events ──feed──► Timeline ─┬─ hosts      lifetimes, stops, kills, blind spots
                               ├─ faults     windows in which something was injected
                               ├─ calls      queue calls: invoked, returned, their parents
                               ├─ attempts   lifetimes, overlaps, slot collisions
                               ├─ orphans    contexts that left the map too early, or never
                               ├─ jobs       one per enqueue: attempts, finishes, retries, sweeps
                               ├─ keys       whether the queue held a key when it refused it
                               ├─ aborts     each acknowledged abort × each attempt that was running
                               └─ errors     what saq's own code raised, each exception once
                                      │
                     checkers (findings)   counters (figures)   both read this and nothing else

The same fold serves the live counters and the verdict, so they cannot disagree. It judges no
promise, reads no file and no clock: `now_us` is the last event's stamp.
"""

from chaos.timeline.fold import Timeline

__all__ = ["Timeline"]

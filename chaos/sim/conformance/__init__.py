"""Whether the model of Redis answers as a real server: random programs run on both must agree.

    draw ──► Program ──► Modelled ──► what each client must read, and who is blocked
                  └────► Real     ──► what it reads ──► differences, cut down to a short program

A program is a few clients' commands in one order: data of every type, blocking, transactions,
scripts (saq's own among them), pub/sub, and moments in which time passes. Compared are all replies,
error texts, pushes, which clients are blocked, and the data at the end.
"""

from .report import ConformanceReport, Difference
from .run import run_conformance
from .saq_scripts import scripts_in

__all__ = ["ConformanceReport", "Difference", "run_conformance", "scripts_in"]

"""A failure as it is stored, written by hand."""

from __future__ import annotations

from chaos.explore.failure import Failure, FoundHere, Shrinking, Versions, as_data
from chaos.script import FixedScript, Injection
from chaos.version import VERSION
from tests.explore.toys import enqueue, plan

VERSIONS = Versions(saq_chaos=VERSION, saq="0.26.3", redis_py="6.4.0", python="3.11")
FAILURE = Failure(
    format=1,
    versions=VERSIONS,
    variant="stock@0.26.3",
    finding=FoundHere(
        promise="no-internal-errors",
        kind="KeyError",
        message="attempt stock@0.26.3/worker-1.1#2 of 'key-1': KeyError in process",
        line="worker.py:374 process",
        job="key-1",
        events=(17, 18),
    ),
    decisions=Shrinking(before=212, after=3, reruns=61),
    digest="00ff",
    seed=17,
    plan=as_data(plan()),
    script=FixedScript((enqueue(0, "key-1"),), (Injection(500_000, 0),)),
    tape={"worker-1.1/c2|17|request": 5_000},
)

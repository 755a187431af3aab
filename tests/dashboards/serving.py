"""A process with a real soak and its metrics, as a service shows them: `serving.py PLAN RUNS_DIR`.

It prints its port, makes the run, prints `ended`, and serves on until its input ends. What it
serves is the service's own collector, fed with encoded snapshots as a runner's are.
"""

from __future__ import annotations

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from chaos import plan_file
from chaos.metrics import Snapshots, decode, encode
from chaos.plan import Plan
from chaos.request import SoakRequest, VariantStatus
from chaos.soak import soak
from chaos.timeline import Timeline
from service.metrics import Metrics

RUN = "r-20261201-000000"
METRICS = Metrics(("stock@0.26.3", "guarded@0.26.3"))


class Telling:
    """An observer that hands the fold on as a runner does: as one line of JSON."""

    def __init__(self, plan: Plan) -> None:
        self._snapshots = Snapshots(plan)

    def phase(self, variant: str, phase: str) -> None:
        """Nothing to tell."""

    def tick(self, status: tuple[VariantStatus, ...]) -> None:
        """Nothing to tell."""

    def note(self, text: str) -> None:
        """For whoever reads the log."""
        sys.stderr.write(f"{text}\n")

    def folded(self, timelines: tuple[Timeline, ...]) -> None:
        """A snapshot."""
        METRICS.runs.update(RUN, decode(encode(self._snapshots.of(timelines))))


class Answers(BaseHTTPRequestHandler):
    """GET /metrics."""

    def do_GET(self) -> None:
        """The exposition, in the format that is asked for."""
        began = time.perf_counter()
        body, content_type = METRICS.exposition_for(self.headers.get("Accept", ""))
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        METRICS.service.requested("/metrics", "GET", 200, time.perf_counter() - began)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Quiet."""


def main() -> None:
    """Serve, make the run, wait to be told to end."""
    plan = plan_file.load(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    METRICS.runs.begin(RUN, plan.plan, "live", plan.variants)
    result = soak(SoakRequest(plan=plan, runs_dir=Path(sys.argv[2])), Telling(plan))
    METRICS.service.run_ended("passed" if result.failure is None else "error")
    sys.stdout.write("ended\n")
    sys.stdout.flush()
    sys.stdin.read()
    METRICS.runs.end(RUN)
    server.shutdown()


if __name__ == "__main__":
    main()

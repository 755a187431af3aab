"""Exemplars: which run and which job a sample of a counter or a histogram is about.

OpenMetrics allows 128 characters for the names and values of an exemplar's labels together, and a
server drops a longer one. The run is always kept whole where it can be; a job key that does not fit
is cut, and ends in `…` then. No exemplar is ever a reason for a scrape to fail: what cannot be
written as UTF-8 is replaced.
"""

from __future__ import annotations

from prometheus_client.samples import Exemplar

LENGTH_MAX = 127  # "under 128": names and values of all labels together
CUT = "…"
RUN, KEY = "run", "key"


def exemplar(run: str, job: str, value: float) -> Exemplar | None:
    """The exemplar of one sample, or None if there is no job to point at."""
    return Exemplar(labels(run, job), value) if job else None


def labels(run: str, job: str) -> dict[str, str]:
    """Both labels, together at most `LENGTH_MAX` characters long."""
    left = LENGTH_MAX - len(RUN) - len(KEY)
    run = _fitting(run, left - len(CUT) - 1)  # a key shows one character and that it was cut
    return {KEY: _fitting(job, left - len(run)), RUN: run}


def _fitting(text: str, length: int) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= length else text[: length - len(CUT)] + CUT

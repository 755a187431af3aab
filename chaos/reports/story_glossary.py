"""The words of saq that a story may use, each with one plain sentence, for a reader new to it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORDS = (
    ("job", "a function call that somebody put into a queue, known by its key"),
    ("worker", "a process that takes jobs from the queue and runs their functions"),
    ("producer", "a process that puts jobs into the queue, and here also aborts and sweeps"),
    ("attempt", "one execution of a job by a worker; a job may have several"),
    ("sweep", "saq's upkeep: a job that seems stuck is aborted and put back in the queue"),
    ("stuck", "longer without an end, or a sign of life, than the job's limits allow"),
    ("abort", "the request to end a running job; its worker looks for such requests regularly"),
    ("cancelled", "its function was told to stop at its next await"),
    ("context", "what a worker keeps of a running attempt, so that it can abort it"),
    ("slot", "where a worker keeps the context: one place for each job's key, so for one attempt"),
    ("clean-up", "what saq does when an attempt ends: it empties the slot of the job's key"),
    ("ACTIVE", "the job's record in Redis says that a worker runs it"),
    ("COMPLETE", "the job's record says that it ended well: it is over"),
    ("ABORTING", "the job's record says that somebody wants it to end"),
    ("ABORTED", "the job's record says that it was ended on request: it is over"),
    ("FAILED", "the job's record says that it ended with an error: it is over"),
    ("record", "what Redis holds of a job: its function, its arguments, its status"),
    ("retry", "the job is put back in the queue, to be run again"),
    ("fault", "trouble that saq-chaos makes on purpose"),
    ("inspection", "saq-chaos looks at everything in Redis once nothing should move any more"),
)


def used_in(texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The words that stand in these texts, with their meanings."""
    text = "\n".join(texts)
    return tuple((word, meaning) for word, meaning in _WORDS if _stands_in(word, text))


def _stands_in(word: str, text: str) -> bool:
    flags = re.NOFLAG if word.isupper() else re.IGNORECASE
    return re.search(rf"\b{re.escape(word)}s?\b", text, flags) is not None

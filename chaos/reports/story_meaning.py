"""What a broken promise means for whoever runs the jobs: one or two plain sentences each."""

from __future__ import annotations

from chaos.event import BodyEnded, CallInvoked
from chaos.reports.story_names import Names, quoted
from chaos.reports.story_scene import Scene, attempts_of

_BY_PROMISE = {
    "no-standstill": "Nothing will ever go on from here.",
    "no-internal-errors": "This error comes from saq's own code: the job's function did not raise "
    "it.",
    "no-orphaned-contexts": "From here on an abort cannot reach {attempt}: as long as its function "
    "runs, nobody can end it.",
    "aborts-honoured": "An abort must end what was running when it was accepted, in time, and "
    "nothing else.",
    "no-lost-jobs": "Nothing will run this job any more, and nobody is told.",
    "no-phantom-runs": "A worker did something that nobody had asked for.",
    "one-at-a-time": "From here on the same work is done twice at the same time.",
    "terminal-is-final": "Whoever waited for this job had been told that it is over.",
    "bounded-attempts": "The job is run more often than whoever enqueued it allowed.",
}
_BY_KIND = {
    (
        "no-orphaned-contexts",
        "leaked",
    ): "The context stays in the worker's memory, and a later attempt may meet it.",
    ("no-lost-jobs", "refused"): "The job was never accepted, although nothing stood in its way.",
    ("aborts-honoured", "lost"): "The abort was accepted, and still nothing ended {attempt}.",
    (
        "aborts-honoured",
        "late",
    ): "The abort was accepted, and {attempt} ran on for longer than it may.",
    (
        "aborts-honoured",
        "ignored",
    ): "The abort was accepted and delivered, and still the job is not recorded as ABORTED.",
    (
        "aborts-honoured",
        "misdirected",
    ): "The abort was meant for an earlier attempt, and ends this one.",
    ("aborts-honoured", "stray"): "Nobody had asked to end this attempt.",
}


_TITLES = {
    ("no-standstill", "livelock"): "How a run came to spin without any time passing",
    ("no-standstill", "deadlock"): "How a run came to wait for ever",
    ("no-internal-errors", ""): "How saq came to raise {kind} on {job}",
    ("no-orphaned-contexts", ""): "How an attempt of {job} got out of an abort's reach",
    ("no-orphaned-contexts", "leaked"): "How a context of {job} was left behind",
    ("aborts-honoured", ""): "How an abort of {job} went wrong: {kind}",
    ("no-lost-jobs", "lost"): "How {job} was lost",
    ("no-lost-jobs", "stuck"): "How {job} got stuck",
    ("no-lost-jobs", "refused"): "How an enqueue of {job} was refused",
    ("no-phantom-runs", ""): "How {job} ran although nobody enqueued that: {kind}",
    ("one-at-a-time", ""): "How {job} came to run twice at the same time",
    ("terminal-is-final", "ran-again"): "How {job} ran again after its end",
    ("terminal-is-final", "requeued"): "How {job} was queued again after its end",
    ("terminal-is-final", "overwritten"): "How the end of {job} was overwritten",
    ("bounded-attempts", ""): "How {job} came to run too often",
}


def title(promise: str, scene: Scene) -> str:
    """The headline of a finding."""
    kind, job = scene.finding.kind, f"job {quoted(scene.job)}" if scene.job else scene.variant
    words = _TITLES.get((promise, kind)) or _TITLES.get((promise, ""))
    if words is None:
        words = f"How {promise or 'a promise'} came to be broken on {{job}}: {{kind}}"
    return words.replace("{kind}", kind).replace("{job}", job)


def sentence(message: str) -> str:
    """A finding's message as a sentence."""
    said = f"Job {message}" if message[:1] in ("'", '"') else message[:1].upper() + message[1:]
    return said if said.endswith(".") or not said else f"{said}."


def of(promise: str, scene: Scene, names: Names) -> str:
    """The meaning of the scene's finding; empty for a promise that this file does not know."""
    said = _BY_KIND.get((promise, scene.finding.kind), _BY_PROMISE.get(promise, ""))
    attempt = next(iter(attempts_of(scene.breaks)) if scene.breaks is not None else iter(()), "")
    if promise == "no-internal-errors" and not scene.job:
        said = "This error comes from saq's own code."
    said = said.replace("{attempt}", names.attempt(attempt) if attempt else "the attempt")
    if promise == "no-internal-errors":
        said = " ".join(filter(None, (said, _what_became(attempt, scene))))
    return said


def _what_became(attempt: str, scene: Scene) -> str:
    """What saq does with a job whose function had ended well."""
    mine = [one for one in scene.events if attempt and getattr(one, "attempt", "") == attempt]
    if not any(isinstance(one, BodyEnded) and one.outcome == "ok" for one in mine):
        return ""
    breaks_n = scene.breaks.n if scene.breaks is not None else 0
    for one in mine:
        if isinstance(one, CallInvoked) and one.n > breaks_n:
            if one.op == "retry":
                return "The function had ended well, and still its job is put back in the queue."
            if one.op == "finish":
                status = one.status.upper()
                return f"The function had ended well, and still its job is recorded as {status}."
    return ""

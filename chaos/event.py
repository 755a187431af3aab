"""The event vocabulary: everything that a history can say, as typed structs.

An event names its host, a stamp, and where it has one the job key and the attempt. Stamps are
microseconds of CLOCK_MONOTONIC since the run began. Order within a host is exact; across hosts it
is as good as the clock both read, so a checker asks for a causal link or a gap above the plan's
slack. A queue call is two events, invoked and returned: an invoked without a returned means that we
do not know whether it happened.

Host names are `controller`, or `<variant>/<role>-<slot>.<incarnation>` (`stock@0.26.3/worker-1.2`),
or `<variant>/redis`. An attempt is `<host>#<counter>`. In JSON an event is one flat object whose
`event` is the tag below.
"""

from __future__ import annotations

import msgspec

CONTROLLER = "controller"


class Event(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    tag_field="event",
):
    """What every event has. `n` is its place in the history, from 1."""

    n: int = 0
    t_us: int = 0
    host: str = CONTROLLER

    @property
    def variant(self) -> str:
        """The variant whose host this is; empty for the controller."""
        return self.host.rpartition("/")[0]


# --- a host about itself -------------------------------------------------------------------------


class HostBegan(Event, frozen=True, kw_only=True, tag="host-began"):
    """First record of a host: what runs there. `abort_us`, `grace_us`, `deadline_us` are saq's."""

    role: str
    pid: int = 0
    worker_id: str = ""
    python: str = ""
    saq: str = ""
    redis_py: str = ""
    patch: str = ""
    concurrency: int = 0
    abort_us: int = 1_000_000
    grace_us: int = 0
    deadline_us: int = 1_000_000


class HostStopping(Event, frozen=True, kw_only=True, tag="host-stopping"):
    """A worker was asked to stop (SIGTERM reached saq)."""


class HostEnded(Event, frozen=True, kw_only=True, tag="host-ended"):
    """Last record of a host that ended by itself, with its queue's own counters if it has one."""

    complete: int = 0
    failed: int = 0
    retried: int = 0
    aborted: int = 0


class Blind(Event, frozen=True, kw_only=True, tag="blind"):
    """The probe cannot see something here; whatever needs `what` is UNKNOWN for `reason`."""

    what: str  # contexts | process | queue:<call> | bodies
    reason: str


# --- calls of saq's -------------------------------------------------------------------------------


class CallInvoked(Event, frozen=True, kw_only=True, tag="call-invoked"):
    """`op` was called. `parent` is the call that made it (a sweep's abort, retry, finish)."""

    op: str
    call: int
    parent: int = 0
    job: str = ""
    attempt: str = ""
    enqueue: int = 0  # identity of the job's enqueue: its `queued` stamp, ms
    status: str = ""  # finish, update: the status it writes
    detail: str = ""  # abort, retry: the error text; enqueue: function


class CallReturned(Event, frozen=True, kw_only=True, tag="call-returned"):
    """`op` came back. `outcome`: ok, empty (None or False), fail (raised), cancelled."""

    op: str
    call: int
    job: str = ""
    attempt: str = ""
    enqueue: int = 0  # enqueue: the accepted job's `queued` stamp, ms
    outcome: str = "ok"
    detail: str = ""  # fail: exception type; enqueue: function and digest of kwargs


# --- attempts -------------------------------------------------------------------------------------


class AttemptBegan(Event, frozen=True, kw_only=True, tag="attempt-began"):
    """`dequeue` returned a job: an attempt is alive from here."""

    job: str
    attempt: str
    enqueue: int = 0
    tries: int = 0  # saq's `attempts` as dequeued, before this one
    retries: int = 1
    function: str = ""
    digest: str = ""


class ProcessEnded(Event, frozen=True, kw_only=True, tag="process-ended"):
    """`process()` of this attempt ended: ok, empty (returned False), raised or cancelled."""

    job: str
    attempt: str
    outcome: str = "ok"
    error: str = ""


class BodyBegan(Event, frozen=True, kw_only=True, tag="body-began"):
    """The job's function began (in its thread, if it is a sync one)."""

    job: str
    attempt: str
    thread: bool = False


class BodyCancelled(Event, frozen=True, kw_only=True, tag="body-cancelled"):
    """A cancel reached the body. `aborted` is what its own context's `aborted` said then."""

    job: str
    attempt: str
    aborted: str | None = None


class BodyEnded(Event, frozen=True, kw_only=True, tag="body-ended"):
    """The function ended, its thread included: ok, raised or cancelled."""

    job: str
    attempt: str
    outcome: str = "ok"
    error: str = ""


# --- the slot in job_task_contexts ----------------------------------------------------------------


class SlotSet(Event, frozen=True, kw_only=True, tag="slot-set"):
    """The worker registered this attempt's context."""

    job: str
    attempt: str


class SlotOverwritten(Event, frozen=True, kw_only=True, tag="slot-overwritten"):
    """Registering `by` pushed `attempt`'s context out: abort() cannot reach it any more."""

    job: str
    attempt: str
    by: str


class SlotRemoved(Event, frozen=True, kw_only=True, tag="slot-removed"):
    """`attempt`'s context left the map, taken by attempt `by` (itself, or a foreign pop)."""

    job: str
    attempt: str
    by: str = ""


class SlotMissed(Event, frozen=True, kw_only=True, tag="slot-missed"):
    """`attempt` looked for its context and found none (the KeyError of the seed bug)."""

    job: str
    attempt: str = ""


# --- errors ---------------------------------------------------------------------------------------


class ErrorRaised(Event, frozen=True, kw_only=True, tag="error-raised"):
    """An exception seen at `where`.

    `origin`: internal (saq's own code), body (the job's function), hook (a user's hook), timeout
    (the job's own), redis (the connection), unknown-function.
    `where`: process, log, loop, or the name of an upkeep task.
    """

    origin: str
    where: str
    error: str  # exception type
    message: str = ""
    line: str = ""  # file:line function of the innermost frame in saq
    traceback: str = ""
    job: str = ""
    attempt: str = ""


class UpkeepEnded(Event, frozen=True, kw_only=True, tag="upkeep-ended"):
    """An upkeep task of a worker ended while the worker was not stopping."""

    task: str
    error: str = ""


# --- what a producer reports ----------------------------------------------------------------------


class JobState(Event, frozen=True, kw_only=True, tag="job-state"):
    """One job as Redis holds it, seen by an inspection. `status` is empty if there is no record."""

    job: str
    status: str = ""
    enqueue: int = 0
    queued: int = 0  # times in the queued list
    active: int = 0  # times in the active list
    score: float | None = None  # in `incomplete`; 0, or the time it is scheduled for
    ttl_us: int = -1  # -1: none; -2: no record
    worker_id: str = ""


class QueueDepth(Event, frozen=True, kw_only=True, tag="queue-depth"):
    """How much is left: entries in the queued and active lists and in `incomplete`."""

    queued: int
    active: int
    incomplete: int


class Answered(Event, frozen=True, kw_only=True, tag="answered"):
    """A producer carried out the controller's command `call`; `error` if it failed."""

    call: int
    error: str = ""


# --- the controller -------------------------------------------------------------------------------


class RunBegan(Event, frozen=True, kw_only=True, tag="run-began"):
    """`wall` is the only wall-clock time of a history (ISO 8601, UTC)."""

    run: str
    plan: str
    world: str
    seed: int
    variants: tuple[str, ...]
    wall: str = ""


class ServerFound(Event, frozen=True, kw_only=True, tag="server-found"):
    """Variant `of` runs on this Redis: its name and version (`valkey 9.1.2`)."""

    server: str
    of: str


class PhaseBegan(Event, frozen=True, kw_only=True, tag="phase-began"):
    """safety, heal or liveness, of the named variant."""

    phase: str
    of: str


class FaultInjected(Event, frozen=True, kw_only=True, tag="fault-injected"):
    """Injection `number` of fault `fault` into variant `of`; `by` whom, if not by the plan."""

    fault: str
    number: int
    of: str
    by: str = ""


class FaultHealed(Event, frozen=True, kw_only=True, tag="fault-healed"):
    """Injection `number` is healed; `error` says what went wrong with it, if anything did."""

    fault: str
    number: int
    of: str
    error: str = ""


class HostStarted(Event, frozen=True, kw_only=True, tag="host-started"):
    """The controller started a process."""

    target: str
    role: str
    pid: int = 0


class HostSignalled(Event, frozen=True, kw_only=True, tag="host-signalled"):
    """The controller sent `signal` to a process."""

    target: str
    signal: str


class HostExited(Event, frozen=True, kw_only=True, tag="host-exited"):
    """A process is gone. `code` is negative for a signal; `expected`: the controller wanted it."""

    target: str
    code: int
    expected: bool = True


class LimitReached(Event, frozen=True, kw_only=True, tag="limit-reached"):
    """A limit of the plan ended variant `of` (or the run): its verdict is UNKNOWN."""

    limit: str
    of: str = ""


class RunEnded(Event, frozen=True, kw_only=True, tag="run-ended"):
    """finished, interrupted, aborted (a threshold), failed (the world)."""

    reason: str
    of: str = ""


AnyEvent = (
    HostBegan | HostStopping | HostEnded | Blind | CallInvoked | CallReturned | AttemptBegan
    | ProcessEnded | BodyBegan | BodyCancelled | BodyEnded | SlotSet | SlotOverwritten | SlotRemoved
    | SlotMissed | ErrorRaised | UpkeepEnded | JobState | QueueDepth | Answered | RunBegan
    | ServerFound | PhaseBegan | FaultInjected | FaultHealed | HostStarted | HostSignalled
    | HostExited | LimitReached | RunEnded
)  # fmt: skip

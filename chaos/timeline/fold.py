"""The fold itself: which part of the timeline hears of which event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from chaos import event as e
from chaos.timeline.aborts import Aborts
from chaos.timeline.attempts import Attempt, Attempts
from chaos.timeline.calls import Call, Calls
from chaos.timeline.hosts import Faults, Hosts
from chaos.timeline.internal_errors import InternalErrors
from chaos.timeline.jobs import Inspection, Jobs
from chaos.timeline.keys import PUTS_IN, Keys
from chaos.timeline.orphans import Orphans
from chaos.timeline.tally import Tally


class Timeline:
    """One variant's history, folded event by event.

    Args:
        variant: the variant's label, as it stands in host names.
        slack_us: how far the clocks of two hosts may be apart.

    `lock` is held while an event is folded; whoever reads from another thread holds it too.
    """

    def __init__(self, variant: str, slack_us: int) -> None:
        self.lock = threading.RLock()
        self.variant = variant
        self.slack_us = slack_us
        self.events = 0
        self.now_us = 0
        self.hosts = Hosts()
        self.faults = Faults()
        self.calls = Calls()
        self.attempts = Attempts(slack_us)
        self.orphans = Orphans()
        self.jobs = Jobs()
        self.keys = Keys(slack_us)
        self.aborts = Aborts(slack_us, self.hosts, self.faults, self._finish_aborts)
        self.errors = InternalErrors()
        self.tally = Tally()
        self.inspection = Inspection()
        self.depth: e.QueueDepth | None = None
        self.phases: dict[str, e.PhaseBegan] = {}
        self.run_began: e.RunBegan | None = None
        self.server = ""
        self.run_ended: e.RunEnded | None = None
        self.limits: list[e.LimitReached] = []
        self.first_load_us: int | None = None
        self._finish_abort_calls: dict[tuple[str, str], list[Call]] = {}
        self._handlers: dict[type[e.Event], Callable[[Any], None]] = self._subscribe()

    def feed(self, event: e.Event) -> None:
        """Fold one event. Events of one host come in that host's order, all by their stamps."""
        handler = self._handlers.get(type(event))
        with self.lock:
            self.events += 1
            self.now_us = max(self.now_us, event.t_us)
            if handler is not None:
                handler(event)

    def repeats(self) -> int:
        """Attempts that followed or met another one: what can run while another runs."""
        return self.attempts.repeats + self.attempts.meetings

    def jobs_finished(self) -> int:
        """Jobs for which a terminal status was recorded."""
        return sum(self.tally.finished.values())

    def _subscribe(self) -> dict[type[e.Event], Callable[[Any], None]]:
        return {
            e.HostBegan: self._host_began,
            e.HostStopping: self._host_stopping,
            e.HostEnded: self._host_ended,
            e.HostSignalled: self._host_signalled,
            e.HostExited: self._host_exited,
            e.Blind: lambda event: self.hosts[event.host].blind.append(event),
            e.CallInvoked: self._call_invoked,
            e.CallReturned: self._call_returned,
            e.AttemptBegan: self._attempt_began,
            e.ProcessEnded: self._process_ended,
            e.BodyBegan: self._body_began,
            e.BodyCancelled: self._body_cancelled,
            e.BodyEnded: self._body_ended,
            e.SlotSet: self._slot_set,
            e.SlotOverwritten: self._slot_gone,
            e.SlotRemoved: self._slot_gone,
            e.ErrorRaised: self._error_raised,
            e.UpkeepEnded: self.errors.upkeep_ended,
            e.JobState: self._job_state,
            e.QueueDepth: self._queue_depth,
            e.RunBegan: self._run_began,
            e.ServerFound: self._server_found,
            e.PhaseBegan: self._phase_began,
            e.FaultInjected: self.faults.injected,
            e.FaultHealed: self.faults.healed,
            e.LimitReached: self.limits.append,
            e.RunEnded: self._run_ended,
        }

    # --- hosts ------------------------------------------------------------------------------------

    def _host_began(self, event: e.HostBegan) -> None:
        self.hosts[event.host].began = event

    def _host_stopping(self, event: e.HostStopping) -> None:
        host = self.hosts[event.host]
        host.stopping = host.stopping or event

    def _host_ended(self, event: e.HostEnded) -> None:
        self.hosts[event.host].ended = event
        self._host_gone(event.host, event)

    def _host_signalled(self, event: e.HostSignalled) -> None:
        self.hosts[event.target].signalled(event)

    def _host_exited(self, event: e.HostExited) -> None:
        self.hosts[event.target].exit(event)
        self._host_gone(event.target, event)

    def _host_gone(self, name: str, event: e.Event) -> None:
        for attempt in self.attempts.on_host(name):
            attempt.host_gone = event
            if attempt.process_ended is None:
                self.tally.attempt_ended(attempt)
            self.attempts.forget_if_over(attempt)
        self.orphans.host_gone(name, event)
        self.keys.host_gone(name, event)
        self.jobs.host_gone(name, event)

    # --- calls ------------------------------------------------------------------------------------

    def _call_invoked(self, event: e.CallInvoked) -> None:
        self._began(self.calls.invoked(event))

    def _began(self, call: Call) -> None:
        op = call.op
        if op in ("enqueue", "retry", "finish", "abort"):
            self.keys.invoked(call)
        if op == "enqueue":
            if self.first_load_us is None:
                self.first_load_us = call.invoked.t_us
        elif op == "sweep":
            self.tally.sweeps += 1
        elif op == "abort":
            self._abort_began(call)
        elif op in ("finish", "retry"):
            self.jobs.called(call)
            attempt = self.attempts.by_id.get(call.invoked.attempt)
            if attempt is not None:
                attempt.calls.append(call)

    def _abort_began(self, call: Call) -> None:
        self.aborts.invoked(call)
        self.jobs.of(call.job, call.enqueue).aborts.append(call)
        sweep = call.inside("sweep")
        if sweep is not None:
            self.jobs.swept(call, sweep)
            self.tally.swept += 1
            self.tally.swept_live += bool(self.attempts.alive(call.job))

    def _call_returned(self, event: e.CallReturned) -> None:
        call, unseen = self.calls.returned(event)
        if unseen:
            self._began(call)
        op = call.op
        if op in ("enqueue", "retry", "finish", "abort"):
            self.keys.returned(call)
        if op == "enqueue":
            self._enqueued(call)
        elif op == "abort":
            self.aborts.returned(call, self.attempts.alive(call.job))
        elif op == "sweep":
            self.jobs.sweep_returned()
        if op in PUTS_IN and call.happened:
            self.tally.requeued_live += self._runs_elsewhere(call)
        if op in ("finish", "retry") and call.happened:
            self.tally.recorded(self.jobs.of(call.job, call.enqueue), call)
        elif op == "finish_abort" and call.happened:
            self._finish_abort_calls.setdefault((call.host, call.job), []).append(call)

    def _runs_elsewhere(self, call: Call) -> bool:
        """Whether an attempt of this key runs, other than the one that makes the call."""
        alive = self.attempts.alive(call.job)
        return any(one.body_alive and one.id != call.invoked.attempt for one in alive)

    def _enqueued(self, call: Call) -> None:
        job = self.jobs.enqueued(call)
        self.tally.enqueued(call, job)
        if job is not None and job.attempts:
            self.tally.waited(job)

    def _finish_aborts(self, host: str, job: str) -> list[Call]:
        return self._finish_abort_calls.get((host, job), [])

    # --- attempts ---------------------------------------------------------------------------------

    def _attempt_began(self, event: e.AttemptBegan) -> None:
        job = self.jobs.of(event.job, event.enqueue)
        gone = self.hosts[event.host].gone
        attempt = self.attempts.began(event, gone, repeat=bool(job.attempts))
        job.attempts.append(attempt)
        self.tally.began(job)
        job.retries = max(job.retries, event.retries)
        if len(job.attempts) == 1 and job.acknowledged:
            self.tally.waited(job)

    def _attempt(self, event: Any) -> Attempt:
        """The attempt of an event; a history by hand may speak of one that it never began."""
        attempt = self.attempts.by_id.get(event.attempt)
        if attempt is None:
            began = e.AttemptBegan(
                n=event.n, t_us=event.t_us, host=event.host, job=event.job, attempt=event.attempt
            )
            self._attempt_began(began)
            attempt = self.attempts.by_id[event.attempt]
        return attempt

    def _process_ended(self, event: e.ProcessEnded) -> None:
        attempt = self._attempt(event)
        attempt.process_ended = event
        self.errors.process_ended(event)
        self.tally.attempt_ended(attempt)
        self._close(attempt, event)

    def _body_began(self, event: e.BodyBegan) -> None:
        attempt = self._attempt(event)
        if attempt.body_began is None:
            job = self.jobs.of(attempt.job, attempt.began.enqueue)
            self.tally.jobs_run += all(other.body_began is None for other in job.attempts)
            self.tally.bodies += 1
            self.attempts.body_began(attempt, event)

    def _body_cancelled(self, event: e.BodyCancelled) -> None:
        self.aborts.cancelled(self._attempt(event), event)

    def _body_ended(self, event: e.BodyEnded) -> None:
        attempt = self._attempt(event)
        attempt.body_ended = event
        self.tally.ran(attempt)
        self._close(attempt, event)

    def _close(self, attempt: Attempt, event: e.Event) -> None:
        if self.attempts.forget_if_over(attempt):
            self.orphans.attempt_over(attempt, event)

    def _slot_set(self, event: e.SlotSet) -> None:
        self.attempts.slot_set(self._attempt(event), event)

    def _slot_gone(self, event: e.SlotOverwritten | e.SlotRemoved) -> None:
        self.orphans.slot_gone(self._attempt(event), event)

    def _error_raised(self, event: e.ErrorRaised) -> None:
        self.errors.raised(event)
        attempt = self.attempts.by_id.get(event.attempt)
        if attempt is not None and event.origin == "timeout":
            attempt.timed_out = True

    # --- what the controller and the producer say -------------------------------------------------

    def _job_state(self, event: e.JobState) -> None:
        self.inspection.states[event.job] = event

    def _queue_depth(self, event: e.QueueDepth) -> None:
        self.depth = event
        self.inspection.idle = not (event.queued or event.active or event.incomplete)

    def _run_began(self, event: e.RunBegan) -> None:
        self.run_began = event

    def _server_found(self, event: e.ServerFound) -> None:
        self.server = event.server

    def _phase_began(self, event: e.PhaseBegan) -> None:
        """A phase began: what was inspected before it is no longer the last word."""
        self.phases[event.phase] = event
        self.inspection = Inspection()

    def _run_ended(self, event: e.RunEnded) -> None:
        self.run_ended = event

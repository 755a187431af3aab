"""The fold: lifetimes, collisions, overlaps, and histories that nobody checked before writing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as some

from chaos import event as e
from chaos.checkers import CHECKERS
from chaos.counters import values
from chaos.event import AnyEvent
from chaos.judge import judge_promise
from chaos.timeline import Timeline
from tests.judge.histories import VARIANT, Story, plan


def test_an_attempt_lives_until_the_later_of_its_process_and_its_body() -> None:
    story = Story()
    worker = story.worker()
    thread = worker.begins("thread", at=10)
    thread.runs(at=11, thread=True)
    thread.ends(at=20)
    thread.body_ends(at=90)
    plain = worker.begins("plain", at=10)
    plain.runs(at=11)
    plain.body_ends(at=20)
    plain.ends(at=25)
    ends = [one.over.t_us for one in story.timeline().attempts.by_id.values() if one.over]
    assert ends == [90_000, 25_000]


def test_an_attempt_on_a_host_that_is_gone_ends_with_it() -> None:
    story = Story()
    killed, ended = story.worker(1), story.worker(2)
    killed.begins("a", at=10).runs(at=11)
    ended.begins("b", at=10).runs(at=11)
    story.killed(killed, at=20, gone=25)
    ended.ended(at=30)
    timeline = story.timeline()
    ends = [one.over.t_us for one in timeline.attempts.by_id.values() if one.over]
    assert (ends, timeline.attempts.alive_count()) == ([25_000, 30_000], 0)


def _collisions(story: Story) -> list[tuple[str, str]]:
    pairs = story.timeline().attempts.collisions
    return [(pair.earlier.id.partition("#")[2], pair.later.id.partition("#")[2]) for pair in pairs]


def test_a_collision_is_a_second_registration_while_the_first_process_goes_on() -> None:
    story = Story()
    worker = story.worker()
    first, second = worker.begins("k", at=10), worker.begins("k", at=11)
    first.runs(at=20)
    second.runs(at=21)
    assert _collisions(story) == [("1", "2")]


def test_no_collision_across_hosts_or_keys_or_after_the_process_has_ended() -> None:
    story = Story()
    here, there = story.worker(1), story.worker(2)
    first = here.begins("k", at=10)
    first.runs(at=11, thread=True)
    there.begins("k", at=12).runs(at=13)
    here.begins("other", at=14).runs(at=15)
    first.ends(at=20)
    here.begins("k", at=30).runs(at=31)
    assert _collisions(story) == []


def test_no_collision_with_an_attempt_that_has_not_registered_yet() -> None:
    story = Story()
    worker = story.worker()
    worker.begins("k", at=10)
    worker.begins("k", at=11).runs(at=12)
    assert _collisions(story) == []


def test_attempts_overlap_across_hosts_only_beyond_the_slack() -> None:
    short, long = Story(), Story()
    for story, end in ((short, 60), (long, 61)):
        first = story.worker(1).begins("k", at=0)
        second = story.worker(2).begins("k", at=10)
        first.ends(at=end)
        second.ends(at=500)
    counts = [values(story.timeline())["overlaps"] for story in (short, long)]
    assert counts == [0, 1]


def test_an_event_of_an_attempt_that_never_began_begins_it() -> None:
    """A history by hand may leave out what its writer did not care for."""
    story = Story()
    story.tell(e.BodyBegan, 5, f"{VARIANT}/worker-1.1", job="k", attempt="k#1")
    (attempt,) = story.timeline().attempts.by_id.values()
    assert (attempt.job, attempt.body_alive) == ("k", True)


def test_a_return_without_its_invocation_is_a_call_all_the_same() -> None:
    story = Story()
    fields = {"op": "enqueue", "call": 1, "job": "k", "enqueue": 1}
    story.tell(e.CallReturned, 5, story.producer, **fields)
    (job,) = story.timeline().jobs.all()
    assert (job.key, job.acknowledged) == ("k", True)


def test_a_job_without_an_id_that_is_enqueued_twice_is_two_jobs() -> None:
    story = Story()
    for at in (10, 100):
        story.enqueued("k", at=at, enqueue=0)
        run = story.worker().begins("k", at=at + 10, enqueue=0)
        run.runs(at=at + 11)
        run.completes(at=at + 20)
    assert [len(job.attempts) for job in story.timeline().jobs.all()] == [1, 1]


# --- anything at all ------------------------------------------------------------------------------

_HOSTS = [f"{VARIANT}/worker-1.1", f"{VARIANT}/worker-1.2", f"{VARIANT}/producer-1.1"]
_base = {"t_us": some.integers(0, 9), "host": some.sampled_from(_HOSTS)}
_job = {"job": some.sampled_from(["", "a", "b"])}
_attempt = {**_job, "attempt": some.sampled_from(["x#1", "x#2", "y#1"])}
_call = {
    **_job,
    "op": some.sampled_from(["enqueue", "finish", "retry", "abort", "sweep", "finish_abort"]),
    "call": some.integers(1, 4),
    "attempt": some.sampled_from(["", "x#1", "x#2"]),
    "enqueue": some.integers(0, 2),
}
_outcome = some.sampled_from(["ok", "empty", "fail", "raised", "cancelled"])
_target = {"t_us": some.integers(0, 9), "target": some.sampled_from(_HOSTS)}


def _event(
    kind: type[AnyEvent], **fields: some.SearchStrategy[object]
) -> some.SearchStrategy[AnyEvent]:
    return some.builds(kind, **{**_base, **fields})


_FAULTS = some.sampled_from(["pause", "redis_pause", "redis_restart"])
_EVENTS = some.one_of(
    _event(e.HostBegan, role=some.sampled_from(["worker", "producer"])),
    _event(e.HostStopping),
    _event(e.HostEnded),
    _event(e.Blind, what=some.just("contexts"), reason=some.just("hidden")),
    _event(e.CallInvoked, **_call, parent=some.integers(0, 4), status=some.just("aborted")),
    _event(e.CallReturned, **_call, outcome=_outcome),
    _event(e.AttemptBegan, **_attempt, enqueue=some.integers(0, 2)),
    _event(e.ProcessEnded, **_attempt, outcome=_outcome, error=some.sampled_from(["", "KeyError"])),
    _event(e.BodyBegan, **_attempt, thread=some.booleans()),
    _event(e.BodyCancelled, **_attempt, aborted=some.sampled_from([None, "swept"])),
    _event(e.BodyEnded, **_attempt, outcome=_outcome),
    _event(e.SlotSet, **_attempt),
    _event(e.SlotOverwritten, **_attempt, by=some.sampled_from(["x#1", "y#1"])),
    _event(e.SlotRemoved, **_attempt, by=some.sampled_from(["", "x#1", "x#2"])),
    _event(e.SlotMissed, **_attempt),
    _event(
        e.ErrorRaised,
        **_attempt,
        origin=some.sampled_from(["internal", "body", "timeout", "unknown-function"]),
        where=some.sampled_from(["log", "loop", "abort"]),
        error=some.just("KeyError"),
    ),
    _event(e.UpkeepEnded, task=some.just("abort"), error=some.sampled_from(["", "KeyError"])),
    _event(e.JobState, **_job, status=some.sampled_from(["", "queued", "aborting"])),
    _event(e.QueueDepth, queued=some.integers(0, 1), active=some.just(0), incomplete=some.just(0)),
    some.builds(
        e.HostSignalled,
        **_target,
        signal=some.sampled_from(["SIGKILL", "SIGTERM", "SIGSTOP", "SIGCONT"]),
    ),
    some.builds(e.HostExited, **_target, code=some.just(0), expected=some.booleans()),
    some.builds(e.FaultInjected, fault=_FAULTS, number=some.integers(1, 2), of=some.just(VARIANT)),
    some.builds(e.FaultHealed, fault=_FAULTS, number=some.integers(1, 2), of=some.just(VARIANT)),
)


@settings(max_examples=300, deadline=None)
@given(some.lists(_EVENTS, max_size=40))
def test_no_history_however_odd_breaks_the_fold_or_a_checker(events: list[AnyEvent]) -> None:
    timeline = Timeline(VARIANT, 2)
    for event in sorted(events, key=lambda one: one.t_us):
        timeline.feed(event)
    assert [name for name, value in values(timeline).items() if value < 0] == []
    reasons = [judge_promise(plan(), timeline, checker).reason for checker in CHECKERS]
    assert [reason for reason in reasons if reason.startswith("the checker raised")] == []

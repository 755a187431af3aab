"""What the probe records of saq, event by event, in real variants' environments.

A scenario (`scenarios/probing.py`) is one interleaving written down. An event is one line here: its
kind, what it is about, and its text; `enqueued` stands for the stamp that identifies an enqueue.
"""

from __future__ import annotations

import pytest

from tests.worker.conftest import Scenarios

STOCK_263 = "stock@0.26.3"
STOCK_264 = "stock@0.26.4"
DIGEST_OF_NOTHING = "fdac2cc9b8f2dccf"

on_both = pytest.mark.parametrize("variant", [STOCK_263, STOCK_264])

UNTIL_B_RUNS = [
    "call-invoked enqueue job=k call=1 enqueued |hold",
    "call-returned enqueue ok job=k call=1 enqueued hold|05a9770f52c830b0",
    "attempt-began job=k attempt=1 tries=0 retries=5 enqueued hold|05a9770f52c830b0",
    "call-invoked update job=k attempt=1 call=2 enqueued active",
    "call-returned update ok job=k attempt=1 call=2 enqueued",
    "slot-set job=k attempt=1",
    "body-began job=k attempt=1",
    "call-invoked retry job=k call=3 enqueued |swept",
    "call-returned retry ok job=k call=3 enqueued",
    "attempt-began job=k attempt=2 tries=1 retries=5 enqueued hold|05a9770f52c830b0",
    "call-invoked update job=k attempt=2 call=4 enqueued active",
    "call-returned update ok job=k attempt=2 call=4 enqueued",
    "slot-set job=k attempt=2",
]
OVERWRITTEN = "slot-overwritten job=k attempt=1 by=2"
A_FINISHES = [
    "body-began job=k attempt=2",
    "body-ended ok job=k attempt=1",
    "call-invoked finish job=k attempt=1 call=5 enqueued complete",
    "call-returned finish ok job=k attempt=1 call=5 enqueued",
]
B_FINISHES = [
    "process-ended ok job=k attempt=1",
    "body-ended ok job=k attempt=2",
    "call-invoked finish job=k attempt=2 call=6 enqueued complete",
    "call-returned finish ok job=k attempt=2 call=6 enqueued",
    "slot-removed job=k attempt=2 by=2",
    "process-ended ok job=k attempt=2",
]


GAVE_UP = (
    "call-invoked finish job=k attempt=1 call=4 enqueued failed|redis.exceptions.ConnectionError"
)


# --- a job's life ---------------------------------------------------------------------------------


@on_both
def test_one_job_leaves_exactly_these_events(scenarios: Scenarios, variant: str) -> None:
    assert scenarios("probing", variant)["one_job"] == [
        "call-invoked enqueue job=k call=1 enqueued |hold",
        f"call-returned enqueue ok job=k call=1 enqueued hold|{DIGEST_OF_NOTHING}",
        f"attempt-began job=k attempt=1 tries=0 retries=3 enqueued hold|{DIGEST_OF_NOTHING}",
        "call-invoked update job=k attempt=1 call=2 enqueued active",
        "call-returned update ok job=k attempt=1 call=2 enqueued",
        "slot-set job=k attempt=1",
        "body-began job=k attempt=1",
        "body-ended ok job=k attempt=1",
        "call-invoked finish job=k attempt=1 call=3 enqueued complete",
        "call-returned finish ok job=k attempt=1 call=3 enqueued",
        "slot-removed job=k attempt=1 by=1",
        "process-ended ok job=k attempt=1",
    ]


@pytest.mark.parametrize("variant", [STOCK_263, "by-key@0.26.3"])
def test_the_seed_bug_shows_the_overwrite_the_foreign_pop_the_miss_and_the_error(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["seed_bug"]

    assert found["events"] == [
        *UNTIL_B_RUNS,
        OVERWRITTEN,
        *A_FINISHES,
        "slot-removed job=k attempt=2 by=1",
        "process-ended ok job=k attempt=1",
        "body-ended ok job=k attempt=2",
        "slot-missed job=k attempt=2",
        "error-raised job=k attempt=2",
        "call-invoked retry job=k attempt=2 call=6 enqueued |KeyError",
        "call-returned retry ok job=k attempt=2 call=6 enqueued",
        "process-ended ok job=k attempt=2",
    ]
    (error,) = [dict(error) for error in found["errors"]]
    message = error.pop("message")
    assert error == {
        "job": "k",
        "attempt": 2,
        "origin": "internal",
        "where": "log",
        "error": "KeyError",
        "line": "worker.py:374 process",
    }
    assert message == ("Job k" if variant == STOCK_263 else "k")


@pytest.mark.parametrize("variant", [STOCK_264, "guarded@0.26.3", "guarded@0.26.4"])
def test_guarded_leaves_the_same_events_as_stock_0_26_4(scenarios: Scenarios, variant: str) -> None:
    found = scenarios("probing", variant)["seed_bug"]
    assert found == {
        "events": [*UNTIL_B_RUNS, OVERWRITTEN, *A_FINISHES, *B_FINISHES],
        "errors": [],
    }


@pytest.mark.parametrize("variant", ["by-id@0.26.3", "by-id@0.26.4"])
def test_by_id_overwrites_nothing_and_each_attempt_removes_its_own(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["seed_bug"]
    own = "slot-removed job=k attempt=1 by=1"
    assert found == {"events": [*UNTIL_B_RUNS, *A_FINISHES, own, *B_FINISHES], "errors": []}


# --- calls ----------------------------------------------------------------------------------------


@on_both
def test_an_abort_by_the_poll_names_the_poll_as_parent_of_what_it_finishes(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["aborted_by_the_poll"]
    own = [line for line in found if "attempt=1" in line]
    assert own == [
        "body-cancelled code=1 job=k attempt=1 stop it",
        "body-ended cancelled job=k attempt=1",
        "call-invoked finish job=k attempt=1 call=5 enqueued aborted|stop it",
        "call-returned finish ok job=k attempt=1 call=5 enqueued",
        "slot-removed job=k attempt=1 by=1",
        "process-ended empty job=k attempt=1",
    ]
    assert [line for line in found if line not in own] == [
        "call-invoked abort job=k call=3 enqueued |stop it",
        "call-returned abort ok job=k call=3 enqueued",
        "call-invoked poll_aborts call=4",
        "call-invoked finish_abort job=k call=6 enqueued ||4",
        "call-invoked finish job=k call=7 enqueued aborted|stop it|6",
        "call-returned finish ok job=k call=7 enqueued",
        "call-returned finish_abort ok job=k call=6 enqueued",
        "call-returned poll_aborts ok call=4",
    ]


@on_both
def test_a_sweep_is_the_parent_of_its_calls_and_an_empty_one_says_so(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["swept"] == [
        "call-invoked sweep call=3",
        "call-invoked abort job=k call=4 enqueued |swept|3",
        "call-returned abort ok job=k call=4 enqueued",
        "call-invoked finish job=k call=5 enqueued aborted|swept|3",
        "call-returned finish ok job=k call=5 enqueued",
        "call-returned sweep ok call=3",
        "call-invoked sweep call=6",
        "call-returned sweep empty call=6",
        "call-invoked finish job=k attempt=1 call=7 enqueued complete",
        "call-returned finish ok job=k attempt=1 call=7 enqueued",
    ]


@on_both
def test_an_enqueue_is_known_by_its_key_and_stamp_before_redis_hears_of_it(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["enqueues"]
    assert found["lines"] == [
        "call-invoked enqueue job=a call=1 enqueued |take",
        f"call-returned enqueue ok job=a call=1 enqueued take|{DIGEST_OF_NOTHING}",
        "call-invoked enqueue job=a call=2 enqueued |take",
        "call-returned enqueue empty job=a call=2 enqueued",
        "call-invoked enqueue job=b call=3 enqueued |take",
        f"call-returned enqueue ok job=b call=3 enqueued take|{DIGEST_OF_NOTHING}",
        "call-invoked enqueue job=c call=4 enqueued |take",
        "call-returned enqueue fail job=c call=4 enqueued TypeError",
    ]


@on_both
def test_the_digest_of_kwargs_is_that_of_what_arrives(scenarios: Scenarios, variant: str) -> None:
    found = scenarios("probing", variant)["enqueues"]
    assert (found["same"], found["other"]) == (1, True)


@on_both
def test_a_heartbeat_is_its_attempts_and_a_job_that_a_body_enqueues_is_not(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["inside_a_body"] == [
        "call-invoked update job=k attempt=1 call=2 enqueued active",
        "call-returned update ok job=k attempt=1 call=2 enqueued",
        "call-invoked update job=k attempt=1 call=3 enqueued",
        "call-returned update ok job=k attempt=1 call=3 enqueued",
        "call-invoked enqueue job=child call=4 enqueued |hold",
        f"call-returned enqueue ok job=child call=4 enqueued hold|{DIGEST_OF_NOTHING}",
        "call-invoked finish job=k attempt=1 call=5 enqueued complete",
        "call-returned finish ok job=k attempt=1 call=5 enqueued",
    ]


@on_both
def test_a_dequeue_that_is_cancelled_is_recorded_and_no_attempt_begins(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["cancelled_while_it_waits"] == {
        "process returned": False,
        "events": ["call-returned dequeue cancelled call=1"],
    }


# --- bodies ---------------------------------------------------------------------------------------


@on_both
def test_each_cancel_of_a_body_is_seen_with_what_its_context_said_then(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["cancels_that_the_body_swallows"] == [
        "body-began job=k attempt=1",
        "body-cancelled job=k attempt=1",
        "body-cancelled code=1 job=k attempt=1 because",
        "body-ended ok job=k attempt=1",
        "process-ended ok job=k attempt=1",
    ]


@on_both
def test_a_thread_that_outlives_its_job_ends_when_the_thread_does(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["a_thread_outlives_its_job"]
    assert found["before it ended"][:2] == [
        "body-began code=1 job=k attempt=1",
        "body-cancelled job=k attempt=1",
    ]
    assert found["before it ended"][-1] == "process-ended ok job=k attempt=1"
    assert found["after"] == "body-ended ok job=k attempt=1"
    assert found["in the main thread"] is False


@on_both
def test_every_kind_of_function_runs_as_before_under_its_own_name(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["kinds_of_functions"] == {
        "ran": ["plain", "object", "partial", "tick"],
        "async as before": True,
        "names": True,
        "bodies": [["plain", 0], ["object", 1], ["partial", 0], ["tick", 0]],
        "blind": [],
    }


# --- errors ---------------------------------------------------------------------------------------


@on_both
def test_an_error_is_saqs_own_only_if_nobody_else_raised_it(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["whose_errors"]
    assert found["errors"] == [
        ["raises", "body", "KeyError", "log"],
        ["times_out", "body", "TimeoutError", "log"],
        ["timeout", "timeout", "TimeoutError", "log"],
        ["unknown", "unknown-function", "KeyError", "log"],
        ["before", "hook", "KeyError", "log"],
        ["after", "body", "KeyError", "log"],
        ["after", "hook", "ValueError", "log"],
        ["bad arguments", "body", "TypeError", "log"],
    ]
    assert found["result"] == [["body", "TypeError"]]


@on_both
def test_a_function_called_with_wrong_arguments_never_began(
    scenarios: Scenarios, variant: str
) -> None:
    bodies = scenarios("probing", variant)["whose_errors"]["bodies"]
    assert bodies == [
        "body-began job=raises attempt=1",
        "body-ended raised job=raises attempt=1 KeyError",
        "body-began code=1 job=times_out attempt=2",
        "body-ended raised job=times_out attempt=2 TimeoutError",
        "body-began job=timeout attempt=3",
        "body-cancelled job=timeout attempt=3",
        "body-ended cancelled job=timeout attempt=3",
        "body-began job=after attempt=6",
        "body-ended raised job=after attempt=6 KeyError",
        "body-began job=result attempt=8",
        "body-ended ok job=result attempt=8",
    ]


@on_both
def test_errors_of_the_connection_are_redis_and_each_is_reported_once(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["errors_of_the_connection"] == {
        "errors": [["redis", "ConnectionError", "log"], ["redis", "ConnectionError", "process"]],
        "calls": [
            "call-invoked finish job=k attempt=1 call=3 enqueued complete",
            "call-returned finish fail job=k attempt=1 call=3 enqueued ConnectionError",
            GAVE_UP,
            "call-returned finish fail job=k attempt=1 call=4 enqueued ConnectionError",
            "process-ended raised job=k attempt=1 ConnectionError",
        ],
        "dequeue": ["call-returned dequeue fail call=5 ConnectionError"],
        "process returned": True,
    }


def test_an_assertion_that_leaves_process_is_internal_and_reported_once(
    scenarios: Scenarios,
) -> None:
    assert scenarios("probing", STOCK_263)["escaped_from_process"] == {
        "errors": [
            {
                "job": "k",
                "attempt": 1,
                "origin": "internal",
                "where": "process",
                "error": "AssertionError",
                "line": "worker.py:380 process",
                "message": "",
            }
        ],
        "ended": ["process-ended raised job=k attempt=1 AssertionError"],
    }


@on_both
def test_a_failing_poll_is_reported_by_name_and_an_upkeep_task_that_ends_as_well(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["upkeep_that_fails"] == {
        "errors": [["abort", "internal", "KeyError"], ["schedule", "redis", "ConnectionError"]],
        "ended": [{"task": "worker_info", "error": "Fatal"}],
        "calls": [
            "call-invoked poll_aborts call=1",
            "call-returned poll_aborts fail call=1 KeyError",
        ],
    }


@on_both
def test_what_ends_in_the_loops_handler_is_reported_and_handed_on(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["the_loops_handler"] == {
        "errors": [["body", "ValueError", "loop"]],
        "handed on": ["Task exception was never retrieved"],
        "restored": True,
    }


@on_both
def test_an_application_that_disables_saqs_logger_does_not_blind_the_probe(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["saqs_logger_switched_off"] == {
        "errors": [["hook", "ValueError", "process"]],
        "handlers unchanged": True,
    }


@on_both
def test_nothing_of_a_jobs_content_is_recorded(scenarios: Scenarios, variant: str) -> None:
    found = scenarios("probing", variant)["nothing_of_a_jobs_content"]
    assert found == {"seen": False, "errors": True}
    assert scenarios("probing", variant)["whose_errors"]["with a message"] == ["timeout", "unknown"]


# --- the observer itself --------------------------------------------------------------------------


@on_both
def test_what_cannot_be_observed_is_recorded_as_blind(scenarios: Scenarios, variant: str) -> None:
    unregistered = "an attempt ran that was not registered in job_task_contexts"
    assert scenarios("probing", variant)["blindness"] == {
        "Missing": [["contexts", "Missing has no job_task_contexts"]],
        "Property": [["contexts", "job_task_contexts is a property of Property"]],
        "Late": [["contexts", unregistered]],
        "Renamed": [["contexts", unregistered]],
        "Unfinished": [["queue:finish_abort", "Unfinished has no finish_abort()"]],
        "functions replaced": [
            ["bodies", "an attempt's function ran that the probe had not wrapped"]
        ],
    }


@on_both
def test_a_started_worker_records_its_stop_and_no_idle_poll(
    scenarios: Scenarios, variant: str
) -> None:
    found = scenarios("probing", variant)["a_started_worker"]
    assert found["lines"] == ["host-stopping {}"]
    assert found["cancelled dequeues"] in (9, 10)  # the slot that ran the job may not wait again


@on_both
def test_closing_the_probe_leaves_everything_as_it_was(scenarios: Scenarios, variant: str) -> None:
    assert scenarios("probing", variant)["closed"] == {
        "one probe": True,
        "as before": True,
        "callbacks": True,
        "filters": True,
    }


@on_both
def test_an_ended_job_is_let_go_without_the_garbage_collector(
    scenarios: Scenarios, variant: str
) -> None:
    assert scenarios("probing", variant)["idle"] == {"alive": 0, "live": 0}


@pytest.mark.parametrize("variant", [STOCK_263, STOCK_264, "guarded@0.26.3"])
def test_joined_or_not_the_probe_records_the_same(scenarios: Scenarios, variant: str) -> None:
    plain, joined = scenarios("probing", variant), scenarios("probing joined", variant)
    assert plain.keys() == joined.keys()
    by_two_tasks = "aborted_by_the_poll"  # whose order is the network's
    waiting = "a_started_worker"  # how many slots wait when it stops is the loop's
    for name in plain.keys() - {by_two_tasks, waiting}:
        assert joined[name] == plain[name], name
    assert sorted(joined[by_two_tasks]) == sorted(plain[by_two_tasks])
    assert joined[waiting]["lines"] == plain[waiting]["lines"]

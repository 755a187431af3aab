"""Loading a plan: every problem at once, each with its place and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos import plan_file
from chaos.errors import PlanError
from chaos.plan_file.loading import SIZE_MAX
from tests.plan.texts import SMALL, problems


def only(path: Path | str) -> str:
    """The one problem of a file."""
    with pytest.raises(PlanError) as caught:
        plan_file.load(path)
    (problem,) = caught.value.problems
    return problem


def test_a_small_plan_has_the_defaults() -> None:
    plan = plan_file.loads(SMALL)
    assert (plan.plan, plan.duration_us, plan.drain_us) == ("small", 10_000_000, 30_000_000)
    assert (plan.workers.count, plan.workers.timers.sweep_us, plan.seed) == (2, 60_000_000, 1)
    assert (plan.variants, plan.gate, plan.baseline) == (("stock@0.26.4",), "strict", None)


def test_a_plan_is_loaded_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert plan_file.load(file) == plan_file.load(str(file)) == plan_file.loads(SMALL)


BAD = """\
plan: Bad Name
duration: 10s
drain: 2m
gat: strict
workers:
  count: 0
  timers: {abort: 0s, sweep: 1500ms}
workload:
  kind: same_key
  keys: many
  rate: 20
  bodies:
    - {profile: quik}
    - {profile: quick, weight: 1.5, beat: 100ms}
faults:
  - {fault: sweep, every: 30s}
  - {fault: sweeep, every: 1s}
  - {fault: pause, every: 1s, at: [1s]}
  - {fault: kill, at: [1s, 12s]}
promises: [no-internal-eror]
exposures: {overlaps: 0}
thresholds: [{that: key_erors == 0}]
"""


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    found = problems(BAD)
    assert [problem.split(": ")[:2] for problem in found] == [
        ["1:1", "plan"],
        ["4:1", "gat"],
        ["6:3", "workers.count"],
        ["7:12", "workers.timers.abort"],
        ["7:23", "workers.timers.sweep"],
        ["10:3", "workload.keys"],
        ["11:3", "workload.rate"],
        ["13:8", "workload.bodies[0].profile"],
        ["14:24", "workload.bodies[1].weight"],
        ["14:37", "workload.bodies[1].beat"],
        ["16:20", "faults[0].every"],
        ["17:5", "faults[1]"],
        ["18:5", "faults[2]"],
        ["18:5", "faults[2].for"],
        ["19:28", "faults[3].at[1]"],
        ["20:12", "promises[0]"],
        ["21:13", "exposures.overlaps"],
        ["22:15", "thresholds[0].that"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "duration: 10s\n",
            "",
            "1:1: duration: `duration` is missing: how long load and faults go on",
        ),
        (
            "duration: 10s",
            "duration: 10",
            "2:1: duration: 10 is no duration: write a number and its unit, such as '250ms'",
        ),
        (
            "duration: 10s",
            "duration: 10 sec",
            ("2:1: duration: '10 sec' is no duration: write a number and us, ms, s, m or h "
            "('250ms')"),
        ),
        ("duration: 10s", "duration: 9999h", "2:1: duration: '9999h' is too long: at most 8784h"),
        (
            "duration: 10s",
            f"duration: {'9' * 400}h",
            f"2:1: duration: '{'9' * 400}h' is too long: at most 8784h",
        ),
        (
            "  kind: same_key",
            "  kind: same-key",
            ("3:1: workload: 'same-key' is no workload: did you mean 'same_key'? Accepted are "
            "same_key, app"),
        ),
        ("  kind: same_key", "  []", ("3:1: workload: a list is no mapping (`key: value`): what "
         "is enqueued")),
        (
            "  kind: same_key",
            "  kind: same_key\n  rate: 0/s",
            "5:3: workload.rate: '0/s' is out of range: from 0.006/h (one a week) to 1000000/s",
        ),
        (
            "  kind: same_key",
            "  kind: same_key\n  scheduled_share: 2",
            "5:3: workload.scheduled_share: 2 is out of range: from 0 to 1",
        ),
        (
            "  kind: same_key",
            "  kind: same_key\n  bodies: []",
            "5:3: workload.bodies: is empty: what attempts do",
        ),
        ("promises: [no-internal-errors]", "promises: no-internal-errors",
         "5:1: promises: 'no-internal-errors' is no list: the claims that are judged"),
        ("plan: small", "plan: small\nseed: true",
         "2:1: seed: true is no whole number: every draw of the run comes from it"),
        ("plan: small", "plan: small\norder: parallel",
         "2:1: order: 'parallel' is not known: accepted are side-by-side, in-turn"),
        ("plan: small", "plan: small\nworkers: {cuont: 3}",
         ("2:11: workers.cuont: no such key: did you mean 'count'? Accepted are count, "
         "concurrency, timers, grace, deadline")),
    ],
)  # fmt: skip
def test_a_problem_shows_the_value_and_the_way_out(old: str, new: str, problem: str) -> None:
    assert problems(SMALL.replace(old, new)) == [problem]


def test_yaml_problems_and_plan_problems_are_told_together_and_without_echoes() -> None:
    text = SMALL.replace("10s", "&d 10s") + "drain: *d\nfaults: [{fault: kill, every: *d}]\nx: 1\n"
    assert [problem.split(": ")[0] for problem in problems(text)] == ["2:11", "6:8", "7:31", "8:1"]


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "null"])
def test_an_empty_plan_is_refused(text: str) -> None:
    assert problems(text) == [
        " a plan is a mapping that begins with `plan: its-name`; this is empty"
    ]


def test_a_plan_that_is_a_list_is_refused() -> None:
    assert problems("- a\n") == [
        " a plan is a mapping that begins with `plan: its-name`; this is a list"
    ]


def test_broken_yaml_is_told_with_its_place() -> None:
    assert problems("plan: [a\nb: c\n") == [
        "2:2: no YAML: while parsing a flow sequence did not find expected ',' or ']'"
    ]


def test_an_unknown_name_lists_the_plans_that_ship() -> None:
    assert only("sam-key") == (
        "no plan is called 'sam-key': did you mean 'same-key'? Accepted are one-key, production, "
        "rolling-deploy, same-key, smoke, or the path of a YAML file"
    )


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert only(path) == f"cannot read the plan {str(path)!r}: No such file or directory"


def test_a_folder_is_no_plan(tmp_path: Path) -> None:
    assert only(tmp_path) == f"cannot read the plan {str(tmp_path)!r}: Is a directory"


def test_a_path_that_cannot_be_is_told() -> None:
    assert only("a\0b.yaml") == "cannot read the plan 'a\\x00b.yaml': embedded null byte"


def test_a_file_that_is_no_utf_8_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"plan: small\ndescription: caf\xe9\n")
    assert only(file) == f"{file}:2: byte 0xe9 is no UTF-8: save the file as UTF-8"


def test_a_file_that_is_too_large_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"#" * (SIZE_MAX + 1))
    assert only(file) == f"{file}: larger than 1048576 bytes: this is no plan"


SECRETS = """\
plan: small
duration: redis://:hunter2@host
variants: ["stock@https://me:hunter2@host/saq"]
workload:
  kind: app
  app: my.app:settings
  calls:
    - function: f
      kwargs: {url: "redis://me:hunter2@host/0"}
      job: {meta: {"https://x/?token=hunter2": 1}, ttl: "https://x/?a=1&secret=hunter2"}
promises: ["a://b:hunter2@c"]
description: see redis://:hunter2@host:1/
"""
PASSWORD = (
    "holds a URL with a password, and a plan is stored and shown: take it out (a function can read "
    "it from its environment; for Redis there is SAQCHAOS_REDIS_URL)"
)


def test_a_password_is_refused_anywhere_and_never_shown() -> None:
    found = problems(SECRETS)
    assert [problem.split(": ")[:2] for problem in found if problem.endswith(PASSWORD)] == [
        ["2:1", "duration"],
        ["3:12", "variants[0]"],
        ["9:16", "workload.calls[0].kwargs.url"],
        ["10:13", "workload.calls[0].job.meta"],
        ["10:52", "workload.calls[0].job.ttl"],
        ["11:12", "promises[0]"],
        ["12:1", "description"],
    ]
    assert "hunter2" not in "".join(found)
    assert len(found) > 7


def test_a_url_without_a_password_is_fine() -> None:
    text = f"{SMALL}description: see https://host:80/a@b and redis://me@host:6379/0?db=1\n"
    assert plan_file.loads(text).description.startswith("see")


def test_a_long_word_takes_no_longer_than_its_length() -> None:
    """Quadratic time over half a million letters would be many minutes."""
    found = problems(SMALL.replace("plan: small", f"plan: {'x' * 500_000}"))
    assert [problem.partition(" is not what")[2] for problem in found] == [
        " belongs here: its name: a-z, 0-9 and -"
    ]


def test_of_a_text_with_thousands_of_problems_the_first_hundred_are_told() -> None:
    keys = "".join(f"k{number}: 1\n" for number in range(2_000))
    found = problems(SMALL + keys)
    assert len(found) == 101
    assert found[0] == "1:1: 1900 more problems are not shown"
    assert "k0: no such key" in found[1]
    assert "k99: no such key" in found[100]


def test_a_list_that_is_empty_is_told_and_one_whose_items_are_wrong_is_not_called_empty() -> None:
    empty = SMALL.replace("promises: [no-internal-errors]", "promises: []")
    assert [one.split(": ", 2)[1:] for one in problems(empty)] == [
        ["promises", "is empty: the claims that are judged"]
    ]

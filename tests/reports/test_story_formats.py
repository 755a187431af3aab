"""A story as text and as a page: complete, within its width, harmless, clear without colour."""

from __future__ import annotations

import re

import msgspec
import pytest

from chaos.history import History
from chaos.reports import story, story_svg
from chaos.reports.story import Story as Told
from chaos.verdict import Finding
from tests.judge.histories import Story
from tests.reports import story_cases
from tests.reports.story_cases import CASES, key_error, started, swept, told
from tests.reports.test_pages import Tags

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e&\"'</title>"
TEXT = """\
How saq came to raise KeyError on job 'k'
stock@0.26.3, promise no-internal-errors: saq's own code raises nothing: no KeyError or assertion
out of process(), no exception that ends an upkeep task.

In short
  1. The producer enqueues the job.
  2. Attempt 1 of the job starts on worker 1, registers its context in the slot, and runs the job's
     function.
  3. 489 ms later a sweep on the producer aborts the job as stuck and 20 ms later puts the job back
     in the queue.
  4. Attempt 2 of the job starts on worker 1, overwrites attempt 1's context in the slot with its
     own, and runs the job's function.
  5. 174 ms later attempt 1 is cancelled for an abort, ends its function because of the cancel, and
     empties the slot in its clean-up, although it holds attempt 2's context.
  6. 799 ms later attempt 2 ends its function well, finds no context in the slot, fails in saq's own
     code with KeyError at worker.py:374 in process(), and puts the job back in the queue
     (KeyError).
  ✗  What is wrong: Attempt 2 fails in saq's own code with KeyError at worker.py:374 in process().
     This error comes from saq's own code: the job's function did not raise it. The function had
     ended well, and still its job is put back in the queue.

Step by step
  P producer; R Redis; worker 1: S whose context its slot holds, A1 attempt 1, A2 attempt 2
  ┊ the attempt is there   ┃ its function runs   ● it acts   ✗ here it breaks
      time  P   R   S   A1  A2
      0 ms  ●──►·   -           The producer enqueues the job.
      5 ms  ·   ·──────►●       Attempt 1 of the job starts on worker 1, registers its context in
            ·   ·   A1  ┃       the slot, and runs the job's function.
    495 ms  ●──►·   A1  ┃       A sweep on the producer aborts the job as stuck.
    515 ms  ●──►·   A1  ┃       A sweep on the producer puts the job back in the queue.
    520 ms  ·   ·──────────►●   Attempt 2 of the job starts on worker 1, overwrites attempt 1's
            ·   ·   A2  ┃   ┃   context in the slot with its own, and runs the job's function.
    695 ms  ·   ·   -◄──●   ┃   Attempt 1 is cancelled for an abort, ends its function because of
            ·   ·   -       ┃   the cancel, empties the slot in its clean-up, although it holds
            ·   ·   -       ┃   attempt 2's context, and is over.
   1.495 s  ·   ·   -◄╌╌╌╌╌╌●   Attempt 2 ends its function well and finds no context in the slot.
   1.496 s  ·   ·   -       ✗   ✗ HERE IT BREAKS: Attempt 2 fails in saq's own code with KeyError at
            ·   ·   -       ┊   worker.py:374 in process().
   1.497 s  ·   ·◄──────────●   Attempt 2 puts the job back in the queue (KeyError).
"""


def hostile() -> Told:
    """A story in which whatever comes from a run is hostile."""
    history = key_error()
    events = [
        msgspec.structs.replace(event, job=HOSTILE) if getattr(event, "job", "") else event
        for event in history.history()
    ]
    found = Finding(kind=HOSTILE, message=f"{HOSTILE!r} {HOSTILE}", job=HOSTILE, events=(23,))
    return story.of(History(events), found, promise=HOSTILE, notes=(HOSTILE,))


# --- text -----------------------------------------------------------------------------------------


def test_the_whole_text() -> None:
    it = told("no-internal-errors", "KeyError", key_error())
    assert story.text(it, 100).partition("\nWords\n")[0] == TEXT


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
@pytest.mark.parametrize(("promise", "kind", "history"), CASES)
def test_no_line_is_wider_than_it_may_be(
    promise: str, kind: str, history: story_cases.Case, width: int
) -> None:
    lines = story.text(told(promise, kind, history()), width).splitlines()
    assert [line for line in lines if len(line) > width] == []


def test_where_there_is_no_room_for_lanes_the_steps_are_a_list_with_the_slot() -> None:
    text = story.text(told("no-internal-errors", "KeyError", key_error()), 60)
    assert "●" not in text
    assert (
        "    520 ms  Attempt 2 of the job starts on worker 1,\n"
        "            overwrites attempt 1's context in the slot with\n"
        "            its own, and runs the job's function.\n"
        "            [slot of worker 1: attempt 2]\n"
    ) in text
    assert "[slot of worker 1: empty]" in text


def test_colour_is_only_there_when_asked_for_and_only_where_it_breaks() -> None:
    it = told("no-internal-errors", "KeyError", key_error())
    assert "\x1b" not in story.text(it)
    red = [line for line in story.text(it, colour=True).splitlines() if "\x1b[31;1m" in line]
    assert all("✗" in line or "worker.py:374" in line for line in red)
    assert len(red) == 3


def test_nothing_from_a_run_reaches_the_terminal_as_a_control_character() -> None:
    text = story.text(hostile())
    assert not [one for one in text if (one < " " and one != "\n") or one == "\u202e"]
    assert "\\x1b[31m\\u202e" in text


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("promise", "kind", "history"), CASES)
def test_a_page_is_well_formed_and_runs_and_fetches_nothing(
    promise: str, kind: str, history: story_cases.Case
) -> None:
    tags = Tags(story.html(told(promise, kind, history())))
    assert tags.open == []
    assert set(tags.names) & {"script", "link", "img", "iframe", "image", "use"} == set()
    addresses = [value for name, value in tags.attributes if name in ("src", "href", "xlink:href")]
    assert addresses == []


def test_a_page_says_the_same_three_times_as_picture_sentences_and_table() -> None:
    it = told("no-internal-errors", "KeyError", key_error())
    page = story.html(it)
    assert page.count('<svg role="img">') == len(it.steps)
    for sentence in it.summary:
        assert sentence.replace("'", "&#x27;") in page
    for step in it.steps:
        assert page.count(f"{step.text.replace(chr(39), '&#x27;')}") >= 2
    assert '<th scope="col">slot of worker 1 holds</th>' in page
    assert "<td>13, 14, 15, 16</td>" in page
    assert "<code>stock@0.26.3/worker-1.1#2</code>" in page


def test_each_strip_of_the_picture_has_a_title_in_words() -> None:
    strips = list(story_svg.strips(told("no-internal-errors", "KeyError", key_error())))
    titles = [re.findall(r"<title>(.*?)</title>", strip) for strip in strips]
    assert [len(one) for one in titles] == [1] * len(strips)
    assert titles[4] == [
        (
            "worker 1, attempt 2 (stock@0.26.3/worker-1.1#2); arrow to worker 1, attempt 2 "
            "(stock@0.26.3/worker-1.1#2); arrow to worker 1, slot (stock@0.26.3/worker-1.1); slot "
            "of worker 1: attempt 2"
        )
    ]


def test_where_it_breaks_there_is_a_mark_and_a_word_beside_the_colour() -> None:
    page = story.html(told("no-internal-errors", "KeyError", key_error()))
    assert page.count('<b class="here">✗ Here it breaks.</b>') == 1
    assert page.count('class="broken"') == 1
    assert page.count('class="cross" d=') == 1


def test_the_page_knows_dark_print_and_narrow() -> None:
    page = story.html(told("no-internal-errors", "KeyError", key_error()))
    for query in ("(prefers-color-scheme: dark)", "print", "(max-width: 52rem)"):
        assert f"@media {query}" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


def test_markup_from_a_run_is_literal_in_the_page() -> None:
    page = story.html(hostile())
    assert "<script" not in page.lower()
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert Tags(page).open == []


def test_a_long_key_is_shortened_where_it_would_not_fit() -> None:
    history = Story()
    key = "order/" + "x" * 300
    history.enqueued(key, at=5)
    for slot, at in ((1, 10), (2, 40)):
        history.worker(slot).begins(key, at=at, tries=slot - 1).runs(at=at + 1)
    history.aborted(key, at=2000)
    it = told("one-at-a-time", "across-hosts", history)
    assert it.title == (
        "How job 'order/xxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxx' came to run twice at the same "
        "time"
    )
    assert "x" * 60 not in it.why


def test_more_than_eight_lanes_are_drawn_narrow() -> None:
    history = Story()
    history.enqueued("k", at=5)
    for slot in range(1, 11):
        run = history.worker(slot).begins("k", at=10 * slot, tries=slot - 1, retries=2)
        run.runs(at=10 * slot + 1)
    it = told("bounded-attempts", "too-many", history)
    assert len(it.lanes) == 12
    assert '<div class="story many" style="--lanes: 12">' in story.html(it)
    few = told("bounded-attempts", "too-many", story_cases.too_many())
    assert '<div class="story" style="--lanes: 5">' in story.html(few)


def test_a_gap_is_said_in_the_picture() -> None:
    history = Story()
    run = started(history, history.worker(1))
    swept(history, at=100)
    for beat in range(30):
        run.call("update", at=200 + beat)
    run.cancelled(at=900)
    run.body_ends(at=900, outcome="cancelled")
    run.ends(at=901)
    page = story.html(told("aborts-honoured", "stray", history))
    assert '<span class="said">… left out: 30 updates</span>' in page

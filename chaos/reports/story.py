"""The story of a failure: how a promise came to be broken, for somebody who does not know saq.

    Finding + History ──► scene ──► items ──► steps, lanes, summary = Story ──► text · html
                         (story_scene, story_items, story_words, story_steps, story_lanes)

    story = of(history, finding, promise="no-internal-errors")
    text(story, width=100)      for a terminal
    html(story)                 one self-contained page

Everything is chosen by general rules over kinds of events, nothing is written for one bug. It works
on histories of the live world and of the simulator alike, and on those written by hand.
"""

from __future__ import annotations

import msgspec

from chaos.checkers import CHECKERS
from chaos.errors import UsageError
from chaos.history import History
from chaos.reports import story_glossary, story_items, story_lanes, story_meaning, story_steps
from chaos.reports.story_model import Arrow, Lane, Step, Story
from chaos.reports.story_names import Names, quoted
from chaos.reports.story_page import html
from chaos.reports.story_relevance import Relevance
from chaos.reports.story_scene import Scene, set_up
from chaos.reports.story_text import text
from chaos.reports.story_words import Said, Words
from chaos.verdict import Finding, Outcome, Verdict

__all__ = ["Arrow", "Choice", "Lane", "Step", "Story", "choose", "html", "of", "text"]


LANES_MAX = 8  # more are drawn only if there is no way around it


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of a verdict, with what it is a finding of. `number` counts from 1."""

    variant: str
    promise: str
    finding: Finding
    number: int = 1


def of(
    history: History,
    found: Finding | Choice | Verdict,
    *,
    promise: str = "",
    variant: str = "",
    notes: tuple[str, ...] = (),
) -> Story:
    """The story of a finding, or of the worst one of a verdict.

    Args:
        promise: the promise that the finding breaks, for the title and the claim.
        variant: needed only if the finding's events do not say.
        notes: shown below the summary, one paragraph each (the stacks of a deadlock).

    Raises:
        UsageError: the verdict has no finding.
    """
    if isinstance(found, Verdict):
        found = choose(found, promise=promise, variant=variant)
    if isinstance(found, Choice):
        promise, variant, found = found.promise, found.variant, found.finding
    return _told(set_up(history, found, variant), promise, notes)


def _told(scene: Scene, promise: str, notes: tuple[str, ...]) -> Story:
    relevance = Relevance(scene)
    words, names, kept = _in_words(scene, relevance)
    lanes = story_lanes.Lanes(scene, kept, relevance.slots, names)
    if len(lanes.all) > LANES_MAX and relevance.forget_slots():
        words, names, kept = _in_words(scene, relevance)
        lanes = story_lanes.Lanes(scene, kept, relevance.slots, names)
    gaps = story_items.left_out(scene, kept)
    told = story_steps.steps(scene, kept, gaps, lanes, words, names)
    steps = told if lanes.all else ()  # a finding may point at events of nobody in its story
    breaks_n = scene.breaks.n if scene.breaks is not None else 0
    breaks_at = next((n for n, step in enumerate(steps) if breaks_n in step.events), -1)
    summary = story_steps.summary(kept, scene, words)
    why = names.plain(scene.finding.message).replace(repr(scene.job), quoted(scene.job))
    if promise == "no-internal-errors" and breaks_at >= 0:
        why = steps[breaks_at].text
    why = story_meaning.sentence(why)
    return Story(
        title=story_meaning.title(promise, scene),
        promise=promise,
        claim=next((one.claim for one in CHECKERS if one.name == promise), ""),
        variant=scene.variant,
        job=scene.job,
        summary=summary,
        lanes=tuple(lanes.all),
        steps=steps,
        breaks_at=breaks_at,
        why=why,
        means=story_meaning.of(promise, scene, names),
        notes=(*_notes(scene), *notes),
        words=story_glossary.used_in([*summary, *(step.text for step in steps), why]),
    )


def choose(verdict: Verdict, *, promise: str = "", variant: str = "", number: int = 1) -> Choice:
    """The `number`th finding of a promise; by default the first of the worst promise.

    The worst is the first broken one in the plan's order. A variant that makes the gate fail comes
    before its baseline.

    Raises:
        UsageError: there is no such finding; the message says what there is.
    """
    variants = sorted(verdict.variants, key=lambda one: one.variant == verdict.gate.baseline)
    if verdict.gate.outcome is not Outcome.INVALID:
        variants = list(verdict.variants)
    broken = [
        (one.variant, each)
        for one in variants
        for each in one.promises
        if each.findings and promise in ("", each.promise) and variant in ("", one.variant)
    ]
    if broken and 0 < number <= len(broken[0][1].findings):
        name, each = broken[0]
        finding = each.findings[number - 1]
        return Choice(variant=name, promise=each.promise, finding=finding, number=number)
    raise UsageError(_nothing_to_tell(verdict, promise, variant, number))


def _nothing_to_tell(verdict: Verdict, promise: str, variant: str, number: int) -> str:
    there = [
        f"{one.variant} {each.promise} (1 to {len(each.findings)})"
        for one in verdict.variants
        for each in one.promises
        if each.findings
    ]
    if not there:
        return "there is no story to tell: no promise was broken"
    asked = " ".join(filter(None, (variant, promise, f"number {number}")))
    return f"there is no finding {asked}; there are: {', '.join(there)}"


def _in_words(scene: Scene, relevance: Relevance) -> tuple[Words, Names, tuple[Said, ...]]:
    """What is told, with names that are as short as those hosts allow."""
    attempts = [one.id for one in scene.attempts]
    words = Words(scene.events, Names(attempts, ()), relevance.enqueue_n)
    kept = story_items.chosen(scene, relevance, words)
    names = Names(attempts, story_items.hosts_in(kept, scene))
    words = Words(scene.events, names, relevance.enqueue_n)
    return words, names, story_items.chosen(scene, relevance, words)


def _notes(scene: Scene) -> list[str]:
    notes: list[str] = []
    if scene.earlier:
        notes.append(
            f"{scene.earlier} earlier {'attempt' if scene.earlier == 1 else 'attempts'} of this "
            "job had been made before; attempts are numbered within this story."
        )
    if scene.hidden:
        were = "attempt of the job was" if scene.hidden == 1 else "attempts of the job were"
        notes.append(f"{scene.hidden} more {were} alive meanwhile and left out.")
    return notes

"""What a conformance run found: how much was compared, and every difference as a short program."""

from __future__ import annotations

import msgspec


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One program on which the two disagree, cut down to the steps that are needed.

    Attributes:
        number: which program of the run, from 0.
        steps: what the clients did, one line each.
        where: the step, or what of the data at the end, at which they disagree.
        real: what the real server answered.
        model: what the model answered.
    """

    number: int
    steps: tuple[str, ...]
    where: str
    real: str
    model: str


class ConformanceReport(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one run.

    Attributes:
        server: name and version of the real server.
        seed: what the programs were drawn from.
        programs: how many ran to their end on both sides.
        steps: commands sent to each side.
        replies: replies and pushes compared, errors among them counted in `errors`.
        blocked: how often a client was found blocked on both sides.
        pauses: how often real time passed.
        repeated: programs that ran again because this machine was too slow for their deadlines.
        given_up: programs left out because it was too slow each time.
        commands: how often each command was sent, most frequent first.
        scripts: how many different scripts of saq's the programs ran, among others.
        differences: at most as many as were asked for.
        seconds: how long it took.
    """

    server: str
    seed: int
    programs: int
    steps: int
    replies: int
    errors: int
    blocked: int
    pauses: int
    repeated: int
    given_up: int
    commands: tuple[tuple[str, int], ...]
    scripts: int
    differences: tuple[Difference, ...]
    seconds: float

    @property
    def agrees(self) -> bool:
        """Whether all programs ran and none showed a difference."""
        return not self.differences and not self.given_up

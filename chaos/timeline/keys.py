"""Keys: whether the queue held a key when it refused to enqueue it.

A queue holds a key from an enqueue or retry until a finish or abort takes it out of the set of
unfinished jobs; and an abort leaves a marker that refuses the key for 5 seconds more. This is kept
on the safe side: what overlaps, what is unclear, and what a dead host was doing count as holding,
so that a refusal is only called groundless when nothing of that key was there.

Not known here: a marker's time to live if an application calls `job.abort(ttl=…)` with another.
"""

from __future__ import annotations

import msgspec

from chaos.event import Event
from chaos.timeline.calls import Call

MARKER_US = 5_000_000
NEVER_US = -(1 << 62)
PUTS_IN = ("enqueue", "retry")


class KeyState(msgspec.Struct, kw_only=True, eq=False):
    """What is known about one key in the queue.

    Attributes:
        held: something of it may be unfinished.
        put_us, put_by: when and where the last call that may have put it in came back.
        taken_us: when the last call that surely took it out came back.
        marker_until_us: until when an abort's marker may be there.
        in_flight: calls that may be changing it now.
    """

    held: bool = False
    put_us: int = NEVER_US
    put_by: str = ""
    taken_us: int = NEVER_US
    marker_until_us: int = NEVER_US
    in_flight: list[Call] = []


class Keys:
    """Every key of one variant's queue."""

    def __init__(self, slack_us: int) -> None:
        self.groundless: list[Call] = []
        self._slack_us = slack_us
        self._keys: dict[str, KeyState] = {}

    def invoked(self, call: Call) -> None:
        """A call that may change the key began."""
        self._of(call.job).in_flight.append(call)

    def returned(self, call: Call) -> None:
        """It came back."""
        returned, key = call.returned, self._of(call.job)
        if returned is None:
            return
        if call in key.in_flight:
            key.in_flight.remove(call)
        if call.op == "enqueue" and call.refused:
            self._refused(call, key)
        elif call.op in PUTS_IN:
            key.held, key.put_us, key.put_by = True, returned.t_us, call.host
        elif call.happened:
            self._taken_out(call, key, returned.t_us)
        if call.op == "abort":
            key.marker_until_us = returned.t_us + MARKER_US + self._slack_us

    def host_gone(self, host: str, event: Event) -> None:
        """A host is gone: whatever it had in flight may have happened."""
        for key in self._keys.values():
            for call in [one for one in key.in_flight if one.host == host]:
                key.in_flight.remove(call)
                if call.op in PUTS_IN:
                    key.held, key.put_us, key.put_by = True, event.t_us, host
                if call.op == "abort":
                    key.marker_until_us = event.t_us + MARKER_US + self._slack_us

    def _taken_out(self, call: Call, key: KeyState, now_us: int) -> None:
        putting = any(one.op in PUTS_IN for one in key.in_flight)
        slack_us = 0 if key.put_by == call.host else self._slack_us
        if not putting and key.put_us + slack_us <= call.invoked.t_us:
            key.held, key.taken_us = False, now_us

    def _refused(self, call: Call, key: KeyState) -> None:
        """Groundless if nothing of this key was in the queue while the call was out."""
        began_us = call.invoked.t_us
        others = [one for one in key.in_flight if one.op in (*PUTS_IN, "abort")]
        recently_us = max(key.taken_us + self._slack_us, key.marker_until_us)
        if not key.held and not others and began_us > recently_us:
            self.groundless.append(call)

    def _of(self, key: str) -> KeyState:
        state = self._keys.get(key)
        if state is None:
            state = self._keys[key] = KeyState()
        return state

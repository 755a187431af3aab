"""A sorted set: members with scores, in order of (score, member).

A dictionary gives the score of a member, a sorted list the order; both change together. Inserting
into the list moves memory, which for the sizes here is quicker than any tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort


class SortedSet:
    """Members and scores. It may be empty for a moment: whoever empties it removes the key."""

    __slots__ = ("order", "scores")

    def __init__(self) -> None:
        self.scores: dict[bytes, float] = {}
        self.order: list[tuple[float, bytes]] = []

    def __len__(self) -> int:
        return len(self.scores)

    def copy(self) -> SortedSet:
        """Another set with the same members and scores."""
        twin = SortedSet()
        twin.scores = self.scores.copy()
        twin.order = self.order.copy()
        return twin

    def put(self, member: bytes, score: float) -> None:
        """Add a member or move it to a score."""
        score += 0.0  # -0 is stored as 0
        old = self.scores.get(member)
        if old is not None:
            del self.order[bisect_left(self.order, (old, member))]
        self.scores[member] = score
        insort(self.order, (score, member))

    def remove(self, member: bytes) -> bool:
        """Take a member out; False if it is not in."""
        score = self.scores.pop(member, None)
        if score is None:
            return False
        del self.order[bisect_left(self.order, (score, member))]
        return True

    def rank(self, member: bytes) -> int | None:
        """Place in the order, from 0; None if it is not in."""
        score = self.scores.get(member)
        return None if score is None else bisect_left(self.order, (score, member))

    def first_at(self, score: float, beyond: bool) -> int:
        """Place of the first member whose score is at least `score`, or above it if `beyond`."""
        if beyond:
            return bisect_right(self.order, score, key=_score_of)
        return bisect_left(self.order, score, key=_score_of)

    def remove_slice(self, start: int, stop: int) -> int:
        """Take out the members at places `start` up to, not including, `stop`; how many."""
        gone = self.order[start:stop]
        for _, member in gone:
            del self.scores[member]
        del self.order[start:stop]
        return len(gone)


def _score_of(entry: tuple[float, bytes]) -> float:
    return entry[0]

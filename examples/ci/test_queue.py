"""A project's own test: 50 seeds of the same-key plan on the saq that this environment has."""

import pytest


@pytest.mark.saq_chaos(plan="same-key", seeds=50, promises=["no-internal-errors"])
def test_saq_raises_nothing_while_attempts_of_a_key_overlap(saq_chaos):
    saq_chaos.explore()

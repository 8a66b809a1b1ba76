"""Outages in words: who is named, what is counted, and what is said of how long it took."""

import pytest
from msgspec.structs import replace

from leeward.api.outage import ClusterOutage, OutageStep, StepKind
from leeward.operations.outage_story import recovery_of
from tests.answers_page import running


def with_steps(outage: ClusterOutage, *steps: OutageStep) -> ClusterOutage:
    return replace(outage, status=replace(outage.status, steps=steps))


@pytest.mark.parametrize(("tolerated", "said"), [(300, "are thresholds and tolerations"), (None, "before it left")])
def test_what_the_slowest_waited_for_is_a_toleration_only_where_a_taint_evicted(
    tolerated: int | None, said: str
) -> None:
    outage = running()
    steps = [replace(each, tolerated_seconds=tolerated) for each in outage.status.steps if each.kind is StepKind.LEFT]
    assert recovery_of(with_steps(outage, *steps)).endswith(f"10 min 30 s of it {said}")
    assert recovery_of(with_steps(outage)).endswith("10 min 30 s of it before it left"), "nobody knows why it left"

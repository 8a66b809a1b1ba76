"""History of an application in words: no reason of an event as it is written in code."""

import re

import pytest

from kubeapi.meta import ObjectMeta
from leeward.answers.application_history import history_of
from leeward.api.core import Event
from tests.builders import at

REASONS = {
    "ScheduleBindingSucceed": "Placed",
    "EvictWorkloadFromClusterFailed": "Not evicted",
    "ClusterOutage": "Cluster lost",
    "DependenciesMissing": "Dependencies missing",
    "SyncWorkFailed": "Sync work failed",
    "GetReplicasSucceed": "Get replicas succeeded",
}


@pytest.mark.parametrize("reason", REASONS)
def test_an_event_is_told_in_words(reason: str) -> None:
    event = Event(metadata=ObjectMeta(name="e"), reason=reason, message="m", last_timestamp=at(0), count=3)
    (line,) = history_of("Deployment", "default", "web", (), [event])
    assert (line.word, line.sentence) == (REASONS[reason], "m (3 times)")
    assert not re.search("[a-z][A-Z]", line.word)


def test_a_placement_is_told_by_its_places() -> None:
    said = "Binding has been scheduled successfully. Result: {fra-2:3, ams-1:1}"
    event = Event(metadata=ObjectMeta(name="e"), reason="ScheduleBindingSucceed", message=said, last_timestamp=at(0))
    (line,) = history_of("Deployment", "default", "web", (), [event])
    assert line.sentence == "it is placed in fra-2:3, ams-1:1"

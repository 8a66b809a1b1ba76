"""History of an application in words: no reason of an event as it is written in code."""

import re

import pytest

from kubeapi.core import Event
from kubeapi.meta import ObjectMeta
from leeward.answers.application_history import history_of
from tests.builders import at

REASONS = {
    "ScheduleBindingSucceed": "Placed",
    "EvictWorkloadFromClusterFailed": "Not evicted",
    "ClusterOutage": "Cluster lost",
    "DependenciesMissing": "Dependencies missing",
    "SyncWorkFailed": "Sync work failed",
    "ApplyPolicySucceed": "Claimed",
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
    assert line.sentence == "the application is placed in fra-2:3, ams-1:1"


@pytest.mark.parametrize(
    "reason", ["GetReplicasSucceed", "SyncWorkSucceed", "AggregateStatusSucceed", "WorkDispatching"]
)
def test_a_step_that_only_went_well_is_left_out(reason: str) -> None:
    event = Event(metadata=ObjectMeta(name="e"), reason=reason, message="m", last_timestamp=at(0))
    assert history_of("Deployment", "default", "web", (), [event]) == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Apply policy(pay/ledger) succeed", "policy pay/ledger claims the template"),
        (
            "fra-2 is down (since 2026-11-29T22:50:52Z): the copy in fra-2 stays. The policy allows fra-2 "
            "only, and fra-2 is down. 3 replicas stay in fra-2 (x:NoExecute), because there is no place "
            "to go: 0/6 clusters are available: 1 cluster(s) had untolerated taint {x}.",
            "fra-2 is down (since 29 Nov 22:50:52): the copy in fra-2 stays. The policy allows fra-2 only, "
            "and fra-2 is down.",
        ),
    ],
)
def test_a_sentence_is_the_cause_with_short_instants(said: str, told: str) -> None:
    event = Event(metadata=ObjectMeta(name="e"), reason="ClusterOutage", message=said, last_timestamp=at(0))
    (line,) = history_of("Deployment", "default", "web", (), [event])
    assert line.sentence == told

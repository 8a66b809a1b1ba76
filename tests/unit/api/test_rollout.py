"""The rollout strategy of a policy: what it may say, and which field is told to be wrong."""

import pytest

from kubeapi.meta import LabelSelector
from leeward.api.failback import OptionFault
from leeward.api.rollout import OnFailure, RolloutStage, parse_rollout


def test_a_strategy_with_all_fields() -> None:
    found = parse_rollout(
        """
stages:
- {name: canary, clusters: [member1], healthyFor: 10m, pause: true}
- {clusterSelector: {matchLabels: {tier: small}}, maxUnavailable: 25%}
- {name: half, share: 50%}
- {name: rest, maxUnavailable: 3}
progressDeadline: 1h
onFailure: Rollback
"""
    )
    assert found.stages == (
        RolloutStage("canary", clusters=("member1",), healthy_seconds=600, pause=True),
        RolloutStage("stage-2", selector=LabelSelector(match_labels={"tier": "small"}), unavailable=25, is_share=True),
        RolloutStage("half", share=50),
        RolloutStage("rest", unavailable=3),
    )
    assert (found.deadline_seconds, found.on_failure) == (3_600, OnFailure.ROLLBACK)
    assert [found.stages[1].may_be_unavailable(clusters) for clusters in (1, 8, 40)] == [1, 2, 10]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "cannot be read"),
        ("stages: {", "cannot be read"),
        ("{}", "from 1 to 50 stages"),
        ("stages: []", "from 1 to 50 stages"),
        ("stages: [{cluster: [a]}]", "cluster"),
        ("{stages: [{}], onfailure: Stop}", "onfailure"),
        ("{stages: [{}], onFailure: Panic}", "onFailure"),
        ("stages: [{}, {name: rest}]", "stages[0]: takes all clusters that are left"),
        ("stages: [{clusters: []}]", "stages[0].clusters: must name a cluster"),
        ("stages: [{clusters: [a], share: 5%}]", "only one of clusters, clusterSelector and share"),
        ("stages: [{share: 0%}]", "stages[0].share"),
        ("stages: [{share: 101%}]", "stages[0].share"),
        ("stages: [{healthyFor: soon}]", "stages[0].healthyFor: must be a duration"),
        ("stages: [{maxUnavailable: 0}]", "stages[0].maxUnavailable: must be a number from 1"),
        ("stages: [{maxUnavailable: lots}]", "stages[0].maxUnavailable"),
        ("stages: [{name: A b}]", "stages[0].name"),
        ("stages: [{name: x, share: 5%}, {name: x}]", "stages[1].name: x is the name of an earlier stage"),
        ("{stages: [{}], progressDeadline: '5'}", "progressDeadline: must be a duration"),
        ("x" * 20_000, "may have 16384"),
    ],
)
def test_a_strategy_that_is_wrong_names_the_field(text: str, fault: str) -> None:
    with pytest.raises(OptionFault) as refused:
        parse_rollout(text)
    assert fault in str(refused.value)

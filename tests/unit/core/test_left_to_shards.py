"""Words that a leader and its shards leave to each other: when they are taken up, and when they are not."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from kubeapi.meta import ObjectMeta
from leeward.api.meta import Condition, find_condition
from leeward.api.work import (
    AggregatedStatusItem,
    BindingResource,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
    Work,
    WorkSpec,
)
from leeward.core.binding_status import status_after
from leeward.core.cluster_health.outage import OutageReport
from leeward.core.copies.evidence import is_current
from leeward.core.left_to_shards import DECIDED_ANNOTATION, as_rendered, leave_words, renders, words_left
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed, Unplaceable

NOW = datetime(2026, 11, 30, 6, 0, 0, 250_000, tzinfo=UTC)
CLUSTERS = (TargetCluster("member1", 2),)
SEEN = {"member2": NOW.replace(microsecond=0)}
HELD = Condition("leeward.dev/EvictionHeld", "True", "Brake", "held")


def binding(generation: int = 3, observed: int = 2, annotation: str = "", uid: str = "a") -> ResourceBinding:
    annotations = {DECIDED_ANNOTATION: annotation} if annotation else {}
    items = (AggregatedStatusItem(cluster_name="member2", applied=True, health="Healthy"),)
    applied = Condition("FullyApplied", "True", "FullyAppliedSuccess", "", NOW, observed)
    status = ResourceBindingStatus(
        scheduler_observed_generation=observed, conditions=(applied,), aggregated_status=items
    )
    metadata = ObjectMeta("web", namespace="default", uid=uid, generation=generation, annotations=annotations)
    spec = ResourceBindingSpec(
        resource=BindingResource(api_version="apps/v1", kind="Deployment", name="web"), clusters=CLUSTERS
    )
    return ResourceBinding(metadata=metadata, spec=spec, status=status)


@pytest.mark.parametrize(
    "decision",
    [
        Decision(CLUSTERS, (), Placed(CLUSTERS, "near"), outage=OutageReport()),
        Decision(CLUSTERS, (), Placed(CLUSTERS, ""), outage=OutageReport(not_seen=SEEN)),
        Decision(CLUSTERS, (), None),
    ],
    ids=["placed", "leaving", "moved"],
)
def test_a_shard_says_just_what_its_leader_would(decision: Decision) -> None:
    annotation = leave_words(binding(), decision, NOW, 60.0, burst=False)
    found = binding(annotation=annotation)
    words = words_left(found)
    assert words is not None
    assert words.within == 60.0
    said = words.change(found.status, found)
    assert said == status_after(found.status, found, decision, NOW)
    assert said.scheduler_observed_generation == 3
    assert words_left(replace(found, status=said)) is None, "they are said"


@pytest.mark.parametrize(
    "decision",
    [
        Decision(CLUSTERS, (), Unplaceable("FitError", "no room", {})),
        Decision(CLUSTERS, (), Placed(CLUSTERS, ""), held=HELD),
        Decision(CLUSTERS, (), Placed(CLUSTERS, ""), quota_refusal="full"),
        Decision(CLUSTERS, (), None, foreign=True),
        Decision(CLUSTERS, (), Placed(CLUSTERS, ""), foreign_held=True),
    ],
    ids=["unplaced", "held", "quota", "foreign", "foreign evictions"],
)
def test_a_leader_leaves_nothing_of_which_there_is_more_to_say(decision: Decision) -> None:
    assert leave_words(binding(), decision, NOW, 0.1, burst=False) == ""


def test_words_about_another_generation_and_what_nobody_can_read_are_none() -> None:
    annotation = leave_words(binding(), Decision(CLUSTERS, (), Placed(CLUSTERS, "")), NOW, 0.1, burst=True)
    assert words_left(binding(4, annotation=annotation)) is None
    assert words_left(binding(3, 3, annotation=annotation)) is None
    assert words_left(binding()) is None
    for at in ("2026-11-30T06:00:00", "0001-01-01T00:00:00+23:00"):
        assert words_left(binding(annotation=f'{{"generation":3,"at":"{at}","within":1}}')) is None, at
        seen = f'{{"generation":3,"at":"2026-11-30T06:00:00Z","within":1,"notSeen":{{"m":"{at}"}}}}'
        assert words_left(binding(annotation=seen)) is None, at
    for unreadable in ("{", "[]", '{"generation":3}', '{"generation":"3","at":1,"within":"x"}'):
        assert words_left(binding(annotation=unreadable)) is None, unreadable


def test_a_later_word_of_the_leader_itself_stands() -> None:
    annotation = leave_words(
        binding(), Decision(CLUSTERS, (), Placed(CLUSTERS, ""), outage=OutageReport()), NOW, 0.1, burst=False
    )
    found = binding(annotation=annotation)
    words = words_left(found)
    assert words is not None
    outage = Condition("leeward.dev/ClusterOutage", "True", "Tolerated", "Not seen", NOW)
    later = replace(found.status, scheduler_observed_generation=3, conditions=(*found.status.conditions, outage))
    assert words.change(later, found) == later


def work(**annotations: str) -> Work:
    metadata = ObjectMeta("web-1", namespace="karmada-es-member1", annotations=annotations)
    return Work(metadata=metadata, spec=WorkSpec())


def test_what_a_work_says_of_all_of_them_makes_the_binding_current() -> None:
    said = work(**renders(binding()))
    assert not is_current(binding())
    assert is_current(as_rendered(binding(), [work(), said]))
    assert not is_current(as_rendered(binding(), [work()]))
    assert not is_current(as_rendered(binding(4), [said])), "of another generation"
    assert not is_current(as_rendered(binding(uid="b"), [said])), "of a binding that is gone"
    assert as_rendered(binding(observed=3), [said]) == binding(observed=3)
    failed = Condition("leeward.dev/OverrideFailed", "True", "Failed", "Of before", NOW)
    before = replace(binding(), status=replace(binding().status, conditions=(failed, *binding().status.conditions)))
    (applied,) = as_rendered(before, [said]).status.conditions
    assert (applied.type, applied.status) == ("FullyApplied", "Unknown"), "no more is said"
    bare = replace(binding(), status=ResourceBindingStatus())
    assert find_condition(as_rendered(bare, [said]).status.conditions, "FullyApplied") is None

"""When an eviction ends: what time may decide, and what it may not."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from leeward.api.meta import ObjectMeta
from leeward.api.work import (
    BindingResource,
    GracefulEvictionTask,
    ReplicaRequirements,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
    Work,
)
from leeward.core.failover.graceful import assess_tasks
from tests.builders import divided

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
GRACE_SECONDS = 60.0
TASK = GracefulEvictionTask("m1", "TaintUntolerated", "someone", "Directly", creation_timestamp=BEGAN)
BINDING = ResourceBinding(
    metadata=ObjectMeta(name="web", namespace="default", generation=1),
    spec=ResourceBindingSpec(
        resource=BindingResource(api_version="apps/v1", kind="Deployment", namespace="default", name="web"),
        replicas=2,
        replica_requirements=ReplicaRequirements(),
        clusters=(TargetCluster("m2", 2),),
        graceful_eviction_tasks=(TASK,),
    ),
)


@pytest.mark.parametrize(
    ("seconds", "works", "finished"),
    [(119, {}, ()), (121, {}, ("m1",)), (121, {"m1": Work(metadata=ObjectMeta(name="web"))}, ())],
    ids=["in time", "late, and the copy is gone", "late, and the copy is there"],
)
def test_a_replacement_that_never_gets_well_bars_the_cluster_of_a_purged_copy_for_two_graces(
    seconds: float, works: dict[str, Work], finished: tuple[str, ...]
) -> None:
    now = BEGAN + timedelta(seconds=seconds)
    assert assess_tasks(BINDING, {}, works, now, GRACE_SECONDS).finished == finished


@pytest.mark.parametrize(
    ("replicas", "directly", "clusters", "finished"),
    [
        (0, False, (), ("m1",)),
        (0, False, (TargetCluster("m2", 1),), ("m1",)),
        (0, True, (), ()),
        (1, False, (), ()),
    ],
    ids=["to nothing", "just now", "and its copy is not gone yet", "still wanted"],
)
def test_an_eviction_of_what_was_scaled_to_nothing_is_finished(
    replicas: int, directly: bool, clusters: tuple[TargetCluster, ...], finished: tuple[str, ...]
) -> None:
    task = TASK if directly else msgspec.structs.replace(TASK, purge_mode="Gracefully")
    shares = divided({"m1": 1, "m2": 1})
    spec = msgspec.structs.replace(
        BINDING.spec, replicas=replicas, placement=shares, clusters=clusters, graceful_eviction_tasks=(task,)
    )
    works = {"m1": Work(metadata=ObjectMeta(name="web"))}
    assessment = assess_tasks(msgspec.structs.replace(BINDING, spec=spec), {}, works, BEGAN, GRACE_SECONDS)
    assert assessment.finished == finished

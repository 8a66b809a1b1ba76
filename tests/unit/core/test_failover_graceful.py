"""When an eviction ends: what time may decide, and what it may not."""

from datetime import UTC, datetime, timedelta

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
    [(59, {}, ()), (61, {}, ("m1",)), (61, {"m1": Work(metadata=ObjectMeta(name="web"))}, ())],
    ids=["in time", "late, and the copy is gone", "late, and the copy is there"],
)
def test_a_replacement_that_never_gets_well_bars_the_cluster_of_a_purged_copy_no_longer_than_the_grace(
    seconds: float, works: dict[str, Work], finished: tuple[str, ...]
) -> None:
    now = BEGAN + timedelta(seconds=seconds)
    assert assess_tasks(BINDING, {}, works, now, GRACE_SECONDS).finished == finished

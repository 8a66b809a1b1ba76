"""Release that a failover moves, and the instant since which there is another one."""

import msgspec
import pytest

from leeward.api.names import FAILOVER_RELEASE_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.eviction.failover_release import failover_release_patch, released_at
from leeward.core.eviction.stalled_replacements import find_stalled
from tests.builders import at, binding, cluster, duplicated, fleet, table, targets, work

LOST = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(100))
BACK = msgspec.structs.replace(LOST, reason="Failback", producer="Leeward")
COPIES = duplicated("a", "b", "c", groups=1)


def released(bound: Binding, release: str, replicas: int = 3) -> Binding:
    resource = msgspec.structs.replace(bound.spec.resource, resource_version=release)
    return msgspec.structs.replace(
        bound, spec=msgspec.structs.replace(bound.spec, resource=resource, replicas=replicas)
    )


def written(bound: Binding, *tasks: GracefulEvictionTask, seconds: float) -> Binding:
    """The binding once it has these tasks."""
    patch = failover_release_patch(bound, tasks, at(seconds))
    present = {**bound.metadata.annotations, **patch}
    annotations = {name: text for name, text in present.items() if text is not None}
    spec = msgspec.structs.replace(bound.spec, graceful_eviction_tasks=tasks)
    metadata = msgspec.structs.replace(bound.metadata, annotations=annotations)
    return msgspec.structs.replace(bound, spec=spec, metadata=metadata)


FIRST = released(binding(COPIES, 3, targets(b=3)), "1")
MOVING = written(FIRST, LOST, seconds=100)


def test_a_release_in_the_middle_of_a_failover_counts_from_when_it_came() -> None:
    assert released_at(MOVING, at(500)) is None
    second = released(MOVING, "2")
    assert released_at(second, at(650)) == at(650)
    kept = written(second, LOST, seconds=650)
    assert released_at(kept, at(900)) == at(650)
    assert released_at(released(kept, "3"), at(900)) == at(900)
    assert failover_release_patch(kept, (LOST,), at(900)) == {}, "and it is written once"


def test_scaling_is_no_release() -> None:
    scaled = released(MOVING, "2", replicas=5)
    assert released_at(scaled, at(650)) is None
    kept = written(scaled, LOST, seconds=650)
    assert released_at(kept, at(900)) is None
    assert released_at(released(kept, "3", replicas=5), at(900)) == at(900)


def test_what_is_remembered_goes_with_the_last_task() -> None:
    assert failover_release_patch(MOVING, (), at(900)) == {FAILOVER_RELEASE_ANNOTATION: None}
    assert failover_release_patch(FIRST, (), at(900)) == {}


@pytest.mark.parametrize("task", [BACK, msgspec.structs.replace(LOST, suppress_deletion=True)])
def test_what_moves_on_nowhere_is_not_followed(task: GracefulEvictionTask) -> None:
    assert failover_release_patch(FIRST, (task,), at(100)) == {}


def test_a_failover_that_somebody_else_began_is_followed_from_the_next_task_on() -> None:
    begun = msgspec.structs.replace(FIRST, spec=msgspec.structs.replace(FIRST.spec, graceful_eviction_tasks=(LOST,)))
    assert failover_release_patch(begun, (LOST,), at(200)) == {}
    more = msgspec.structs.replace(LOST, from_cluster="c")
    assert set(failover_release_patch(begun, (LOST, more), at(200))) == {FAILOVER_RELEASE_ANNOTATION}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"since": "0001-01-01T00:00:00"}'])
def test_what_nobody_can_read_says_nothing(text: str) -> None:
    metadata = msgspec.structs.replace(FIRST.metadata, annotations={FAILOVER_RELEASE_ANNOTATION: text})
    assert released_at(msgspec.structs.replace(FIRST, metadata=metadata), at(900)) is None


def test_a_release_that_lies_in_the_future_came_now() -> None:
    ahead = written(released(MOVING, "2"), LOST, seconds=5_000)
    assert released_at(ahead, at(900)) == at(900)


def test_l2_a_target_has_the_whole_time_for_a_new_release_and_no_more() -> None:
    clusters, copies = fleet(cluster("b")), {"b": work("b", 0, reflected=100)}

    def stalled(seconds: float, released: float | None, *tasks: GracefulEvictionTask) -> list[str]:
        came = None if released is None else at(released)
        spec = msgspec.structs.replace(MOVING.spec, graceful_eviction_tasks=tasks or (LOST,))
        moving = msgspec.structs.replace(MOVING, spec=spec)
        found = find_stalled(moving, table(moving, clusters, copies, at(seconds)), at(seconds), 600.0, released=came)
        return [target.cluster for target in found.targets]

    assert stalled(701, None) == ["b"]
    assert stalled(701, 650) == []
    assert stalled(1251, 650) == ["b"]
    later = msgspec.structs.replace(LOST, from_cluster="c", creation_timestamp=at(900))
    assert stalled(1251, 650, LOST, later) == [], "nor less than from the last of its tasks"
    assert stalled(1501, 650, LOST, later) == ["b"]

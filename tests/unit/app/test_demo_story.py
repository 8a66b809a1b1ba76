from dataclasses import replace
from datetime import UTC, datetime

from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition
from leeward.api.names import LEAVING_CONDITION
from leeward.api.work import (
    AggregatedStatusItem,
    BindingResource,
    GracefulEvictionTask,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
    Work,
    WorkStatus,
)
from leeward.app.demo.scene import Scene
from leeward.app.demo.story import BACK, CREATED, SETTLED, STOPPED, Sight, Story, failover_story

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NO_SCHEDULE = Taint("cluster.karmada.io/not-ready", "NoSchedule")
NO_EXECUTE = Taint("cluster.karmada.io/not-ready", "NoExecute")


def _cluster(status: str, *taints: Taint) -> Cluster:
    return Cluster(
        metadata=ObjectMeta(name="member1"),
        spec=ClusterSpec(sync_mode="Push", taints=taints),
        status=ClusterStatus(conditions=(Condition("Ready", status, "Any"),)),
    )


def _binding(
    assigned: dict[str, int], leaving: tuple[str, ...] = (), ready: int = 0, generation: int = 0
) -> ResourceBinding:
    return ResourceBinding(
        metadata=ObjectMeta(generation=generation),
        spec=ResourceBindingSpec(
            resource=BindingResource("apps/v1", "Deployment", "nginx"),
            clusters=tuple(TargetCluster(name, count) for name, count in assigned.items()),
            graceful_eviction_tasks=tuple(GracefulEvictionTask(name, "TaintUntolerated", "x") for name in leaving),
        ),
        status=ResourceBindingStatus(
            aggregated_status=(AggregatedStatusItem("member2", status={"readyReplicas": ready}),)
        ),
    )


LEAVING = Condition(LEAVING_CONDITION, "True", "ClusterNotReady", "Not wanted.")


def _work(*, leaving: bool = False) -> Work:
    return Work(metadata=ObjectMeta(name="nginx-687f7fb96f"), status=WorkStatus((LEAVING,) if leaving else ()))


def _running(**replicas: int) -> dict[str, dict[str, object]]:
    return {name: {"status": {"readyReplicas": count}} for name, count in replicas.items()}


CREATED_SCENE = Scene(
    {"member1": _cluster("True")},
    _binding({"member1": 1, "member2": 2}),
    {"member1": _work(), "member2": _work()},
    _running(member1=1, member2=2),
)


def _tell(story: Story, chapter: str, *scenes: Scene) -> list[Sight]:
    story.begin(chapter, 0)
    return [sight for second, scene in enumerate(scenes) for sight in story.look(scene, second)]


def _scenes_of_death() -> list[Scene]:
    scene = CREATED_SCENE
    not_ready = replace(scene, clusters={"member1": _cluster("False", NO_SCHEDULE)})
    no_execute = replace(scene, clusters={"member1": _cluster("False", NO_SCHEDULE, NO_EXECUTE)})
    moved = replace(no_execute, binding=_binding({"member2": 3}, ("member1",), 2), writes_of_move=1)
    ended = replace(moved, binding=_binding({"member2": 3}, (), 3), deployments=_running(member1=1, member2=3))
    kept = replace(ended, works={"member1": _work(leaving=True), "member2": _work()})
    return [scene, not_ready, no_execute, moved, ended, kept]


def _scenes_of_return() -> list[Scene]:
    kept = _scenes_of_death()[-1]
    back = replace(kept, clusters={"member1": _cluster("True")})
    cleaned = replace(back, deployments=_running(member2=3))
    gone = replace(cleaned, works={"member2": _work()})
    return [kept, back, cleaned, gone]


def test_the_whole_story_is_seen_as_expected() -> None:
    story = failover_story()
    _tell(story, CREATED, Scene(), CREATED_SCENE)
    death = _tell(story, STOPPED, *_scenes_of_death())
    back = _tell(story, BACK, *_scenes_of_return())
    _tell(story, SETTLED, _scenes_of_return()[-1])
    assert [sight.seen for sight in story.sights if not sight.is_expected] == []
    assert story.is_as_expected
    assert [sight.after_seconds for sight in death] == [1, 2, 3, 4, 5]
    assert [sight.after_seconds for sight in back] == [1, 2, 3]


def test_a_story_that_is_not_over_is_not_as_expected() -> None:
    story = failover_story()
    _tell(story, CREATED, CREATED_SCENE)
    assert story.pending == ()
    assert len(story.unseen) == 10
    assert not story.is_as_expected


def test_steps_of_another_chapter_are_not_looked_for() -> None:
    story = failover_story()
    _tell(story, CREATED, *_scenes_of_death())
    assert {sight.step.chapter for sight in story.sights} == {CREATED}


def _sight_of_move(binding: ResourceBinding) -> Sight:
    """Sight that one has when the present binding, of generation 4, is followed by `binding`."""
    story = failover_story()
    _tell(story, CREATED, CREATED_SCENE)
    scene, not_ready, no_execute, *_ = _scenes_of_death()
    moved = replace(no_execute, binding=_binding({"member1": 1, "member2": 2}, generation=4))
    moved.take_binding(binding)
    return _tell(story, STOPPED, scene, not_ready, no_execute, moved)[2]


def test_a_move_in_one_write_is_seen_as_such() -> None:
    assert _sight_of_move(_binding({"member2": 3}, ("member1",), generation=5)).is_expected


def test_a_move_in_two_writes_is_seen_as_such() -> None:
    sight = _sight_of_move(_binding({"member2": 3}, ("member1",), generation=6))
    assert sight.seen == "member2:3, leaving member1, in 2 writes"
    assert not sight.is_expected


def test_an_eviction_without_a_place_is_seen_as_such() -> None:
    sight = _sight_of_move(_binding({"member2": 2}, ("member1",), generation=5))
    assert sight.seen == "member2:2, leaving member1, in one write"
    assert not sight.is_expected


def test_an_eviction_without_a_task_is_seen_as_such() -> None:
    sight = _sight_of_move(_binding({"member2": 3}, generation=5))
    assert sight.seen == "member2:3, without an eviction task, in one write"


def test_a_task_that_ends_before_the_replica_is_ready_is_seen_as_such() -> None:
    story = failover_story()
    _tell(story, CREATED, CREATED_SCENE)
    early = replace(_scenes_of_death()[3], binding=_binding({"member2": 3}, (), 2))
    sights = _tell(story, STOPPED, *_scenes_of_death()[:4], early)
    assert sights[3].seen == "with 2 replicas ready in member2"
    assert not story.is_as_expected


def test_a_work_that_is_gone_too_early_is_seen_as_such() -> None:
    story = failover_story()
    _tell(story, CREATED, CREATED_SCENE)
    scenes = [*_scenes_of_death()[:5], replace(_scenes_of_death()[5], works={})]
    assert _tell(story, STOPPED, *scenes)[-1].seen == "gone"

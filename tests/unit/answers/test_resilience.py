"""Losses that a fleet can bear, worst first, and applications that have no second place."""

import msgspec
import pytest

from leeward.answers.fleet_state import FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import losses_by, survey
from leeward.answers.what_helps import Help
from leeward.answers.what_if import Fullest, InstantKind, what_if
from leeward.answers.what_if_sentences import command_of
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.work import ReplicaRequirements, ResourceBinding
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations import OperationFailed
from leeward.operations.taints import CORDON
from tests.builders import binding, cluster, divided, duplicated, targets
from tests.fleet_pictures import picture_of


def named(name: str, made: ResourceBinding) -> ResourceBinding:
    metadata = msgspec.structs.replace(made.metadata, name=f"{name}-deployment")
    resource = msgspec.structs.replace(made.spec.resource, name=name)
    return msgspec.structs.replace(made, metadata=metadata, spec=msgspec.structs.replace(made.spec, resource=resource))


def seen(member: Cluster) -> Cluster:
    """Cluster that was Ready before, as its version says."""
    return msgspec.structs.replace(member, status=msgspec.structs.replace(member.status, kubernetes_version="v1.31.0"))


def fleet() -> FleetState:
    """Fleet of four clusters in two regions: `two` fits anywhere in eu, `solo` only into a, `all` is everywhere."""
    regions = {"a": "eu", "b": "eu", "c": "us", "d": "us"}
    clusters = [seen(cluster(name, region=region)) for name, region in regions.items()]
    apps = [
        named("two", binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))),
        named("solo", binding(divided({"a": 1}), 3, targets(a=3))),
        named("all", binding(duplicated("a", "b", "c", "d"), 1, targets(a=1, b=1, c=1, d=1))),
    ]
    return picture_of(clusters, apps)


def test_the_worst_loss_comes_first_and_what_has_no_second_place_is_named() -> None:
    answer = survey(fleet(), losses_by(fleet(), "cluster"))
    assert [(loss.loss, loss.missing, loss.wanting) for loss in answer.losses] == [
        ("a", 3, 1),
        ("b", 0, 0),
        ("c", 0, 0),
        ("d", 0, 0),
    ]
    assert answer.without_second_place == ["Deployment default/solo"]
    assert not answer.survives_all
    (first, second, *_) = answer.losses
    assert (first.applications, first.moving, first.kept) == (3, 1, 1)
    assert (second.applications, second.moving, second.kept) == (2, 1, 1)


def test_a_pause_of_who_watches_takes_no_room_away() -> None:
    """A gap between two leaders holds evictions; that is no lack of room."""

    def watched(*, is_now: bool) -> FleetState:
        attention = Attention(heartbeat="one", is_now=is_now)
        return FleetState(msgspec.structs.replace(fleet().recorded, attention=attention))

    paused, running = watched(is_now=False), watched(is_now=True)
    assert survey(paused, losses_by(paused, "cluster")) == survey(running, losses_by(running, "cluster"))
    assert not what_if(paused, ImaginedChange(frozenset({"b"}))).wanting


def test_a_region_and_two_at_a_time_are_losses_too() -> None:
    by_region = survey(fleet(), losses_by(fleet(), "region"), "region")
    assert [(loss.loss, loss.missing) for loss in by_region.losses] == [("eu", 7), ("us", 0)]
    pairs = survey(fleet(), losses_by(fleet(), "cluster", 2))
    assert len(pairs.losses) == 6
    assert (pairs.losses[0].loss, pairs.losses[0].missing) == ("a+b", 7)


def test_each_loss_is_what_what_if_says_of_it() -> None:
    state = fleet()
    for loss in survey(state, losses_by(state, "cluster")).losses:
        told = what_if(state, ImaginedChange(fails=frozenset(loss.clusters)))
        assert (loss.missing, loss.applications) == (sum(a.missing for a in told.wanting), len(told.applications))


def test_all_at_once_is_held_by_the_brake() -> None:
    (loss,) = survey(fleet(), losses_by(fleet(), "cluster", 4)).losses
    assert (loss.braked, loss.moving) == (True, 0)


@pytest.mark.parametrize(
    ("by", "number", "said"),
    [
        ("rack", 1, "--by 'rack': choose cluster, region, zone, provider or label:KEY"),
        ("zone", 1, "--by 'zone': no cluster says what its zone is"),
        ("cluster", 5, "--n 5: there are 4 to lose; give 1 to 4"),
    ],
)
def test_what_is_no_loss_is_refused_by_its_option(by: str, number: int, said: str) -> None:
    with pytest.raises(OperationFailed, match=said):
        losses_by(fleet(), by, number)


def test_too_many_losses_are_refused() -> None:
    many = picture_of([cluster(f"m{index}") for index in range(200)], [])
    with pytest.raises(OperationFailed, match="these are 19900 losses, and 5000 at most"):
        losses_by(many, "cluster", 2)


def with_cores(member: Cluster, requested: int) -> Cluster:
    summary = ResourceSummary(allocatable={"cpu": "10", "pods": "100"}, allocated={"cpu": str(requested)})
    return msgspec.structs.replace(member, status=msgspec.structs.replace(member.status, resource_summary=summary))


def test_of_the_clusters_that_take_over_the_fullest_is_named() -> None:
    clusters = [with_cores(seen(cluster(name)), requested) for name, requested in (("a", 1), ("b", 2), ("c", 9))]
    needs = ReplicaRequirements(resource_request={"cpu": "1"})
    app = named("app", binding(divided({"a": 1, "b": 1}), 4, targets(a=4), replica_requirements=needs))
    answer = survey(state := picture_of(clusters, [app]), losses_by(state, "cluster"))
    assert {loss.loss: loss.fullest for loss in answer.losses} == {"a": Fullest("b", 0.6, False), "b": None, "c": None}


def cordoned_fleet() -> FleetState:
    """Fleet of which c takes all, but for its cordon."""
    clusters = [seen(cluster("a")), seen(cluster("b")), seen(cluster("c", taints=(CORDON,)))]
    apps = [
        named("one", binding(divided({"a": 1, "c": 1}), 4, targets(a=4))),
        named("two", binding(divided({"a": 1, "c": 1}), 3, targets(a=3))),
    ]
    return picture_of(clusters, apps)


def test_a_cordon_that_keeps_something_without_a_place_is_named_with_what_it_would_give() -> None:
    told = what_if(state := cordoned_fleet(), ImaginedChange(fails=frozenset({"a"})))
    assert len(told.wanting) == 2
    assert told.helps == [Help("uncordon c", "all 2 would fit", "leeward uncordon c")]
    assert what_if(state, ImaginedChange(fails=frozenset({"a", "c"}))).helps == []
    assert what_if(state, ImaginedChange(fails=frozenset({"b"}))).helps == []


def test_a_cordon_that_keeps_nothing_out_is_not_named() -> None:
    clusters = [seen(cluster("a")), seen(cluster("b", taints=(CORDON,)))]
    state = picture_of(clusters, [named("solo", binding(divided({"a": 1}), 3, targets(a=3)))])
    told = what_if(state, ImaginedChange(fails=frozenset({"a"})))
    assert told.wanting
    assert told.helps == []


def test_clocks_that_are_imagined_are_those_of_a_control_plane_that_has_them() -> None:
    state = fleet()
    shorter = ImaginedChange(
        fails=frozenset({"a"}), failure_threshold_seconds=10, eviction_timeout_seconds=60, recover_after_seconds=1800
    )
    settings = SettingsInForce(cluster_failure_threshold=10, failover_eviction_timeout=60)
    with_them = FleetState(msgspec.structs.replace(state.recorded, settings=settings))
    told = what_if(state, shorter)
    assert told.instants == what_if(with_them, ImaginedChange(frozenset({"a"}), recover_after_seconds=1800)).instants
    seconds = {each.kind: each.after_seconds for each in told.instants}
    assert seconds[InstantKind.NO_EXECUTE] - seconds[InstantKind.NOT_READY] == 60
    assert told.clocks == {"--cluster-failure-threshold": 10, "--failover-eviction-timeout": 60}
    assert command_of(shorter) == (
        "leeward what-if --fail a --recover-after 1800s --cluster-failure-threshold 10s --failover-eviction-timeout 60s"
    )

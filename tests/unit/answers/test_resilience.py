"""Losses that a fleet can bear, worst first, and applications that have no second place."""

import msgspec
import pytest

from leeward.answers.fleet_state import FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import losses_by, survey
from leeward.answers.what_if import what_if
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBinding
from leeward.operations import OperationFailed
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

"""Changing a Cluster's taints as its administrator, under a resourceVersion so that nobody's taint is lost."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from leeward.api.codec import from_wire, to_wire
from leeward.api.core import Taint
from leeward.api.meta import Manifest
from leeward.api.names import DRAIN_TAINT, UNSCHEDULABLE_TAINT
from leeward.api.resource import CLUSTERS
from leeward.app.local.api import AdminClient, Refused
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import Layout

ATTEMPTS = 5
CONFLICT = 409

CORDON = Taint(UNSCHEDULABLE_TAINT, "NoSchedule")
DRAIN = Taint(DRAIN_TAINT, "NoExecute")
NO_ANNOTATIONS: Mapping[str, str | None] = {}


@contextmanager
def control_plane(layout: Layout) -> Generator[AdminClient]:
    """The control plane of the fleet in `layout`. Raises: FleetError."""
    api = AdminClient(layout, load_fleet(layout).control_plane_port)
    try:
        yield api
    finally:
        api.close()


def change_taints(
    api: AdminClient,
    cluster: str,
    change: Callable[[Sequence[Taint]], Sequence[Taint]],
    annotations: Mapping[str, str | None] = NO_ANNOTATIONS,
) -> bool:
    """Makes the taints what `change` makes of them; whether that, or an annotation, was a change.

    Both are one write. An annotation that is None goes. Raises: FleetError.
    """
    for _ in range(ATTEMPTS):
        found = find_cluster(api, cluster)
        before, present = taints_of(found), found["metadata"].get("annotations", {})
        after = tuple(change(before))
        if after == before and all(present.get(name) == value for name, value in annotations.items()):
            return False
        metadata: Manifest = {"resourceVersion": found["metadata"].get("resourceVersion", "")}
        if annotations:
            metadata["annotations"] = dict(annotations)
        patch = {"metadata": metadata, "spec": {"taints": to_wire(after) or None}}
        try:
            api.merge(CLUSTERS.path(name=cluster), patch)
        except Refused as error:
            if error.code != CONFLICT:
                raise
        else:
            return True
    raise FleetError(f"cluster {cluster} is being changed by others all the time: try again")


def find_cluster(api: AdminClient, name: str) -> Manifest:
    """Raises: FleetError when there is none."""
    cluster = api.find(CLUSTERS.path(name=name))
    if cluster is None:
        known = ", ".join(sorted(each["metadata"]["name"] for each in api.list(CLUSTERS.path()))) or "none has joined"
        raise FleetError(f"there is no cluster {name!r}: choose from {known}")
    return cluster


def taints_of(cluster: Manifest) -> tuple[Taint, ...]:
    return tuple(from_wire(taint, Taint) for taint in cluster["spec"].get("taints") or ())


def with_taint(taint: Taint) -> Callable[[Sequence[Taint]], Sequence[Taint]]:
    """A change that adds a taint where there is none with its key and effect."""
    return lambda taints: taints if any(_is_same(taint, each) for each in taints) else (*taints, taint)


def without_taints(*unwanted: Taint) -> Callable[[Sequence[Taint]], Sequence[Taint]]:
    return lambda taints: tuple(each for each in taints if not any(_is_same(taint, each) for taint in unwanted))


def _is_same(one: Taint, other: Taint) -> bool:
    return (one.key, one.effect) == (other.key, other.effect)

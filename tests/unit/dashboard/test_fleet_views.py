"""A renderer's memory is never seen: after any changes it tells what one tells that remembers nothing."""

from collections.abc import Mapping

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.work import AggregatedStatusItem, ResourceBinding, ResourceBindingStatus
from leeward.dashboard.feed import Collections
from leeward.dashboard.rights import FleetSight
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.dashboard.views import FleetRenderer
from leeward.operations.taints import CORDON, DRAIN
from tests.builders import at, binding, cluster, dead, divided, targets

WHOLE = FleetSight(True, True, True, True, True, None, None)
PART = FleetSight(clusters=True, namespaces=frozenset({"open"}))
CLUSTERS, APPLICATIONS = ("member1", "member2", "member3"), ("a", "b", "c", "d")

Fleets = tuple[dict[str, Cluster], dict[str, ResourceBinding]]
places = st.dictionaries(st.sampled_from(CLUSTERS), st.integers(0, 3), max_size=2)
clusters = st.one_of(
    st.none(),
    st.sampled_from(CLUSTERS).map(cluster),
    st.sampled_from(CLUSTERS).map(lambda name: cluster(name, taints=(CORDON,))),
    st.sampled_from(CLUSTERS).map(lambda name: cluster(name, taints=(DRAIN,))),
    st.sampled_from(CLUSTERS).map(dead),
)


def application(name: str, placed: Mapping[str, int], healthy: bool) -> ResourceBinding:
    made = binding(divided({"member1": 1, "member2": 1}), sum(placed.values()), targets(**placed))
    namespace = "open" if name in "ab" else "closed"
    items = tuple(
        AggregatedStatusItem(cluster_name=place, applied=True, health="Healthy" if healthy else "Unhealthy")
        for place in placed
    )
    return msgspec.structs.replace(
        made,
        metadata=ObjectMeta(name=f"{name}-deployment", namespace=namespace),
        spec=msgspec.structs.replace(
            made.spec, resource=msgspec.structs.replace(made.spec.resource, name=name, namespace=namespace)
        ),
        status=ResourceBindingStatus(aggregated_status=items),
    )


applications = st.builds(application, st.sampled_from(APPLICATIONS), places, st.booleans())
changes = st.lists(
    st.one_of(clusters, applications),
    min_size=1,
    max_size=3,
)


def seen(known: Fleets, second: int) -> SeenFleet:
    return SeenFleet(
        control_plane="plane",
        now=at(second),
        clusters=tuple(known[0].values()),
        bindings=tuple(known[1].values()),
    )


def in_order(collections: Collections) -> list[tuple[str, list[tuple[str, bytes]]]]:
    return [(name, list(objects.items())) for name, objects in collections.items()]


@given(st.sampled_from((WHOLE, PART)), st.lists(changes, min_size=1, max_size=6))
def test_what_is_remembered_changes_nothing_that_is_told(
    sight: FleetSight, rounds: list[list[Cluster | ResourceBinding | None]]
) -> None:
    known: Fleets = {name: cluster(name) for name in CLUSTERS}, {}
    renderer = FleetRenderer(sight)
    for second, changed in enumerate(rounds):
        for each in changed:
            if isinstance(each, Cluster):
                known[0][each.name] = each
            elif isinstance(each, ResourceBinding):
                known[1][each.name] = each
            elif known[0]:
                known[0].popitem()
        now = seen(known, second)
        assert in_order(renderer.render(now)) == in_order(FleetRenderer(sight).render(now))

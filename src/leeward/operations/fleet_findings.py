"""All findings about a fleet, worst first: a pure function of what was seen."""

from collections.abc import Callable, Iterable, Sequence

from leeward.operations.binding_findings import held_evictions, refused, unplaced_bindings, unreadable, unremoved
from leeward.operations.cluster_findings import dead_clusters, doubtful_clusters, drains, vanished_clusters
from leeward.operations.control_plane_findings import api_server, components, engaged_brake, nobody_watches
from leeward.operations.findings import Finding, Observed, worst_first


def findings_of(observed: Observed) -> list[Finding]:
    return worst_first(finding for about in _SOURCES for finding in about(observed))


_SOURCES: Sequence[Callable[[Observed], Iterable[Finding]]] = (
    api_server,
    components,
    nobody_watches,
    engaged_brake,
    held_evictions,
    dead_clusters,
    vanished_clusters,
    unreadable,
    unplaced_bindings,
    unremoved,
    refused,
    doubtful_clusters,
    drains,
)
"""In the order in which they are told."""

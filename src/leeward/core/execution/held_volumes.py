"""Volumes that are held back: what would come up on new and empty ones in a cluster that was rebuilt under its name.

Held is a claim, and a workload whose Pods claim volumes, that is not in the member. What is there already is kept as
its Work says: it was made or restored there. Made at once is what was not there under the earlier identity: no volumes
of it can be lost. Its Work carries the identity for which it was made; where that is not known, it is held. Holds: S5.
Karmada makes all of it, and it comes up empty.
"""

from collections.abc import Mapping

from kubeapi.meta import ReadOnlyManifest
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import VOLUMES_HELD_CONDITION
from leeward.api.work import Binding, Work
from leeward.core.cluster_health.cluster_identity import is_held_back, replaced_by
from leeward.core.eviction.volumes import claims_of
from leeward.core.interpreter import dependencies_of

MADE_FOR_ANNOTATION = "leeward.dev/made-for-identity"
"""Annotation on a Work: the identity of the rebuilt member for which it was first made. Under an earlier identity
nothing of it was there (ours)."""
KEEPS_CLAIMS_ANNOTATION = "leeward.dev/keeps-claims"
"""Annotation on a Work that is removed: `true` keeps a custom resource while claims belong to it, and a CronJob while
one of its Jobs runs (ours)."""
REASON = "ClusterReplaced"
HELD = "Held: "
"""Beginning of what a Work says that is held, where another one has failed."""
_CLAIM = ("v1", "PersistentVolumeClaim")


def has_volumes(manifest: ReadOnlyManifest) -> bool:
    """Tells whether making it anew makes volumes, or Pods that write to some."""
    if (manifest.get("apiVersion"), manifest.get("kind")) == _CLAIM or claims_of(manifest):
        return True
    return any(each.kind == _CLAIM[1] for each in dependencies_of(manifest))


def made_for(cluster: Cluster, binding: Binding, before: Mapping[str, str] | None) -> dict[str, str]:
    """The annotation of a Work that is made anew; `before` are those of the last Work of its name, None if none is
    known.

    A binding that has told of a copy in the cluster had a Work there, which somebody has deleted.
    """
    if before is not None:
        return {MADE_FOR_ANNOTATION: before[MADE_FOR_ANNOTATION]} if MADE_FOR_ANNOTATION in before else {}
    was_there = any(item.cluster_name == cluster.name for item in binding.status.aggregated_status)
    identity = "" if was_there else replaced_by(cluster)
    return {MADE_FOR_ANNOTATION: identity} if identity else {}


def is_held(work: Work, cluster: Cluster, uid: str) -> bool:
    """Tells whether volumes of a Work are not made; `uid` is the identity that was just seen, empty if nobody says."""
    made = work.metadata.annotations.get(MADE_FOR_ANNOTATION)
    return is_held_back(cluster, uid) and made != (uid or replaced_by(cluster))


def why_held(cluster: str) -> str:
    return (
        f"cluster {cluster} was rebuilt under its name, and its volumes would be new and empty; restore it there, or "
        f"accept that with `leeward confirm {cluster}`"
    )


def volumes_held(works: Mapping[str, Work]) -> Condition | None:
    """The condition of a binding of which Works, by cluster, are held back."""
    found = {cluster: held for cluster, work in sorted(works.items()) if (held := held_in(work)) is not None}
    told = [f"Not made in {cluster}, because {held.message}" for cluster, held in found.items()]
    return Condition(VOLUMES_HELD_CONDITION, "True", REASON, "; ".join(told)) if told else None


def held_in(work: Work) -> Condition | None:
    """The condition of a Work that is held back."""
    return find_condition(work.status.conditions, VOLUMES_HELD_CONDITION, "True")

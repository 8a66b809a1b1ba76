"""Volumes that are held back: what would come up on new and empty ones in a cluster that was rebuilt under its name.

Held is a claim, and a workload whose Pods claim volumes, that is not in the member. What is there already is kept as
its Work says: it was made or restored there. Holds: S5. Karmada makes it, and it comes up empty.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from kubeapi.meta import ReadOnlyManifest
from leeward.api.meta import Condition, find_condition, put_condition
from leeward.api.names import VOLUMES_HELD_CONDITION
from leeward.api.work import ResourceBindingStatus, Work
from leeward.core.eviction.volumes import claims_of
from leeward.core.interpreter import dependencies_of

REASON = "ClusterReplaced"
HELD = "Held: "
"""Beginning of what a Work says that is held, where another one has failed."""
_CLAIM = ("v1", "PersistentVolumeClaim")


def has_volumes(manifest: ReadOnlyManifest) -> bool:
    """Tells whether making it anew makes volumes, or Pods that write to some."""
    if (manifest.get("apiVersion"), manifest.get("kind")) == _CLAIM or claims_of(manifest):
        return True
    return any(each.kind == _CLAIM[1] for each in dependencies_of(manifest))


def why_held(cluster: str) -> str:
    return (
        f"cluster {cluster} was rebuilt under its name, and its volumes would be new and empty; restore it there, or "
        f"accept that with `leeward confirm {cluster}`"
    )


def volumes_held(works: Mapping[str, Work]) -> Condition | None:
    """The condition of a binding of which Works, by cluster, are held back."""
    found = {cluster: held for cluster, work in sorted(works.items()) if (held := held_in(work)) is not None}
    told = [f"Not made in {cluster}: {held.message}" for cluster, held in found.items()]
    return Condition(VOLUMES_HELD_CONDITION, "True", REASON, "; ".join(told)) if told else None


def held_in(work: Work) -> Condition | None:
    """The condition of a Work that is held back."""
    found = find_condition(work.status.conditions, VOLUMES_HELD_CONDITION)
    return found if found is not None and found.status == "True" else None


def with_held_volumes(status: ResourceBindingStatus, held: Condition | None, now: datetime) -> ResourceBindingStatus:
    """`status` that says so, or says nothing of the kind."""
    conditions = put_condition(status.conditions, VOLUMES_HELD_CONDITION, held, now)
    return msgspec.structs.replace(status, conditions=conditions)

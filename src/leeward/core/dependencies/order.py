"""The order of a new copy: its dependencies are in the cluster before it.

A Pod that comes before its ConfigMap does not run. The kubelet tries again after a while, and in a failover the
application is down meanwhile. Karmada: differs, it writes both at once.
"""

from collections.abc import Collection
from datetime import timedelta

from leeward.api.work import ResourceBinding, Work

LONGEST_WAIT = timedelta(seconds=15)
"""Time that a new copy waits at most. What a member refuses, or does not report, holds it up no longer: it may run
without."""


def is_refused(work: Work | None) -> bool:
    """Tells whether a cluster lacks the object of this Work: it refuses it, or has somebody else's. An unchanged
    earlier object is had."""
    if work is None or work.metadata.deletion_timestamp is not None or work.applied is None:
        return False
    return work.applied.status == "False" and not work.status.manifest_statuses


def is_in_place(attached: ResourceBinding | None, work: Work | None, cluster: str, needed: Collection[str]) -> bool:
    """Tells whether an object that there is in the control plane is in `cluster`, as far as it can get there.

    `attached` is the object's binding, `work` its Work in the cluster, `needed` where the binding says that the
    dependant needs it. A refusal is an answer, too; and an object that
    is suspended, or being deleted, is not waited for. Holds: S15.
    """
    if attached is None:
        return False
    if attached.metadata.deletion_timestamp is not None:
        return True
    is_placed = cluster in needed or any(target.name == cluster for target in attached.spec.clusters)
    if not is_placed or work is None or work.metadata.deletion_timestamp is not None:
        return False
    return bool(work.spec.suspend_dispatching) or work.applied is not None

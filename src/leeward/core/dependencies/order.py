"""The order of a new copy: what it needs is in the cluster before it is.

A Pod that comes before its ConfigMap does not run; the kubelet tries again after a while, and in a failover that is
time in which the application is down. Karmada: differs, it writes both at once.
"""

from datetime import timedelta

from leeward.api.work import BindingSnapshot, ResourceBinding, Work
from leeward.core.dependencies.attached import Place

LONGEST_WAIT = timedelta(seconds=15)
"""So long a new copy waits. What a member refuses, or does not report, holds it up no longer: it may run without."""


def is_in_place(attached: ResourceBinding | None, work: Work | None, cluster: str, dependant: Place) -> bool:
    """Whether an object that there is in the control plane is in `cluster`, as far as it can get there.

    `attached` is the object's binding, `work` its Work in the cluster. A refusal is an answer, too; and an object that
    is suspended, or being deleted, is not waited for.
    """
    if attached is None:
        return False
    if attached.metadata.deletion_timestamp is not None:
        return True
    needed = {target.name for snapshot in _snapshots(attached, dependant) for target in snapshot.clusters}
    placed = {target.name for target in attached.spec.clusters}
    if cluster not in needed | placed or work is None or work.metadata.deletion_timestamp is not None:
        return False
    return bool(work.spec.suspend_dispatching) or work.applied is not None


def _snapshots(attached: ResourceBinding, dependant: Place) -> list[BindingSnapshot]:
    return [each for each in attached.spec.required_by if (each.namespace, each.name) == dependant]

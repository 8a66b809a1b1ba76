"""Identity of a member: whether the cluster that answers is the one whose volumes its applications have written.

    leeward.dev/Identity          the identity that is accepted: the uid of the member's Namespace kube-system
    leeward.dev/ClusterReplaced   True while another cluster answers, False once that is confirmed or over
    leeward.dev/confirmed-identity   annotation by which somebody accepts the new identity, and no later one

The first look accepts the identity that it finds. Where the Cluster is not Ready then, it may have been rebuilt
in that outage: then `spec.id`, the uid when it joined, is compared. A Cluster that is Ready is accepted, whatever its
`spec.id`: it may be a user's own, or of a rebuild long ago. The record is in the status, which an agent writes as well.
A member that is restored from its own backup keeps its identity. Karmada: asks when a cluster joins, and never again.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from kubeapi.text import shown
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition, set_condition
from leeward.api.names import CONFIRMED_IDENTITY_ANNOTATION, IDENTITY_CONDITION, REPLACED_CONDITION
from leeward.core.registration import IDENTIFYING_NAMESPACE, Joined

MAX_UID = 128
"""Letters of a uid: members choose it."""
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""Form of the uids that API servers give."""


def accepted_identity(cluster: Cluster) -> str:
    """The identity that is accepted; empty where none is known yet."""
    record = find_condition(cluster.status.conditions, IDENTITY_CONDITION)
    if record is not None:
        return record.message
    may_be_rebuilt = cluster.ready is not None and not cluster.is_ready
    return cluster.spec.id if may_be_rebuilt and _UID.fullmatch(cluster.spec.id) else ""


def is_accepted(cluster: Cluster, uid: str) -> bool:
    """Tells whether volumes may be made anew in the cluster with this identity; an empty one is not known."""
    accepted, confirmed = accepted_identity(cluster), cluster.metadata.annotations.get(CONFIRMED_IDENTITY_ANNOTATION)
    return not uid or not accepted or uid in (accepted, confirmed)


def replaced(cluster: Cluster) -> Condition | None:
    """The condition of a cluster that was rebuilt under its name, until somebody confirms it."""
    return find_condition(cluster.status.conditions, REPLACED_CONDITION, "True")


def replaced_by(cluster: Cluster) -> str:
    """The identity that waits to be confirmed; empty where none does."""
    found = replaced(cluster)
    return found.message.partition(" ")[0] if found is not None else ""


def is_held_back(cluster: Cluster, uid: str) -> bool:
    """Tells whether volumes are not made anew there; `uid` is the identity that was just seen, empty if nobody says."""
    seen = uid or replaced_by(cluster)
    return bool(seen) and not is_accepted(cluster, seen)


def with_identity(cluster: Cluster, conditions: Sequence[Condition], uid: str, now: datetime) -> tuple[Condition, ...]:
    """The `conditions` of a Cluster whose member has this identity."""
    if not uid or len(uid) > MAX_UID:
        return tuple(conditions)
    if is_accepted(cluster, uid):
        conditions = set_condition(conditions, Condition(IDENTITY_CONDITION, "True", "Accepted", uid), now)
        if find_condition(conditions, REPLACED_CONDITION) is None:
            return conditions
        return set_condition(conditions, Condition(REPLACED_CONDITION, "False", "Accepted", f"{uid} is accepted"), now)
    before = Condition(IDENTITY_CONDITION, "False", "Replaced", accepted_identity(cluster))
    conditions = set_condition(conditions, before, now)
    return set_condition(conditions, _replaced(cluster, uid), now)


def _replaced(cluster: Cluster, uid: str) -> Condition:
    message = (
        f"{shown(uid)} is the uid of its Namespace {IDENTIFYING_NAMESPACE}, which was {accepted_identity(cluster)}: it "
        "was rebuilt under its name. Nothing with volumes is made there anew before somebody confirms that they may be "
        f"empty: `leeward confirm {cluster.name}`, or `leeward unjoin {cluster.name}` and join it again"
    )
    return Condition(REPLACED_CONDITION, "True", "IdentityChanged", message)


def problem_of_reached(name: str, found: str, joined: Iterable[Joined], control_plane_id: str) -> str:
    """The reason why nothing is done for the cluster `name` in the one with the id `found`, which answers at its
    endpoint; empty where there is none.

    An id that nobody has is that of a member that was rebuilt (decision 23). Its own is not questioned, whoever else
    has it. Holds: S5, S6.
    """
    others = [other for other in joined if other.id == found]
    if not found or any(other.name == name for other in others):
        return ""
    whose = f"the cluster {others[0].name}, which has joined, too" if others else ""
    if found == control_plane_id:
        whose = "the control plane itself"
    lead = f"spec.apiEndpoint and the Secret of {name} lead to {whose}"
    return f"{lead}: nothing is done there for {name}; give it those of its own cluster" if whose else ""

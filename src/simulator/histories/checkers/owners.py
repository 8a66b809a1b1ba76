"""S9: each field has one writer. What a controller writes is among what it owns, one owner's fields of a binding are
written at a time, and what a member has added to its object survives our writes.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from kubeapi.codec import to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, annotations_of
from kubeclient import Request
from kubeclient.caller import HEADER
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import FAILING_CONDITION, LOSS_COVERED_CONDITION, TAINTED_CONDITION, TAINTS_REMOVED_CONDITION
from leeward.api.rollout import ROLLOUT_REVISIONS_ANNOTATION, ROLLOUT_STATE_ANNOTATION
from leeward.api.work import ResourceBinding
from leeward.controllers.cluster_status.cluster_status import CONTROLLER as STATUS_CONTROLLER
from leeward.controllers.resilience import CONTROLLER as RESILIENCE_CONTROLLER
from simulator.histories.checkers.scene import Scene, Violation
from simulator.histories.ground_truth import BINDINGS, HOME, KINDS, TEMPLATES, WORKS, Change
from simulator.paths import resource_of, target_of

BINDING_OWNERS: Mapping[str, frozenset[str]] = {
    "scheduler": frozenset({"clusters", "gracefulEvictionTasks"}),
    "workloadRebalancer": frozenset({"rescheduleTriggeredAt"}),
    "dependenciesDistributor": frozenset({"requiredBy"}),
}
"""Fields of a binding's spec by their writer; the detector owns the others, the distributor those of what has no
placement."""

MARKS = frozenset({"metadata.annotations", "metadata.labels", "metadata.finalizers"})
FINALIZERS = frozenset({"metadata.finalizers"})
CLUSTERS = "/cluster.karmada.io/clusters/"
WORK_FIELDS = MARKS | {"spec.workload", "spec.suspendDispatching", "spec.preserveResourcesOnDeletion"}
PLACEMENT = MARKS | {f"spec.{name}" for name in BINDING_OWNERS["scheduler"]}
OF_POLICIES = {"resource-detector": MARKS, "policy-reconciler": FINALIZERS}
OF_BINDINGS = {
    "scheduler": PLACEMENT,
    "taint-manager": PLACEMENT,
    "workload-rebalancer-controller": frozenset({"spec.rescheduleTriggeredAt"}),
    "dependencies-distributor": MARKS,
    "dependencies-distributor-attached": MARKS
    | {"spec.requiredBy", "spec.resource", "spec.conflictResolution", "spec.preserveResourcesOnDeletion"},
    "binding-controller": FINALIZERS,
    "cluster-resource-binding-controller": FINALIZERS,
}
OWNED: Mapping[str, Mapping[str, frozenset[str]]] = {
    **{kind: {"resource-detector": MARKS} for kind in KINDS.values()},
    "//configmaps/": {"resource-detector": MARKS, "brake-controller": frozenset({"data"})},
    "/policy.karmada.io/propagationpolicies/": OF_POLICIES,
    "/policy.karmada.io/clusterpropagationpolicies/": OF_POLICIES,
    CLUSTERS: {"cluster-controller": MARKS | {"spec.taints"}},
    BINDINGS[0]: OF_BINDINGS,
    BINDINGS[1]: OF_BINDINGS,
    WORKS: {
        "binding-controller": WORK_FIELDS,
        "cluster-resource-binding-controller": WORK_FIELDS,
        "namespace-sync-controller": WORK_FIELDS,
        "federated-resource-quota-sync-controller": WORK_FIELDS,
        "execution-controller": FINALIZERS,
        "cluster-controller": FINALIZERS | {"spec.preserveResourcesOnDeletion"},
    },
}
"""Fields, by kind, that each controller may patch beside the status; any other controller nothing. Templates, policies
and Clusters are their users'; the data of a ConfigMap is ours in `karmada-system` only. The detector makes bindings: of
them it may patch what is nobody else's. The cluster controller has Works of a cluster
that leaves preserve what others use."""
ROLLOUT_MEMORY = frozenset({ROLLOUT_STATE_ANNOTATION, ROLLOUT_REVISIONS_ANNOTATION})
"""Annotations that the binding controllers write, alone of all annotations of a binding."""
SYSTEM = "/karmada-system/"
MEMBERS_OWN = ("deployment.kubernetes.io/revision",)
"""Annotations that a member's own controllers set."""


_OF_THE_CLUSTER_CONTROLLER = (FAILING_CONDITION, TAINTED_CONDITION, TAINTS_REMOVED_CONDITION)


class OwnersChecker:
    """Checker of what the journal shows: bindings, and what members own of their objects."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def look(self, change: Change) -> Iterator[Violation]:
        if change.old is None or change.new is None:
            return
        if change.kind == "/work.karmada.io/resourcebindings/":
            yield from self._binding(change)
        elif change.kind == TEMPLATES[0] and change.place != HOME:
            yield from self._retained(change)

    def _binding(self, change: Change) -> Iterator[Violation]:
        owners = {_owner_of(name) for name in _changed(change.old, change.new)}
        follows = change.old.spec.placement is None and change.new.spec.placement is None
        if len(owners) > 1 and not follows:
            message = f"one write of {change.key} changed what belongs to {' and '.join(sorted(owners))}"
            yield Violation("S9", change.seconds, message)
        before, after = _scheduled_generation(change.old), _scheduled_generation(change.new)
        if after < before and change.old.metadata.uid == change.new.metadata.uid:
            message = f"{change.key}: Scheduled spoke of generation {before}, and speaks of {after} again"
            yield Violation("S9", change.seconds, message)

    def _retained(self, change: Change) -> Iterator[Violation]:
        before, after = annotations_of(change.old), annotations_of(change.new)
        lost = [name for name in MEMBERS_OWN if name in before and name not in after]
        if lost:
            message = f"{change.key} in {change.place} has lost what the member had noted: {', '.join(lost)}"
            yield Violation("S9", change.seconds, message)


def foreign_fields(request: Request) -> list[str]:
    """Fields that a request of ours to the control plane writes without owning them; of the kinds that are looked
    at."""
    target = target_of(request.path)
    if request.method != "PATCH" or target is None or target.subresource == "status":
        return []
    kind, caller = resource_of(target.prefix), request.headers.get(HEADER, "")
    if kind not in OWNED:
        return []
    patch = json.loads(request.body)
    written = set(_fields(patch))
    if kind in BINDINGS and OF_BINDINGS.get(caller) == FINALIZERS and _annotated(patch) <= ROLLOUT_MEMORY:
        written.discard("metadata.annotations")
    if kind in BINDINGS and caller == "resource-detector":
        return sorted(field for field in written if _owner_of(field.removeprefix("spec.")) != "detector")
    owned = OWNED[kind].get(caller, frozenset[str]())
    if kind == "//configmaps/" and SYSTEM not in target.prefix:
        owned = owned - {"data"}
    return sorted(field for field in written if field not in owned and field.partition(".")[0] not in owned)


def foreign_conditions(request: Request, clusters: Mapping[str, Cluster]) -> list[str]:
    """Finds what a request of ours says of a Cluster in another controller's stead: in its status, on the present
    version.

    Who looks at a member says how it is. While the agent is silent, the cluster controller says that nobody knows.
    """
    target = target_of(request.path)
    cluster = clusters.get(target.name) if target is not None and resource_of(target.prefix) == CLUSTERS else None
    if request.method != "PATCH" or target is None or target.subresource != "status" or cluster is None:
        return []
    patch, caller = json.loads(request.body), request.headers.get(HEADER, "")
    status = patch.get("status", {})
    if patch.get("metadata", {}).get("resourceVersion") != cluster.metadata.resource_version:
        return []
    looks = caller == STATUS_CONTROLLER
    beside = [] if looks else [f"status.{name}" for name in status if name != "conditions"]
    before = {each.type: each.status for each in cluster.status.conditions}
    after = (
        {each["type"]: each["status"] for each in status.get("conditions") or ()} if "conditions" in status else before
    )
    said = [(name, after.get(name, "")) for name in {*before, *after} if before.get(name) != after.get(name)]
    return sorted(beside + [f"{name}={value}" for name, value in said if not _may_say(caller, name, value)])


def _may_say(caller: str, condition: str, status: str) -> bool:
    if caller == RESILIENCE_CONTROLLER or condition == LOSS_COVERED_CONDITION:
        return (caller, condition) == (RESILIENCE_CONTROLLER, LOSS_COVERED_CONDITION)
    if caller == STATUS_CONTROLLER:
        return (condition, status) != ("Ready", "Unknown")
    return caller == "cluster-controller" and (
        condition in _OF_THE_CLUSTER_CONTROLLER or (condition, status) == ("Ready", "Unknown")
    )


def _fields(patch: Manifest) -> Iterator[str]:
    """The fields of a merge patch, two levels deep, without the names that only say which object is meant."""
    for section, value in patch.items():
        if section in ("apiVersion", "kind"):
            continue
        if not isinstance(value, dict):
            yield section
            continue
        fields = cast(dict[str, Any], value)
        yield from (
            f"{section}.{name}" for name in fields if name not in ("name", "namespace", "resourceVersion", "uid")
        )


def _annotated(patch: Manifest) -> set[str]:
    return set(cast(Manifest, patch.get("metadata") or {}).get("annotations") or ())


def _changed(old: ResourceBinding, new: ResourceBinding) -> list[str]:
    before, after = cast(Manifest, to_wire(old.spec)), cast(Manifest, to_wire(new.spec))
    return [name for name in {*before, *after} if not is_equal(before.get(name), after.get(name))]


def _scheduled_generation(binding: ResourceBinding) -> int:
    """Generation that the scheduler has spoken of last; whoever writes another condition writes its own only."""
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    return (scheduled.observed_generation or 0) if scheduled is not None else 0


def _owner_of(field: str) -> str:
    return next((owner for owner, fields in BINDING_OWNERS.items() if field in fields), "detector")

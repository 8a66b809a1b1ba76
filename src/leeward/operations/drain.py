"""Cordon and drain: the taints that ask for them, and the copies that are still in a drained cluster, and why.

The control plane does the work, because the cluster has the taint; this only sets it, and looks.
"""

from dataclasses import dataclass

from kubeapi.meta import Manifest, annotations_of
from kubeapi.toleration import tolerates
from kubeapi.unstructured import mappings_at, text_at
from kubeclient import Client
from leeward.api.meta import find_condition
from leeward.api.names import (
    DRAIN_BUDGET_ANNOTATION,
    EVICTION_HELD_CONDITION,
    LEAVING_CONDITION,
    REMOVAL_BLOCKED_CONDITION,
    REMOVAL_HELD_ANNOTATION,
    execution_space,
)
from leeward.api.resource import WORKS
from leeward.api.work import Binding
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement.cause import cause_in
from leeward.operations.bindings import list_bindings, list_manifests
from leeward.operations.sentences import counted
from leeward.operations.taints import CORDON, DRAIN, change_taints, with_taint, without_taints


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy of one binding in the cluster; `staying`: the drain does not move it; `moving`: it is on its way out."""

    workload: str
    state: str
    staying: bool = False
    moving: bool = False


async def start_cordon(client: Client, cluster: str) -> bool:
    """Tells whether it was not cordoned yet. Raises: OperationFailed, WorldError."""
    return await change_taints(client, cluster, with_taint(CORDON))


async def undo_cordon(client: Client, cluster: str) -> bool:
    """Takes back a cordon and a drain; whether there was one of them. Raises: OperationFailed, WorldError."""
    return await change_taints(client, cluster, without_taints(CORDON, DRAIN), {DRAIN_BUDGET_ANNOTATION: None})


async def start_drain(client: Client, cluster: str, budget: int | None) -> None:
    """`budget` is how many move at the same time, 0 for all, None to leave it as it was.

    Raises: OperationFailed, WorldError.
    """
    annotations = {} if budget is None else {DRAIN_BUDGET_ANNOTATION: str(budget) if budget else None}
    await change_taints(client, cluster, with_taint(DRAIN), annotations)


async def undo_drain(client: Client, cluster: str) -> bool:
    """Tells whether it was being drained. A cordon stays. Raises: OperationFailed, WorldError."""
    return await change_taints(client, cluster, without_taints(DRAIN), {DRAIN_BUDGET_ANNOTATION: None})


async def copies_in(client: Client, cluster: str) -> list[Copy]:
    """Copies in the cluster by placement, by an eviction that is under way, or since their removal is held, by name.
    Raises: WorldError."""
    bindings = (await list_bindings(client)).items
    found = {copy.workload: copy for binding in bindings if (copy := describe_copy(binding, cluster)) is not None}
    for work in await list_manifests(client, WORKS, execution_space(cluster)):
        state = _why_it_stays(work)
        for manifest in mappings_at(work, "spec", "workload", "manifests") if state else ():
            metadata = manifest.get("metadata", {})
            name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
            workload = f"{manifest.get('kind')} {name}"
            found.setdefault(workload, Copy(workload, state, moving=True))
    return sorted(found.values(), key=lambda copy: copy.workload)


def _why_it_stays(work: Manifest) -> str:
    """Reason why the objects of a Work that is not wanted stay for now; empty where they do not."""
    conditions = list(mappings_at(work, "status", "conditions"))
    is_held = annotations_of(work).get(REMOVAL_HELD_ANNOTATION) in ("true", "away")
    if is_held or any(each.get("type") == LEAVING_CONDITION for each in conditions):
        return "stays until other clusters serve all replicas"
    if "deletionTimestamp" not in work.get("metadata", {}):
        return ""
    told = (each for each in conditions if each.get("type") == REMOVAL_BLOCKED_CONDITION)
    return next((f"stays. {text_at(each, 'message')}" for each in told), "")


def describe_copy(binding: Binding, cluster: str) -> Copy | None:
    """None where the binding has nothing to do with the cluster."""
    spec = binding.spec
    workload = workload_of(binding)
    task = next((task for task in spec.graceful_eviction_tasks if task.from_cluster == cluster), None)
    if task is not None:
        state = "kept by suppressDeletion" if task.suppress_deletion else "moving, until its replacement is healthy"
        return Copy(workload, state, bool(task.suppress_deletion), moving=True)
    target = next((target for target in spec.clusters if target.name == cluster), None)
    if target is None:
        return None
    tolerations = spec.tolerations
    toleration = next((each for each in tolerations if tolerates(each, DRAIN)), None)
    if toleration is not None and toleration.toleration_seconds is None:
        return Copy(workload, "stays, because its policy tolerates the taint", staying=True)
    if toleration is not None:
        return Copy(workload, f"to move after the {toleration.toleration_seconds} s that its policy tolerates")
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    if held is not None:
        if held.reason == HeldReason.NOTHING_TO_GAIN:
            return Copy(workload, f"stays: {held.message}", staying=True)
        said = f"cannot move. {cause_in(held.reason, held.message)}"
        return Copy(workload, "waits for its turn" if held.reason == HeldReason.WAITING_FOR_TURN else said)
    return Copy(workload, f"{counted(target.replicas, 'replica')} to move" if target.replicas else "to move")


def workload_of(binding: Binding) -> str:
    """`Deployment default/web`"""
    resource = binding.spec.resource
    return f"{resource.kind} {'/'.join(part for part in (resource.namespace, resource.name) if part)}"

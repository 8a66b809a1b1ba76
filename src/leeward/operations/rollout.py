"""Rollouts for operators: how far one is, a pause, an approval, and the way back."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import structs

from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.rollout import (
    ROLLOUT_APPROVED_ANNOTATION,
    ROLLOUT_CONDITION,
    ROLLOUT_PAUSED_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    ROLLOUT_UNDONE_ANNOTATION,
)
from leeward.api.work import Binding, Work
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.rollout.rollout_decision import Reason
from leeward.core.rollout.state import RolloutState, render_state, revisions_of_work, state_of, wishes_of
from leeward.operations.errors import OperationFailed
from leeward.operations.rollout_view import RolloutView, rollout_view

BindingPlace = tuple[str, str]
"""Namespace and name of a binding; a cluster-scoped one has no namespace."""


@dataclass(frozen=True, slots=True)
class RolloutReading:
    """State of a rollout. `revisions` are those of the Works by cluster; empty where nothing says so."""

    name: str
    condition: Condition
    state: RolloutState
    revisions: Mapping[str, str]
    view: RolloutView


async def read_rollout(client: Client, places: Sequence[BindingPlace], now: datetime) -> RolloutReading:
    """Raises: OperationFailed where the application has no rollout; WorldError."""
    _, binding, state, condition = await _found(client, places, now)
    works, clusters = dict[str, Work](), dict[str, Cluster]()
    for cluster in sorted(replicas_by_cluster(binding.spec)):
        with suppress(NotFound):
            works[cluster] = await client.get(WORKS, name_of_works(binding), execution_space(cluster))
        with suppress(NotFound):
            clusters[cluster] = await client.get(CLUSTERS, cluster)
    revisions = {cluster: next(iter(revisions_of_work(work)), "") for cluster, work in works.items()}
    view = rollout_view(binding, works, clusters, now)
    assert view is not None, "a binding with a state and a condition has a view"
    return RolloutReading(binding.name, condition, state, revisions, view)


async def pause_rollout(client: Client, places: Sequence[BindingPlace], now: datetime) -> str:
    """Keeps each cluster at the revision that it has. Tells the change. Raises: OperationFailed, WorldError."""
    kind, binding, _, _ = await _found(client, places, now)
    if wishes_of(binding).paused:
        return f"the rollout of {binding.name} is paused already"
    await _annotate(client, kind, binding, {ROLLOUT_PAUSED_ANNOTATION: "true"})
    return f"the rollout of {binding.name} is paused: each cluster keeps the revision that it has"


async def resume_rollout(client: Client, places: Sequence[BindingPlace], now: datetime) -> str:
    """Ends a pause, approves a stage that waits for it, and tries a revision that was taken back again.

    Says what was done. Raises: OperationFailed, WorldError."""
    kind, binding, state, condition = await _found(client, places, now)
    wishes, changes = wishes_of(binding), dict[str, str | None]()
    said = list[str]()
    if wishes.paused:
        changes[ROLLOUT_PAUSED_ANNOTATION], said = None, [*said, "goes on"]
    if condition.reason == Reason.WAITING:
        stage = condition.message.removeprefix("Stage ").partition(" ")[0]
        changes[ROLLOUT_APPROVED_ANNOTATION], said = f"{state.target}/{stage}", [*said, f"leaves stage {stage}"]
    if wishes.undone == state.target:
        changes[ROLLOUT_UNDONE_ANNOTATION], said = None, [*said, "begins anew"]
    if state.failed == state.target:
        changes[ROLLOUT_STATE_ANNOTATION] = render_state(structs.replace(state, failed="", clusters={}))
        said = [*said, "tries the revision that has failed again"]
    if not changes:
        return f"nothing holds the rollout of {binding.name} that a person could end"
    await _annotate(client, kind, binding, changes)
    return f"the rollout of {binding.name} {' and '.join(said)}"


async def undo_rollout(client: Client, places: Sequence[BindingPlace], now: datetime) -> str:
    """Has all clusters go back to the revision before. Tells the change. Raises: OperationFailed, WorldError."""
    kind, binding, state, _ = await _found(client, places, now)
    back = state.proven if state.is_under_way else state.previous
    if wishes_of(binding).undone == state.target:
        return f"the last change of {binding.name} is taken back already"
    if not back:
        raise OperationFailed(f"no revision of {binding.name} before this one is known: change the template")
    await _annotate(client, kind, binding, {ROLLOUT_UNDONE_ANNOTATION: state.target, ROLLOUT_PAUSED_ANNOTATION: None})
    return f"the last change of {binding.name} is taken back in all clusters, until its template is changed again"


async def _found(
    client: Client, places: Sequence[BindingPlace], now: datetime
) -> tuple[Resource[Any], Binding, RolloutState, Condition]:
    """Raises: OperationFailed."""
    for namespace, name in places:
        kind: Resource[Any] = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
        try:
            binding: Binding = await client.get(kind, name, namespace)
        except NotFound:
            continue
        state, condition = state_of(binding, now), find_condition(binding.status.conditions, ROLLOUT_CONDITION)
        if state is None or condition is None:
            raise OperationFailed(
                f"{name} has no rollout: its policy asks for no stages (annotation leeward.dev/rollout), or nothing "
                "was propagated yet"
            )
        return kind, binding, state, condition
    raise OperationFailed("there is no such binding: `leeward status` lists applications")


async def _annotate(
    client: Client, kind: Resource[Any], binding: Binding, annotations: Mapping[str, str | None]
) -> None:
    patch, version = {"metadata": {"annotations": dict(annotations)}}, binding.metadata.resource_version
    await client.patch(kind, binding.name, patch, binding.namespace, resource_version=version)

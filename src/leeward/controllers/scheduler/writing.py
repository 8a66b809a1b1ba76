"""Writes a decision: where the binding goes and what it leaves in one write, and what is said of that in another.

Writes only what has changed, and with the resourceVersion that was decided on.
"""

from datetime import datetime

from leeward.api.codec import encode, to_wire
from leeward.api.diff import status_patch
from leeward.api.meta import Manifest
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.core.binding_status import status_after
from leeward.core.decision import Decision
from leeward.core.scheduling import Placed
from leeward.runtime.plane import ControlPlane


class Writing:
    def __init__(self, plane: ControlPlane, bindings: Bindings) -> None:
        self._plane = plane
        self._bindings = bindings

    async def write_placement(self, key: BindingKey, binding: Binding, decision: Decision) -> Binding:
        """The binding after it; the same object where there was nothing to write. Raises: WorldError."""
        patch: Manifest = {}
        if decision.clusters != binding.spec.clusters:
            patch["clusters"] = to_wire(decision.clusters)
        if decision.eviction_tasks != binding.spec.graceful_eviction_tasks:
            patch["gracefulEvictionTasks"] = to_wire(decision.eviction_tasks) or None
        body: Manifest = {"spec": patch} if patch else {}
        annotations = dict(decision.annotations)
        applied = encode(binding.spec.placement or Placement()).decode()
        if _is_settled(decision) and binding.metadata.annotations.get(APPLIED_PLACEMENT_ANNOTATION) != applied:
            annotations[APPLIED_PLACEMENT_ANNOTATION] = applied
        if annotations:
            body["metadata"] = {"annotations": annotations}
        return await self._patch(key, binding, body) if body else binding

    async def write_status(self, key: BindingKey, binding: Binding, decision: Decision, now: datetime) -> None:
        """Raises: WorldError."""
        patch = status_patch(binding.status, status_after(binding, decision, now))
        if patch:
            await self._patch(key, binding, patch, subresource="status")

    async def _patch(self, key: BindingKey, binding: Binding, body: Manifest, subresource: str = "") -> Binding:
        updated = await self._plane.client.patch(
            self._bindings.resource(key),
            binding.name,
            body,
            binding.namespace,
            subresource=subresource,
            resource_version=binding.metadata.resource_version,
        )
        self._bindings.informer(key).remember(updated)
        return updated


def _is_settled(decision: Decision) -> bool:
    """Whether the present placement has been carried out, or found to fit nowhere."""
    return isinstance(decision.result, Placed) or getattr(decision.result, "kind", "") == "FitError"

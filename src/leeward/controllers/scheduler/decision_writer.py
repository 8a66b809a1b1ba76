"""Writes a decision: the binding's clusters and eviction tasks in one write, and its status in another.

Writes only changes, and with the resourceVersion that was decided on.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from controller_runtime import BOOKKEEPING_SECONDS, NEWS_SECONDS, PROGRESS_SECONDS, StatusChange
from kubeapi.codec import encode, to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeclient import Forbidden, WorldError
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, CLUSTER_OUTAGE_CONDITION
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingStatus
from leeward.controllers.scheduler.bindings import BindingKey, Bindings
from leeward.core.binding_status import status_after
from leeward.core.left_to_shards import DECIDED_ANNOTATION, leave_words, words_left
from leeward.core.placement import Decision
from leeward.core.quota.enforcement import EXCEEDED
from leeward.core.scheduling import Placed, applied_placement, same_targets
from leeward.runtime.controller_context import ControlPlane

LEFT_SECONDS = 15.0
"""Seconds beyond its own time in which a shard is expected to write a status that was left to it."""
_Said = tuple[str, str, str, str]
"""Type, status, reason and message of a condition."""


class QuotaRefused(Forbidden):
    """A quota of the namespace leaves no room for the decision; told in the quota's own words."""

    def __str__(self) -> str:
        details = self.status.details
        causes = details.causes if details is not None else ()
        return causes[0].message if causes else self.status.message


class DecisionWriter:
    def __init__(self, plane: ControlPlane, bindings: Bindings, writer: str) -> None:
        self._plane = plane
        self._bindings = bindings
        self._writer = writer

    async def write_placement(self, key: BindingKey, binding: Binding, decision: Decision) -> Binding:
        """The binding after it; the same object where there was nothing to write. Raises: QuotaRefused, WorldError."""
        patch: Manifest = {}
        if not same_targets(decision.clusters, binding.spec.clusters):
            patch["clusters"] = to_wire(decision.clusters)
        if decision.eviction_tasks != binding.spec.graceful_eviction_tasks:
            patch["gracefulEvictionTasks"] = to_wire(decision.eviction_tasks) or None
        body: Manifest = {"spec": patch} if patch else {}
        annotations = dict(decision.annotations)
        if patch and not self._plane.share.works:
            annotations.update(self._left_words(key, binding, decision))
        placement = binding.spec.placement or Placement()
        if _is_settled(decision) and applied_placement(binding) != placement:
            annotations[APPLIED_PLACEMENT_ANNOTATION] = encode(placement).decode()
        if annotations:
            body["metadata"] = {"annotations": annotations}
        return await self._patch(key, binding, body) if body else binding

    def post_status(
        self,
        key: BindingKey,
        binding: Binding,
        decision: Decision,
        now: datetime,
        on_failure: Callable[[WorldError], None],
    ) -> None:
        """Posts the status after a decision, soon where it says something new.

        Words that were left to a shard are written here when it has not written them after a while.
        """
        expected = self._bindings.statuses(key).expected(binding)

        def change(status: ResourceBindingStatus) -> ResourceBindingStatus:
            return status_after(status, expected, decision, now)

        told, within = StatusChange[Any](change, on_failure), _urgency(expected, decision, now)
        left_for = LEFT_SECONDS if words_left(binding) is not None and not self._plane.share.works else 0.0
        self._bindings.statuses(key).post(binding, self._writer, told, within=within, left_for=left_for)

    def _left_words(self, key: BindingKey, binding: Binding, decision: Decision) -> Mapping[str, str]:
        """Annotations of the binding by which its status is left to its shard. Its spec is about to change."""
        statuses, now = self._bindings.statuses(key), self._plane.clock.now()
        metadata = replace(binding.metadata, generation=binding.metadata.generation + 1)
        spec = replace(binding.spec, graceful_eviction_tasks=decision.eviction_tasks)
        planned = statuses.expected(replace(binding, metadata=metadata, spec=spec))
        burst = bool(decision.evicted) and statuses.is_burst
        words = leave_words(planned, decision, now, _urgency(planned, decision, now), burst=burst)
        return {DECIDED_ANNOTATION: words} if words else {}

    async def _patch(self, key: BindingKey, binding: Binding, body: Manifest) -> Binding:
        resource, version = self._bindings.resource(key), binding.metadata.resource_version
        try:
            updated = await self._plane.client.patch(
                resource, binding.name, body, binding.namespace, resource_version=version
            )
        except Forbidden as error:
            if error.status.reason == EXCEEDED:
                raise QuotaRefused(error.status) from error
            raise
        self._bindings.informer(key).remember(updated)
        return updated


def _urgency(binding: Binding, decision: Decision, now: datetime) -> float:
    """Seconds that the status after a decision may wait in a burst.

    Another observed generation is no news where nothing else has changed. Nor is the end of an outage for a binding
    that is moving, since more will be said of it. Nor is a first placement: the spec says it, and its results soon
    follow.
    """
    but = CLUSTER_OUTAGE_CONDITION if binding.spec.graceful_eviction_tasks else ""
    before = _conditions(binding.status, but)
    after = _conditions(status_after(binding.status, binding, decision, now), but)
    if _is_first_success(before, after):
        return PROGRESS_SECONDS
    return NEWS_SECONDS if not is_equal(before, after) else BOOKKEEPING_SECONDS


def _conditions(status: ResourceBindingStatus, but: str) -> list[_Said]:
    return [(c.type, c.status, c.reason, c.message) for c in status.conditions if c.type != but]


def _is_first_success(before: list[_Said], after: list[_Said]) -> bool:
    """Tells whether all that is new is that it was scheduled, of which nothing was said before."""
    there = set(before)
    new = [said[:2] for said in after if said not in there]
    known = {said[0] for said in before}
    return new == [("Scheduled", "True")] and known == {said[0] for said in after} - {"Scheduled"}


def _is_settled(decision: Decision) -> bool:
    """Tells whether the present placement has been carried out, or found to fit nowhere while nothing is placed."""
    if decision.quota_refusal:
        return False
    fits_nowhere = getattr(decision.result, "kind", "") == "FitError"
    return isinstance(decision.result, Placed) or (fits_nowhere and not decision.clusters)

"""The bindings that the detector makes and keeps, written; and what of its writes need not be looked at again.

A write comes back as a change. A binding that was just written is as it was to be, unless the answer says otherwise, or
somebody has changed it before the answer came. A change of what only others write concerns no template.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from controller_runtime import Informer, Key, key_of, version_of
from kubeapi.codec import to_wire
from kubeapi.diff import is_equal, merged
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Conflict, Forbidden, Undecodable
from leeward.api.work import Binding
from leeward.core.propagation.claiming import binding_patch, claim_patch
from leeward.core.quota.enforcement import EXCEEDED, fewer_replicas_alone
from leeward.runtime.controller_context import ControlPlane


class DetectedBindings:
    """`look_at` is called with a binding that was written, and is not as it was to be."""

    def __init__(self, plane: ControlPlane, look_at: Callable[[Binding], None]) -> None:
        self._client = plane.client
        self._look_at = look_at
        self._under_way: set[tuple[str, Key]] = set()

    def is_written_here(self, binding: Binding) -> bool:
        """Tells whether a change of a binding is ours, as far as is known: whoever writes it goes on with it, or fails
        and begins anew."""
        return (binding.spec.resource.kind, key_of(binding)) in self._under_way

    async def create(self, kind: Resource[Any], bindings: Informer[Any], desired: Manifest) -> None:
        """Raises: Conflict when it is there; Undecodable when it is, and cannot be read; WorldError."""
        if key_of(desired) in bindings.unreadable:
            raise Undecodable(f"its {kind.kind} {key_of(desired)} is there and cannot be read: it stays as it is")
        made = self._client.create(kind, desired, key_of(desired).namespace)
        try:
            await self._write(bindings, desired, made)
        except AlreadyExists as error:
            raise Conflict(error.status) from error

    async def patch(
        self, kind: Resource[Any], bindings: Informer[Any], present: Binding, patch: Manifest, desired: Manifest
    ) -> Binding:
        """The binding after it. Where a quota refuses the whole, fewer replicas are written alone, for the scheduler to
        take some away; the whole fits then, later. Karmada: differs. The whole is refused again and again.

        Raises: Forbidden where a quota has refused it, or a part of it; WorldError.
        """
        version = present.metadata.resource_version
        patched = self._client.patch(kind, present.name, patch, present.namespace, resource_version=version)
        try:
            return await self._write(bindings, desired, patched)
        except Forbidden as error:
            part = fewer_replicas_alone(patch, present.spec.replicas) if error.status.reason == EXCEEDED else None
            if part is not None:
                await self._client.patch(kind, present.name, part, present.namespace, resource_version=version)
            raise

    async def release(self, kind: Resource[Any], bindings: Informer[Any], present: Binding) -> None:
        """Takes the marks of a claim off it; what the policy has asked for stays. Raises: WorldError.

        Karmada: pkg/detector (`handlePolicyDeletion`); same.
        """
        wire = to_wire(present)
        patch = claim_patch(wire, {}, {})
        if patch and present.metadata.deletion_timestamp is None:
            await self.patch(kind, bindings, present, patch, merged(wire, patch))

    async def _write(self, bindings: Informer[Any], desired: Manifest, write: Awaitable[Binding]) -> Binding:
        place = desired["spec"]["resource"]["kind"], key_of(desired)
        self._under_way.add(place)
        try:
            written = await write
            bindings.remember(written)
        finally:
            self._under_way.discard(place)
        known: Binding | None = bindings.get(written.name, written.namespace)
        is_ours = known is not None and version_of(known) == version_of(written)
        if not is_ours or binding_patch(to_wire(written), desired):
            self._look_at(written)
        return written


def concerns_its_template(old: Binding, new: Binding) -> bool:
    """Tells whether a change of a binding can be one of what the detector writes into it. What the scheduler, the
    rebalancer and the distributor of dependencies write is theirs alone."""
    if old.metadata.generation == new.metadata.generation:
        return False
    was, now = (each.metadata.deletion_timestamp for each in (old, new))
    return was != now or old.metadata.uid != new.metadata.uid or not is_equal(_kept(old), _kept(new))


def _kept(binding: Binding) -> Any:
    return msgspec.structs.replace(
        binding.spec, clusters=(), graceful_eviction_tasks=(), required_by=(), reschedule_triggered_at=None
    )

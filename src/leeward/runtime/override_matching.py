"""Matching of override policies and bindings: the policies that select a manifest, the bindings that a policy concerns.
Namespaces, which have no binding, stand here for themselves.

A change of a policy is taken in at once; the bindings whose templates it selected before, or selects now, are looked
for in a queue of its own, a turn at a time. Holds: L4.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from controller_runtime import Informer, Key, key_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.resource import CLUSTER_OVERRIDE_POLICIES, OVERRIDE_POLICIES
from leeward.api.work import Binding
from leeward.core.overrides.applicable import EVERY_KIND, select_unread, selects
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules
from leeward.core.propagation.selecting import Selected
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.override_index import OverrideIndex
from leeward.runtime.policy_changes import EarlierSelections, PolicyKey

KindOf = Callable[[Any], tuple[str, str]]
"""Function from a binding, or what stands for itself, to apiVersion and kind of the resource template."""


def kind_of_binding(binding: Binding) -> tuple[str, str]:
    wanted = binding.spec.resource
    return wanted.api_version, wanted.kind


class OverrideMatching:
    """`concerns` is told of each of `bindings` whose manifests may be overridden otherwise now.

    `template_of` is the resource template of a binding, as far as it is known.
    """

    def __init__(
        self,
        plane: ControlPlane,
        name: str,
        bindings: Informer[Any],
        template_of: Callable[[Any], ReadOnlyManifest | None],
        concerns: Callable[[Key], None],
        kind_of: KindOf = kind_of_binding,
    ) -> None:
        """`name` of the queue."""
        self._kind_of = kind_of
        self._plane = plane
        self._bindings = bindings
        self._template_of = template_of
        self._concerns = concerns
        self._policies = plane.informers.of(OVERRIDE_POLICIES)
        self._cluster_policies = plane.informers.of(CLUSTER_OVERRIDE_POLICIES)
        self._local = OverrideIndex[OverridePolicy]()
        self._everywhere = OverrideIndex[ClusterOverridePolicy]()
        self._earlier = EarlierSelections()
        self._unread: dict[Key, tuple[Manifest, Selected]] = {}
        """Selections that policies which cannot be read may have, each with the state of which that was found."""
        self._controller = plane.controller(name, self.reconcile, workers=1)

    def start(self) -> None:
        self._policies.on_change(self._changed(self._local, clustered=False))
        self._cluster_policies.on_change(self._changed(self._everywhere, clustered=True))
        self._controller.start(self._plane.supervisor)

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        await self._policies.wait_synced()
        await self._cluster_policies.wait_synced()

    def has_any(self) -> bool:
        """Tells whether there are override policies at all."""
        return bool(self._local) or bool(self._everywhere)

    async def cluster_wide(self, manifest: ReadOnlyManifest) -> Sequence[Rules]:
        """The rules of the ClusterOverridePolicies that select the manifest, in order."""
        return await self._plane.turns.finish(self._everywhere.search(manifest))

    async def namespaced(self, manifest: ReadOnlyManifest) -> Sequence[Rules]:
        """Rules of the OverridePolicies of the manifest's namespace."""
        return (
            await self._plane.turns.finish(self._local.search(manifest))
            if manifest["metadata"].get("namespace")
            else ()
        )

    def never_read(self) -> tuple[Mapping[Key, Manifest], Mapping[Key, Manifest]]:
        """The ClusterOverridePolicies and the OverridePolicies that are there, and of which nothing is known."""
        cluster_wide = {k: v for k, v in self._cluster_policies.unreadable.items() if k not in self._everywhere}
        own = {key: found for key, found in self._policies.unreadable.items() if key not in self._local}
        self._unread = {key: each for key, each in self._unread.items() if key in cluster_wide or key in own}
        return cluster_wide, own

    async def first_selecting(self, unread: Mapping[Key, Manifest], manifest: ReadOnlyManifest) -> Key | None:
        """First policy that may select the manifest and cannot be read. They are asked a turn at a time."""
        namespace = key_of(manifest).namespace
        for key in sorted(key for key in unread if key.namespace in ("", namespace)):
            await self._plane.turns.take()
            known = self._unread.get(key)
            if known is None or known[0] is not unread[key]:
                self._unread[key] = known = unread[key], select_unread(unread[key])
            if selects(known[1], manifest):
                return key
        return None

    async def reconcile(self, key: PolicyKey) -> datetime | None:
        """Tells of the bindings whose manifests a policy has selected, or selects.

        An OverridePolicy is asked about the manifest that the ClusterOverridePolicies make: where there are some, it
        may select that by labels which the template does not have.
        """
        index = self._everywhere if key.clustered else self._local
        selections = [*self._earlier.take(key), index.selected(key.key)]
        kinds = {(scope.api_version, scope.kind) for selected in selections for scope in selected}
        for binding in self._bindings.list(None if key.clustered else key.key.namespace):
            await self._plane.turns.take()
            if not kinds.isdisjoint((self._kind_of(binding), EVERY_KIND)) and await self._is_concerned(
                binding, selections, clustered=key.clustered
            ):
                self._concerns(key_of(binding))
        return None

    async def _is_concerned(self, binding: Any, selections: Sequence[Selected], *, clustered: bool) -> bool:
        """A binding whose template is not known yet is looked at anyway."""
        template = self._template_of(binding)
        if template is None or any(selects(selected, template) for selected in selections):
            return True
        return not clustered and bool(await self.cluster_wide(template))

    def _changed(self, index: OverrideIndex[Any], *, clustered: bool) -> Callable[[Any, Any], None]:
        def changed(old: AnyOverridePolicy | None, new: AnyOverridePolicy | None) -> None:
            policy = new or old
            if policy is None or (old is not None and new is not None and is_equal(old.spec, new.spec)):
                return
            key = PolicyKey(clustered, key_of(policy))
            before = index.put(new) if new is not None else index.drop(key.key)
            self._earlier.note(key, before)
            self._controller.queue.add(key)

        return changed

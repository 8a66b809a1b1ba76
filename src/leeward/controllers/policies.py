"""The policy controller: has the kinds that policies select followed, and lets a deleted policy go.

A kind that the control plane does not offer (yet) is tried again; it holds back no other kind, and no deletion where it
is known not to be there at all. A kind that cannot be looked at holds the deletion of its policies back.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from controller_runtime import Controller, Informer, Key, key_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, Undecodable, WorldError
from leeward.api.names import (
    CLUSTER_POLICY_ID_LABEL,
    CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER,
    POLICY_ID_LABEL,
    PROPAGATION_POLICY_CONTROLLER_FINALIZER,
)
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from leeward.core.propagation.claiming import claimed_by
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.templates import Templates

MOST_ASKED_SINGLY = 8
"""Number of kinds that nobody has asked for yet beyond which it is looked up first which of them there are, all at
once."""


class PolicyKey(NamedTuple):
    plural: str
    key: Key


class PolicyController:
    def __init__(self, plane: ControlPlane, templates: Templates) -> None:
        self._plane = plane
        self._templates = templates
        self._kinds: dict[str, tuple[Resource[Any], Informer[Any]]] = {
            resource.plural: (resource, plane.informers.of(resource))
            for resource in (PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES)
        }
        self._controller = plane.controller("policy-reconciler", self.reconcile)
        self._followed = plane.controller("policy-kinds", self.follow)
        self._ends_following: list[Callable[[], None]] = []

    def stand_by(self) -> None:
        """Has the kinds followed, and writes nothing."""
        for plural, (_, policies) in self._kinds.items():
            self._ends_following.append(policies.on_change(_adding(plural, self._followed)))
        self._followed.start(self._plane.supervisor)

    def start(self) -> None:
        while self._ends_following:
            self._ends_following.pop()()
        self._followed.queue.close()
        for plural, (_, policies) in self._kinds.items():
            policies.on_change(_adding(plural, self._controller))
        self._controller.start(self._plane.supervisor)

    async def follow(self, key: PolicyKey) -> datetime | None:
        """Raises: WorldError for a kind that cannot be looked at."""
        _, policies = self._kinds[key.plural]
        policy: AnyPropagationPolicy | None = policies.get(key.key.name, key.key.namespace)
        if policy is not None and policy.metadata.deletion_timestamp is None:
            await self._follow_kinds(policy)
        return None

    async def reconcile(self, key: PolicyKey) -> datetime | None:
        resource, policies = self._kinds[key.plural]
        await policies.wait_synced()
        policy: AnyPropagationPolicy | None = policies.get(key.key.name, key.key.namespace)
        if policy is None:
            return None
        if policy.metadata.deletion_timestamp is not None:
            if self._plane.share.owns_binding(key.key):
                await self._release(resource, policy)
            return None
        await self._follow_kinds(policy)
        return None

    async def _follow_kinds(self, policy: AnyPropagationPolicy) -> None:
        kinds, missing = await self._kinds_of(policy)
        failure: WorldError | None = None
        if missing:
            failure = UnknownKind(f"the cluster does not offer {missing} kinds that policy {policy.name} selects")
        for api_version, kind in kinds:
            try:
                await self._templates.follow(api_version, kind)
            except WorldError as error:
                failure = error
        if failure is not None:
            raise failure

    async def _kinds_of(self, policy: AnyPropagationPolicy) -> tuple[list[tuple[str, str]], int]:
        """The kinds that a policy selects, and how many others there are not. Few are left to be asked for one by one.

        Raises: WorldError.
        """
        kinds = list(dict.fromkeys((s.api_version, s.kind) for s in policy.spec.resource_selectors))
        strange = [kind for kind in kinds if self._templates.of(*kind) is None]
        if len(strange) <= MOST_ASKED_SINGLY:
            return kinds, 0
        offer = await self._plane.server.discovery.offer()
        offered = {(e.group_version, resource.kind) for e in offer.enablements for resource in e.resources}
        missing = {kind for kind in strange if kind not in offered and kind[0] not in offer.failed}
        return [kind for kind in kinds if kind not in missing], len(missing)

    async def _release(self, resource: Resource[Any], policy: AnyPropagationPolicy) -> None:
        """Takes the finalizer off once no template carries the policy's claim; the detector takes the claims off."""
        labels = policy.metadata.labels
        identity = labels.get(POLICY_ID_LABEL) or labels.get(CLUSTER_POLICY_ID_LABEL)
        if identity and await self._is_claiming(policy, identity):
            raise StillClaimed(f"templates of policy {policy.name} are not released yet")
        ours = (PROPAGATION_POLICY_CONTROLLER_FINALIZER, CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER)
        finalizers = [finalizer for finalizer in policy.metadata.finalizers if finalizer not in ours]
        if len(finalizers) < len(policy.metadata.finalizers):
            await self._plane.client.patch(
                resource,
                policy.name,
                {"metadata": {"finalizers": finalizers}},
                policy.namespace,
                resource_version=policy.metadata.resource_version,
            )

    async def _is_claiming(self, policy: AnyPropagationPolicy, identity: str) -> bool:
        """Tells whether a template carries the policy's claim. Holds: S5.

        Raises: WorldError when one kind cannot be looked at: what could not be seen may be claimed.
        """
        kinds, _ = await self._kinds_of(policy)
        for api_version, kind in kinds:
            try:
                resource, templates = await self._templates.follow(api_version, kind)
                for template in templates.list():
                    await self._plane.turns.take()
                    if _is_claimed(template, identity):
                        return True
                if await self._is_claimed_now(resource, policy, identity):
                    return True
            except (UnknownKind, NotFound):
                if await self._offers(api_version, kind):
                    raise
        return False

    async def _is_claimed_now(self, resource: Resource[Any], policy: AnyPropagationPolicy, identity: str) -> bool:
        """Asked of the API server, which may have more than the cache has been told of yet."""
        label = POLICY_ID_LABEL if policy.namespace else CLUSTER_POLICY_ID_LABEL
        found = await self._plane.client.list(resource, policy.namespace, label_selector=f"{label}={identity}")
        return any(_is_claimed(template, identity) for template in found.items)

    async def _offers(self, api_version: str, kind: str) -> bool:
        """A kind is gone only when its group could be asked, and does not have it. Raises: WorldError."""
        offer = await self._plane.server.discovery.offer()
        if api_version in offer.failed:
            raise Undecodable(f"the kinds of {api_version} cannot be read")
        return offer.has(api_version, kind)


def _adding(plural: str, controller: Controller[PolicyKey]) -> Callable[[Any, Any], None]:
    def changed(_: AnyPropagationPolicy | None, new: AnyPropagationPolicy | None) -> None:
        if new is not None:
            controller.queue.add(PolicyKey(plural, key_of(new)))

    return changed


def _is_claimed(template: Manifest, identity: str) -> bool:
    return claimed_by(template) == identity and "deletionTimestamp" not in template["metadata"]


class StillClaimed(WorldError):
    """The detector has not taken all claims of a deleted policy off yet."""

"""The detector: finds the policy that wins for each resource template, claims the template, and keeps its binding.

It follows only the kinds that some policy selects. A template that no policy selects any more keeps its binding, so
that deleting a policy never deletes an application; it is only released for another policy to claim.

Karmada: pkg/detector; same for the parts named here (preemption between policies is off by default there, too).
"""

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from leeward.api.codec import to_wire
from leeward.api.diff import merge_patch
from leeward.api.meta import Manifest, labels_of
from leeward.api.names import (
    CLUSTER_NAMESPACE,
    CLUSTER_POLICY_ID_LABEL,
    CLUSTER_POLICY_NAME_ANNOTATION,
    CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
    POLICY_ID_LABEL,
    POLICY_NAME_ANNOTATION,
    POLICY_NAMESPACE_ANNOTATION,
    PROPAGATION_POLICY_CONTROLLER_FINALIZER,
    SYSTEM_NAMESPACE,
    TEMPLATE_DIGEST_ANNOTATION,
)
from leeward.api.policy import AnyPropagationPolicy
from leeward.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    Resource,
)
from leeward.client import AlreadyExists
from leeward.core.propagation.binding import build_binding, claim
from leeward.core.propagation.digest import template_digest
from leeward.core.propagation.matching import find_policy
from leeward.runtime.identity import Key, key_of
from leeward.runtime.informer import Informer
from leeward.runtime.plane import ControlPlane

log = logging.getLogger(__name__)

CLAIM_LABELS = (POLICY_ID_LABEL, CLUSTER_POLICY_ID_LABEL)
CLAIM_ANNOTATIONS = (POLICY_NAMESPACE_ANNOTATION, POLICY_NAME_ANNOTATION, CLUSTER_POLICY_NAME_ANNOTATION)
RESERVED_NAMESPACES = (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)


class TemplateKey(NamedTuple):
    api_version: str
    kind: str
    key: Key


class PolicyKey(NamedTuple):
    plural: str
    key: Key


class Detector:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder("resource-detector")
        self._policies = plane.informers.of(PROPAGATION_POLICIES)
        self._cluster_policies = plane.informers.of(CLUSTER_PROPAGATION_POLICIES)
        self._templates: dict[tuple[str, str], tuple[Resource[Manifest], Informer[Manifest]]] = {}
        self._template_controller = plane.controller("resource-detector", self.reconcile_template)
        self._policy_controller = plane.controller("policy-reconciler", self.reconcile_policy, workers=2)

    def start(self) -> None:
        for resource, informer in self._policy_kinds():
            informer.on_change(self._policy_changed(resource))
        self._template_controller.start(self._plane.supervisor)
        self._policy_controller.start(self._plane.supervisor)

    async def reconcile_policy(self, key: PolicyKey) -> datetime | None:
        """Follows the kinds that the policy selects, and has every template of them looked at again."""
        await self._policies.wait_synced()
        await self._cluster_policies.wait_synced()
        informer = self._policies if key.plural == PROPAGATION_POLICIES.plural else self._cluster_policies
        policy: AnyPropagationPolicy | None = informer.get(key.key.name, key.key.namespace)
        for api_version, kind in (
            dict.fromkeys((s.api_version, s.kind) for s in policy.spec.resource_selectors) if policy else ()
        ):
            await self._follow(api_version, kind)
        for (api_version, kind), (_, templates) in self._templates.items():
            await templates.wait_synced()
            for template in templates.list():
                self._template_controller.queue.add(TemplateKey(api_version, kind, key_of(template)))
        if policy is not None and policy.metadata.deletion_timestamp is not None:
            await self._release_policy(policy)
        return None

    async def reconcile_template(self, key: TemplateKey) -> datetime | None:
        await self._policies.wait_synced()
        await self._cluster_policies.wait_synced()
        resource, templates = self._templates[key.api_version, key.kind]
        template = templates.get(key.key.name, key.key.namespace)
        if template is None or "deletionTimestamp" in template["metadata"] or _is_reserved(key.key):
            return None
        policy = find_policy(template, _live(self._policies.list()), _live(self._cluster_policies.list()))
        if policy is None:
            await self._release(resource, templates, template)
            return None
        template = await self._claim(resource, templates, template, policy)
        await self._ensure_binding(resource, template, policy)
        return None

    async def _follow(self, api_version: str, kind: str) -> None:
        if (api_version, kind) in self._templates:
            return
        resource = await self._plane.server.discovery.resource(api_version, kind)
        informer = self._plane.informers.of(resource)
        self._templates[api_version, kind] = (resource, informer)

        def changed(_: Manifest | None, new: Manifest | None) -> None:
            if new is not None:
                self._template_controller.queue.add(TemplateKey(api_version, kind, key_of(new)))

        informer.on_change(changed)

    async def _claim(
        self,
        resource: Resource[Manifest],
        templates: Informer[Manifest],
        template: Manifest,
        policy: AnyPropagationPolicy,
    ) -> Manifest:
        labels, annotations = claim(policy)
        return await self._mark(resource, templates, template, labels, annotations)

    async def _release(self, resource: Resource[Manifest], templates: Informer[Manifest], template: Manifest) -> None:
        await self._mark(resource, templates, template, {}, {})

    async def _mark(
        self,
        resource: Resource[Manifest],
        templates: Informer[Manifest],
        template: Manifest,
        labels: dict[str, str],
        annotations: dict[str, str],
    ) -> Manifest:
        """Sets exactly these claim labels and annotations."""
        metadata = template["metadata"]
        marked = {
            "labels": _with_marks(metadata.get("labels"), CLAIM_LABELS, labels),
            "annotations": _with_marks(metadata.get("annotations"), CLAIM_ANNOTATIONS, annotations),
        }
        present = {"labels": metadata.get("labels", {}), "annotations": metadata.get("annotations", {})}
        patch = merge_patch(present, marked)
        if not patch:
            return template
        key = key_of(template)
        updated = await self._plane.client.patch(
            resource, key.name, {"metadata": patch}, key.namespace, resource_version=metadata["resourceVersion"]
        )
        templates.remember(updated)
        return updated

    async def _ensure_binding(
        self, resource: Resource[Manifest], template: Manifest, policy: AnyPropagationPolicy
    ) -> None:
        """Creates the binding, or brings the fields that are ours up to date."""
        desired = build_binding(template, policy)
        digest = template_digest(template)
        desired["metadata"].setdefault("annotations", {})[TEMPLATE_DIGEST_ANNOTATION] = digest
        key = key_of(desired)
        kind: Resource[Any] = RESOURCE_BINDINGS if key.namespace else CLUSTER_RESOURCE_BINDINGS
        bindings = self._plane.informers.of(kind)
        await bindings.wait_synced()
        present = bindings.get(key.name, key.namespace)
        if present is None:
            try:
                bindings.remember(await self._plane.client.create(kind, desired, key.namespace))
            except AlreadyExists:
                self._template_controller.queue.retry(
                    TemplateKey(template["apiVersion"], template["kind"], key_of(template))
                )
                return
            self._recorder.normal(resource, template, "ApplyPolicySucceed", f"Apply policy({_name(policy)}) succeed")
            return
        if present.metadata.annotations.get(TEMPLATE_DIGEST_ANNOTATION) == digest:
            desired["spec"]["resource"]["resourceVersion"] = present.spec.resource.resource_version
        patch = _binding_patch(to_wire(present), desired)
        if patch:
            version = present.metadata.resource_version
            bindings.remember(
                await self._plane.client.patch(kind, key.name, patch, key.namespace, resource_version=version)
            )

    async def _release_policy(self, policy: AnyPropagationPolicy) -> None:
        """Lets a deleted policy go once no template carries its claim."""
        identity = policy.metadata.labels.get(POLICY_ID_LABEL) or policy.metadata.labels.get(CLUSTER_POLICY_ID_LABEL)
        for _, templates in self._templates.values():
            for template in templates.list():
                labels = labels_of(template)
                if identity and identity in (labels.get(POLICY_ID_LABEL), labels.get(CLUSTER_POLICY_ID_LABEL)):
                    key = TemplateKey(template["apiVersion"], template["kind"], key_of(template))
                    await self.reconcile_template(key)
        namespaced = bool(policy.namespace)
        ours = (
            PROPAGATION_POLICY_CONTROLLER_FINALIZER if namespaced else CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER
        )
        finalizers = [f for f in policy.metadata.finalizers if f != ours]
        if len(finalizers) < len(policy.metadata.finalizers):
            kind: Resource[Any] = PROPAGATION_POLICIES if namespaced else CLUSTER_PROPAGATION_POLICIES
            await self._plane.client.patch(
                kind,
                policy.name,
                {"metadata": {"finalizers": finalizers}},
                policy.namespace,
                resource_version=policy.metadata.resource_version,
            )

    def _policy_kinds(self) -> Iterable[tuple[Resource[Any], Informer[Any]]]:
        return ((PROPAGATION_POLICIES, self._policies), (CLUSTER_PROPAGATION_POLICIES, self._cluster_policies))

    def _policy_changed(self, resource: Resource[Any]) -> Any:
        def changed(old: AnyPropagationPolicy | None, new: AnyPropagationPolicy | None) -> None:
            policy = new or old
            if policy is not None:
                self._policy_controller.queue.add(PolicyKey(resource.plural, key_of(policy)))

        return changed


def _live(policies: Iterable[Any]) -> list[Any]:
    return [policy for policy in policies if policy.metadata.deletion_timestamp is None]


def _is_reserved(key: Key) -> bool:
    namespace = key.namespace
    return namespace in RESERVED_NAMESPACES or namespace.startswith((EXECUTION_SPACE_PREFIX, "kube-"))


def _name(policy: AnyPropagationPolicy) -> str:
    return f"{policy.namespace}/{policy.name}" if policy.namespace else policy.name


def _with_marks(present: dict[str, str] | None, ours: tuple[str, ...], marks: dict[str, str]) -> dict[str, str]:
    return {**{k: v for k, v in (present or {}).items() if k not in ours}, **marks}


def _binding_patch(present: Manifest, desired: Manifest) -> Manifest:
    """What brings `present` to `desired`; whatever the detector does not own stays."""
    metadata, wanted = present["metadata"], desired["metadata"]
    spec = {key: value for key, value in present["spec"].items() if key not in DETECTOR_FIELDS}
    target = {
        "metadata": {
            **metadata,
            "labels": {**_with_marks(metadata.get("labels"), CLAIM_LABELS, {}), **wanted.get("labels", {})},
            "annotations": {
                **_with_marks(metadata.get("annotations"), CLAIM_ANNOTATIONS, {}),
                **wanted.get("annotations", {}),
            },
        },
        "spec": {**spec, **desired["spec"]},
    }
    return merge_patch({"metadata": metadata, "spec": present["spec"]}, target)


DETECTOR_FIELDS = frozenset(
    {
        "resource",
        "replicas",
        "replicaRequirements",
        "components",
        "placement",
        "propagateDeps",
        "schedulerName",
        "failover",
        "conflictResolution",
        "suspension",
        "preserveResourcesOnDeletion",
        "schedulePriority",
        "workloadAffinityGroups",
    }
)

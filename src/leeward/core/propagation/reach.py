"""The reach of a binding: which resource template its `spec.resource` may name.

Who may write bindings in one namespace shall not read, write or delete anything by them that is not of this namespace.
Admission asks `reach_problems`, and so does everybody who looks up a template, for control planes whose admission was
not asked.

Karmada: differs. It trusts `spec.resource` of whatever binding there is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kubeapi.meta import ReadOnlyManifest
from kubeapi.resource import is_api_version, is_path_segment
from kubeapi.status import Problem
from kubeapi.untrusted import mapping_in
from leeward.api.names import is_reserved_namespace
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding, BindingResource
from leeward.core.propagation.skipping import SkippedApis

_PATH = "spec.resource"
_WHY_SKIPPED = "it is reserved for the control plane, or in --skipped-propagating-namespaces"
_KIND = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?")
_CLUSTERS_HAVE_THEIR_OWN = frozenset({("v1", "ConfigMap", "kube-root-ca.crt")})
"""Objects that each cluster makes for itself in every namespace; the control plane's would overwrite them.

Karmada: differs. A policy for all ConfigMaps selects it, where the control plane runs the controller that makes it.
"""
_RBAC = "rbac.authorization.k8s.io"
CLUSTER_SCOPED = frozenset(
    {
        ("", "Namespace"),
        ("", "Node"),
        ("", "PersistentVolume"),
        (_RBAC, "ClusterRole"),
        (_RBAC, "ClusterRoleBinding"),
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("apiregistration.k8s.io", "APIService"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("networking.k8s.io", "IngressClass"),
        ("node.k8s.io", "RuntimeClass"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("storage.k8s.io", "CSIDriver"),
        ("storage.k8s.io", "StorageClass"),
        ("storage.k8s.io", "VolumeAttachment"),
    }
)
"""Kinds of Kubernetes without namespaces; of other kinds discovery says it where the template is looked up."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Bounds of propagation: --skipped-propagating-apis; --skipped-propagating-namespaces, as regular expressions of
    whole names."""

    skipped_apis: SkippedApis = field(default_factory=SkippedApis)
    skipped_namespaces: tuple[str, ...] = ("kube-.*",)

    def skips_namespace(self, namespace: str) -> bool:
        return is_reserved_namespace(namespace) or any(re.fullmatch(p, namespace) for p in self.skipped_namespaces)


def reach_problems(
    resource: BindingResource, namespace: str, reach: Reach, is_namespaced: bool | None = None
) -> list[Problem]:
    """Problems that keep a binding from its template; empty when nothing does.

    `namespace` is the binding's, "" of a ClusterResourceBinding. `is_namespaced` says whether the template's kind is,
    where that is known.
    """
    return [
        *_problems_of_kind(resource, namespace, reach, is_namespaced),
        *_problems_of_place(resource, namespace, reach),
    ]


def binding_problems(binding: Binding, reach: Reach, is_namespaced: bool | None = None) -> list[Problem]:
    """Problems as of `reach_problems`, for a binding that there is."""
    return reach_problems(binding.spec.resource, binding.namespace, reach, is_namespaced)


def reference_problems(new: ReadOnlyManifest, old: ReadOnlyManifest | None, reach: Reach) -> list[Problem]:
    """Problems as of `reach_problems`, for an object that is written; other kinds than bindings have none.

    A reference that stays as it was is no news: a binding from before this rule can be changed otherwise, and let go.
    """
    kinds = {(r.api_version.partition("/")[0], r.kind): r for r in (RESOURCE_BINDINGS, CLUSTER_RESOURCE_BINDINGS)}
    kind = kinds.get((str(new.get("apiVersion", "")).partition("/")[0], str(new.get("kind", ""))))
    if kind is None:
        return []
    resource = _resource_in(new)
    if old is not None and _resource_in(old) == resource:
        return []
    metadata = mapping_in(new, "metadata")
    return reach_problems(resource, str(metadata.get("namespace", "")) if kind.namespaced else "", reach)


def _problems_of_kind(
    resource: BindingResource, namespace: str, reach: Reach, is_namespaced: bool | None
) -> Iterator[Problem]:
    if not is_api_version(resource.api_version):
        yield Problem.invalid(
            f"{_PATH}.apiVersion", resource.api_version, "must be VERSION or GROUP/VERSION, as in apps/v1"
        )
        return
    if not _KIND.fullmatch(resource.kind):
        yield Problem.invalid(f"{_PATH}.kind", resource.kind, "must be the name of a kind, as in Deployment")
        return
    if reach.skipped_apis.skips(resource.api_version, resource.kind):
        why = f"{resource.api_version} {resource.kind} is never propagated"
        yield Problem.forbidden(
            f"{_PATH}.kind", f"{why}: it is the control plane's own, or in --skipped-propagating-apis"
        )
    group = resource.api_version.rpartition("/")[0]
    if is_namespaced is None and (group, resource.kind) in CLUSTER_SCOPED:
        is_namespaced = False
    if namespace and is_namespaced is False:
        message = f"{resource.kind} has no namespace: only a ClusterResourceBinding may refer to it"
        yield Problem.forbidden(f"{_PATH}.kind", message)
    if not namespace and is_namespaced:
        message = f"{resource.kind} has a namespace: only a ResourceBinding there may refer to it"
        yield Problem.forbidden(f"{_PATH}.kind", message)


def _problems_of_place(resource: BindingResource, namespace: str, reach: Reach) -> Iterator[Problem]:
    if not is_path_segment(resource.name):
        yield Problem.invalid(f"{_PATH}.name", resource.name, "must be the name of an object, without / and %")
    if resource.namespace != namespace:
        wanted = (
            f'must be "{namespace}", as the binding\'s own'
            if namespace
            else "must be empty in a ClusterResourceBinding"
        )
        yield Problem.invalid(f"{_PATH}.namespace", resource.namespace, wanted)
    elif reach.skips_namespace(namespace):
        yield Problem.forbidden(f"{_PATH}.namespace", f"nothing of {namespace} is propagated: {_WHY_SKIPPED}")
    elif is_skipped_namespace(resource.api_version, resource.kind, resource.name, reach):
        yield Problem.forbidden(f"{_PATH}.name", f"Namespace {resource.name} is not propagated: {_WHY_SKIPPED}")
    elif is_own_in_each_cluster(resource.api_version, resource.kind, resource.name):
        why = "each cluster makes its own in every namespace"
        yield Problem.forbidden(f"{_PATH}.name", f"{resource.kind} {resource.name} is not propagated: {why}")


def is_skipped_namespace(api_version: str, kind: str, name: str, reach: Reach) -> bool:
    """Tells whether a template is itself a Namespace that nothing is propagated of."""
    return (api_version, kind) == ("v1", "Namespace") and reach.skips_namespace(name)


def stays_here(api_version: str, kind: str, name: str, reach: Reach) -> bool:
    """Tells whether a template is never propagated for what it is, wherever it lies."""
    is_skipped = reach.skipped_apis.skips(api_version, kind) or is_skipped_namespace(api_version, kind, name, reach)
    return is_skipped or is_own_in_each_cluster(api_version, kind, name)


def is_own_in_each_cluster(api_version: str, kind: str, name: str) -> bool:
    return (api_version, kind, name) in _CLUSTERS_HAVE_THEIR_OWN


def _resource_in(binding: ReadOnlyManifest) -> BindingResource:
    """Resource of the written fields; a value that is no text is empty, and refused as such."""
    given = mapping_in(mapping_in(binding, "spec"), "resource")
    texts = {name: value for name, value in given.items() if isinstance(value, str)}
    return BindingResource(
        api_version=texts.get("apiVersion", ""),
        kind=texts.get("kind", ""),
        name=texts.get("name", ""),
        namespace=texts.get("namespace", ""),
    )

"""Claims to Works: which binding a Work belongs to, and whether another one may take it over.

The name of a Work follows from its template, so that two bindings of one template want the same Works, and so, by a
hash of 32 bits, may two templates. Who comes second leaves the Work alone for as long as the first one lives.

A binding that names the Work's template no more, or never could (`reach`), has no claim, whatever the Work says: what
the Work says may have been written by whoever could.

Karmada: differs. Whoever writes last has the Work.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import text_at
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    work_name,
)
from leeward.api.work import Binding, Work
from leeward.core.propagation.reach import Reach, binding_problems


class Owner(NamedTuple):
    """The name of a binding; `namespace` is empty for a ClusterResourceBinding."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return (
            f"ResourceBinding {self.namespace}/{self.name}" if self.namespace else f"ClusterResourceBinding {self.name}"
        )


def owners_of(work: Work) -> Iterator[Owner]:
    """The bindings that the Work names; none for one that somebody has written by hand."""
    annotations = work.metadata.annotations
    namespace, name = annotations.get(BINDING_NAMESPACE_ANNOTATION), annotations.get(BINDING_NAME_ANNOTATION)
    if namespace and name:
        yield Owner(namespace, name)
    if name := annotations.get(CLUSTER_BINDING_NAME_ANNOTATION):
        yield Owner("", name)


def name_of_works(binding: Binding) -> str:
    """The name that all Works of the binding have."""
    resource = binding.spec.resource
    return work_name(resource.kind, resource.name, resource.namespace)


def has_claim(binding: Binding | None, work: Work, reach: Reach) -> bool:
    """Tells whether a binding that the Work names, None when it is gone, is one that can have made it."""
    return binding is not None and name_of_works(binding) == work.name and not binding_problems(binding, reach)


def holds_another_object(work: Work, manifest: Manifest) -> str:
    """The object that the Work is for, where that is not the one of a Work's `manifest`; else empty."""
    held = [_object(each) for each in work.spec.workload.manifests]
    wanted = [_object(each) for each in manifest["spec"]["workload"]["manifests"]]
    return "" if not held or held == wanted else ", ".join(f"{kind} {place}" for _, kind, place in held)


def beyond_its_binding(work: Work, manifest: ReadOnlyManifest) -> str:
    """Reason why an object of the Work cannot come from the binding that the Work names; empty when it can.

    For Works that were made when bindings still reached further. A Work that names no binding is its writer's own.
    """
    namespace = text_at(manifest, "metadata", "namespace")
    for owner in owners_of(work):
        if owner.namespace != namespace:
            where = f"in namespace {namespace}" if namespace else "in no namespace"
            return f"it is {where}, where {owner} does not reach; delete that binding"
    return ""


def _object(manifest: ReadOnlyManifest) -> tuple[str, str, str]:
    """Group, kind, and namespace with name."""
    group = text_at(manifest, "apiVersion").rpartition("/")[0]
    names = (text_at(manifest, "metadata", "namespace"), text_at(manifest, "metadata", "name"))
    return group, text_at(manifest, "kind"), "/".join(filter(None, names))

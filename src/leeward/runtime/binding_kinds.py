"""Kinds of bindings: the differences between those of namespaced and of cluster-scoped templates; and whose a binding
or a Work is."""

from dataclasses import dataclass
from typing import Any

from controller_runtime import Key
from kubeapi.core import ObjectReference
from kubeapi.resource import Resource
from leeward.api.names import (
    BINDING_CONTROLLER_FINALIZER,
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    CLUSTER_RESOURCE_BINDING_CONTROLLER_FINALIZER,
    EXECUTION_SPACE_PREFIX,
)
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import Binding, Work


@dataclass(frozen=True, slots=True)
class BindingKind:
    resource: Resource[Any]
    finalizer: str
    controller_name: str
    status_controller_name: str

    def key_of_work(self, work: Work) -> Key | None:
        """The binding that a Work belongs to; None for a Work of something else, or outside an execution space."""
        if not work.namespace.startswith(EXECUTION_SPACE_PREFIX):
            return None
        annotations = work.metadata.annotations
        if self.resource.namespaced:
            name, namespace = annotations.get(BINDING_NAME_ANNOTATION), annotations.get(BINDING_NAMESPACE_ANNOTATION)
            return Key(namespace, name) if name and namespace else None
        name = annotations.get(CLUSTER_BINDING_NAME_ANNOTATION)
        return Key("", name) if name else None


RESOURCE_BINDING = BindingKind(
    RESOURCE_BINDINGS, BINDING_CONTROLLER_FINALIZER, "binding-controller", "resource-binding-status-controller"
)
CLUSTER_RESOURCE_BINDING = BindingKind(
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTER_RESOURCE_BINDING_CONTROLLER_FINALIZER,
    "cluster-resource-binding-controller",
    "cluster-resource-binding-status-controller",
)


def users_namespace(work: Work) -> str:
    """The namespace of the application that a Work belongs to; empty where it has none."""
    return work.metadata.annotations.get(BINDING_NAMESPACE_ANNOTATION, "")


def template_of(binding: Binding) -> ObjectReference:
    """The resource template of a binding, as the object of an event."""
    resource = binding.spec.resource
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=resource.namespace,
        name=resource.name,
        uid=resource.uid,
        resource_version=resource.resource_version,
    )

"""Nodes and Pods as far as a summary counts them: all else of an object is passed over when it is read."""

from collections.abc import Mapping

from kubeapi.core import NodeCondition
from kubeapi.meta import Object
from kubeapi.quantity import Quantity
from kubeapi.resource import Resource


class CountedMeta(Object, frozen=True):
    name: str = ""
    namespace: str = ""


class CountedNodeSpec(Object, frozen=True):
    unschedulable: bool = False


class CountedNodeStatus(Object, frozen=True):
    allocatable: Mapping[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()


class CountedNode(Object, frozen=True):
    metadata: CountedMeta = CountedMeta()
    spec: CountedNodeSpec = CountedNodeSpec()
    status: CountedNodeStatus = CountedNodeStatus()


class CountedResources(Object, frozen=True):
    requests: Mapping[str, Quantity] = {}
    limits: Mapping[str, Quantity] = {}


class CountedContainer(Object, frozen=True):
    resources: CountedResources = CountedResources()


class CountedPodSpec(Object, frozen=True):
    node_name: str = ""
    containers: tuple[CountedContainer, ...] = ()
    init_containers: tuple[CountedContainer, ...] = ()
    overhead: Mapping[str, Quantity] = {}


class CountedPodStatus(Object, frozen=True):
    phase: str = ""


class CountedPod(Object, frozen=True):
    metadata: CountedMeta = CountedMeta()
    spec: CountedPodSpec = CountedPodSpec()
    status: CountedPodStatus = CountedPodStatus()


COUNTED_NODES = Resource("", "v1", "nodes", "Node", False, CountedNode)
COUNTED_PODS = Resource("", "v1", "pods", "Pod", True, CountedPod)

"""The parts of Kubernetes' own kinds that clients read or write as types.

These are Namespace, Secret, ConfigMap, Event, Lease, Node and Pod.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from kubeapi.meta import ATOMIC, Dated, Int64, LabelSelectorRequirement, Object, TypedObject
from kubeapi.resource import Resource


class Taint(Dated, frozen=True):
    key: str
    effect: str
    value: str = ""
    time_added: datetime | None = None

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(Object, frozen=True):
    """Matches taints; `toleration_seconds` limits for how long (None is for ever)."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class NodeSelectorTerm(Object, frozen=True):
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()
    match_fields: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()


class NodeSelector(Object, frozen=True):
    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], ATOMIC]


class ObjectReference(Object, frozen=True):
    """Names one object; only the parts that are known are set."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class EventSource(Object, frozen=True):
    component: str = ""


class Event(TypedObject, frozen=True):
    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    reporting_component: str = ""
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    count: int = 0
    type: str = ""


class LeaseSpec(Dated, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int | None = None


class Lease(TypedObject, frozen=True):
    spec: LeaseSpec = LeaseSpec()


class NamespaceStatus(Object, frozen=True):
    phase: str = ""


class Namespace(TypedObject, frozen=True):
    status: NamespaceStatus = NamespaceStatus()


class Secret(TypedObject, frozen=True):
    """`data` values are decoded from Base64."""

    type: str = ""
    data: Mapping[str, bytes] = {}


class ConfigMap(TypedObject, frozen=True):
    data: Mapping[str, str] = {}


class NodeCondition(Object, frozen=True):
    type: str
    status: str


class NodeStatus(Object, frozen=True):
    allocatable: Mapping[str, str] = {}
    conditions: tuple[NodeCondition, ...] = ()


class NodeSpec(Object, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class Node(TypedObject, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ResourceRequirements(Object, frozen=True):
    requests: Mapping[str, str | int | float] = {}
    limits: Mapping[str, str | int | float] = {}


class Container(Object, frozen=True):
    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""


class PodSpec(Object, frozen=True):
    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Mapping[str, str | int | float] = {}


class PodStatus(Object, frozen=True):
    phase: str = ""
    conditions: tuple[NodeCondition, ...] = ()


class Pod(TypedObject, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False, Namespace)
SECRETS = Resource("", "v1", "secrets", "Secret", True, Secret)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap", True, ConfigMap)
EVENTS = Resource("", "v1", "events", "Event", True, Event)
NODES = Resource("", "v1", "nodes", "Node", False, Node)
PODS = Resource("", "v1", "pods", "Pod", True, Pod)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True, Lease)

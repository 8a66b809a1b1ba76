"""Questions and answers of Karmada's estimator service, as bytes.

    MaxAvailableReplicasRequest        1 cluster, 2 replicaRequirements, 3 assumedWorkloads...
    MaxAvailableComponentSetsRequest   1 cluster, 2 components..., 3 namespace, 4 assumedWorkloads...
    UnschedulableReplicasRequest       1 cluster, 2 resource, 3 unschedulableThreshold (nanoseconds)
    ReplicaRequirements                1 nodeClaim, 2 resourceRequest, 3 namespace, 4 priorityClassName, 5 ...Bytes
    ComponentReplicaRequirements       1 nodeClaim, 2 resourceRequest, 3 priorityClassName, 4 resourceRequestBytes
    Component                          1 name, 2 replicaRequirements, 3 replicas
    AssumedWorkload                    1 namespace, 2 components...
    NodeClaim                          1 nodeAffinity, 2 nodeSelector, 3 tolerations..., 4 and 5: 1 and 3 as bytes
    ObjectReference                    1 apiVersion, 2 kind, 3 namespace, 4 name
    all three answers                  1 a count

Karmada 1.18 puts messages of Kubernetes into fields of bytes, and keeps the fields before for one release: both are
written here, and of what is read the bytes come first.
Karmada: pkg/estimator/pb, pkg/estimator/service; the same numbers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubeapi.core import NodeSelector, NodeSelectorTerm, Toleration
from kubeapi.meta import LabelSelectorRequirement
from kubeapi.protobuf_wire import Raw, bytes_field, fields, integer_field, integer_of, message_of, text_field, text_of
from kubeapi.quantity import Quantity
from leeward.api.work import BindingResource, Component, ComponentReplicaRequirements, NodeClaim, ReplicaRequirements
from leeward.core.scheduling.estimates import Question

SERVICE = "github.com.karmada_io.karmada.pkg.estimator.service.Estimator"
AVAILABLE_REPLICAS, AVAILABLE_SETS = "MaxAvailableReplicas", "MaxAvailableComponentSets"
UNSCHEDULABLE_REPLICAS = "GetUnschedulableReplicas"
MAX_COUNT = 2**31 - 1
_NANOS = 10**9
_Fields = Mapping[int, Sequence[Raw]]


@dataclass(frozen=True, slots=True)
class RoomRequest:
    """Request for the room that `cluster` has. `assumed`: Pods placed there a moment ago that are on no node yet."""

    cluster: str
    question: Question
    assumed: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class UnschedulableRequest:
    """Request for the number of replicas of the workload that have been without a node for `threshold_seconds`."""

    cluster: str
    workload: BindingResource
    threshold_seconds: float


def write_room_request(request: RoomRequest) -> tuple[str, bytes]:
    """The method to be called, and its argument."""
    question, cluster = request.question, text_field(1, request.cluster)
    if question.components:
        sets = b"".join(bytes_field(2, _component(component)) for component in question.components)
        return AVAILABLE_SETS, cluster + sets
    return AVAILABLE_REPLICAS, cluster + bytes_field(2, _replica_requirements(question.requirements))


def read_replicas_request(data: bytes) -> RoomRequest:
    """Raises: ValueError."""
    read = _read(data)
    requirements = _read_replica_requirements(_message(read, 2))
    return RoomRequest(_text(read, 1), Question(requirements), _read_assumed(read.get(3, ())))


def read_sets_request(data: bytes) -> RoomRequest:
    """Raises: ValueError."""
    read = _read(data)
    components = tuple(_read_component(message_of(raw)) for raw in read.get(2, ()))
    return RoomRequest(_text(read, 1), Question(None, components), _read_assumed(read.get(4, ())))


def write_unschedulable_request(request: UnschedulableRequest) -> bytes:
    workload = request.workload
    parts = (workload.api_version, workload.kind, workload.namespace, workload.name)
    reference = b"".join(text_field(number, part) for number, part in enumerate(parts, 1))
    threshold = integer_field(3, round(request.threshold_seconds * _NANOS))
    return text_field(1, request.cluster) + bytes_field(2, reference) + threshold


def read_unschedulable_request(data: bytes) -> UnschedulableRequest:
    """A threshold below 0 is none. Raises: ValueError."""
    read = _read(data)
    reference = _read(_message(read, 2))
    workload = BindingResource(
        api_version=_text(reference, 1),
        kind=_text(reference, 2),
        namespace=_text(reference, 3),
        name=_text(reference, 4),
    )
    return UnschedulableRequest(_text(read, 1), workload, max(0, _integer(read, 3)) / _NANOS)


def write_count(count: int) -> bytes:
    return integer_field(1, max(0, min(count, MAX_COUNT)))


def read_count(data: bytes) -> int:
    """Reads the count as it was written: negative, or beyond what is plausible, where the answer is.
    Raises: ValueError."""
    return _integer(_read(data), 1)


def _replica_requirements(requirements: ReplicaRequirements | None) -> bytes:
    if requirements is None:
        return b""
    written = _claim_and_request(requirements, 5)
    written += _text_unless_empty(3, requirements.namespace)
    return written + _text_unless_empty(4, requirements.priority_class_name)


def _component(component: Component) -> bytes:
    asked = component.replica_requirements
    requirements = b""
    if asked is not None:
        requirements = _claim_and_request(asked, 4) + _text_unless_empty(3, asked.priority_class_name)
    replicas = integer_field(3, component.replicas)
    return text_field(1, component.name) + bytes_field(2, requirements) + replicas


def _claim_and_request(requirements: ComponentReplicaRequirements, request_number: int) -> bytes:
    """`request_number` is that of the request's field of bytes."""
    claim = requirements.node_claim
    written = b"" if claim is None else bytes_field(1, _node_claim(claim))
    for name, quantity in requirements.resource_request.items():
        entry = text_field(1, name) + bytes_field(2, text_field(1, str(quantity)))
        written += bytes_field(2, entry) + bytes_field(request_number, entry)
    return written


def _node_claim(claim: NodeClaim) -> bytes:
    written = b""
    if claim.hard_node_affinity is not None:
        affinity = b"".join(bytes_field(1, _term(term)) for term in claim.hard_node_affinity.node_selector_terms)
        written += bytes_field(1, affinity) + bytes_field(4, affinity)
    for key, value in claim.node_selector.items():
        written += bytes_field(2, text_field(1, key) + text_field(2, value))
    for toleration in map(_toleration, claim.tolerations):
        written += bytes_field(3, toleration) + bytes_field(5, toleration)
    return written


def _term(term: NodeSelectorTerm) -> bytes:
    expressions = b"".join(bytes_field(1, _requirement(each)) for each in term.match_expressions)
    return expressions + b"".join(bytes_field(2, _requirement(each)) for each in term.match_fields)


def _requirement(requirement: LabelSelectorRequirement) -> bytes:
    values = b"".join(text_field(3, value) for value in requirement.values)
    return text_field(1, requirement.key) + text_field(2, requirement.operator) + values


def _toleration(toleration: Toleration) -> bytes:
    parts = (toleration.key, toleration.operator, toleration.value, toleration.effect)
    written = b"".join(text_field(number, part) for number, part in enumerate(parts, 1))
    seconds = toleration.toleration_seconds
    return written if seconds is None else written + integer_field(5, seconds)


def _text_unless_empty(number: int, text: str) -> bytes:
    return text_field(number, text) if text else b""


def _read_assumed(workloads: Sequence[Raw]) -> tuple[Component, ...]:
    components = (raw for workload in workloads for raw in _read(message_of(workload)).get(2, ()))
    return tuple(_read_component(message_of(raw)) for raw in components)


def _read_component(data: bytes) -> Component:
    read = _read(data)
    asked = _read(_message(read, 2))
    requirements = ComponentReplicaRequirements(
        node_claim=_read_node_claim(asked),
        resource_request=_read_request(asked, 4),
        priority_class_name=_text(asked, 3),
    )
    replicas = max(0, min(_integer(read, 3), MAX_COUNT))
    return Component(name=_text(read, 1), replicas=replicas, replica_requirements=requirements)


def _read_replica_requirements(data: bytes) -> ReplicaRequirements:
    read = _read(data)
    return ReplicaRequirements(
        node_claim=_read_node_claim(read),
        resource_request=_read_request(read, 5),
        namespace=_text(read, 3),
        priority_class_name=_text(read, 4),
    )


def _read_request(read: _Fields, bytes_number: int) -> Mapping[str, Quantity]:
    entries = (_read(message_of(raw)) for raw in read.get(bytes_number) or read.get(2, ()))
    return {_text(entry, 1): _text(_read(_message(entry, 2)), 1) or "0" for entry in entries}


def _read_node_claim(requirements: _Fields) -> NodeClaim | None:
    if 1 not in requirements:
        return None
    read = _read(_message(requirements, 1))
    affinity = _message(read, 4) or _message(read, 1)
    selected = (_read(message_of(raw)) for raw in read.get(2, ()))
    return NodeClaim(
        hard_node_affinity=_read_affinity(affinity) if {1, 4} & read.keys() else None,
        node_selector={_text(entry, 1): _text(entry, 2) for entry in selected},
        tolerations=tuple(_read_toleration(message_of(raw)) for raw in read.get(5) or read.get(3, ())),
    )


def _read_affinity(data: bytes) -> NodeSelector:
    terms = (_read(message_of(raw)) for raw in _read(data).get(1, ()))
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(
                match_expressions=tuple(_read_requirement(message_of(raw)) for raw in term.get(1, ())),
                match_fields=tuple(_read_requirement(message_of(raw)) for raw in term.get(2, ())),
            )
            for term in terms
        )
    )


def _read_requirement(data: bytes) -> LabelSelectorRequirement:
    read = _read(data)
    values = tuple(text_of(raw) for raw in read.get(3, ()))
    return LabelSelectorRequirement(key=_text(read, 1), operator=_text(read, 2), values=values)


def _read_toleration(data: bytes) -> Toleration:
    read = _read(data)
    key, operator, value, effect = (_text(read, number) for number in (1, 2, 3, 4))
    seconds = _integer(read, 5) if 5 in read else None
    return Toleration(key=key, operator=operator, value=value, effect=effect, toleration_seconds=seconds)


def _read(data: bytes) -> _Fields:
    """All values of each number, in their order. Raises: ValueError."""
    found: dict[int, list[Raw]] = {}
    for number, raw in fields(data):
        found.setdefault(number, []).append(raw)
    return found


def _message(read: _Fields, number: int) -> bytes:
    """Bytes of a nested message, of which the last one counts, as in protobuf; empty where there is none. Raises:
    ValueError."""
    values = read.get(number)
    return message_of(values[-1]) if values else b""


def _text(read: _Fields, number: int) -> str:
    return _message(read, number).decode()


def _integer(read: _Fields, number: int) -> int:
    values = read.get(number)
    return integer_of(values[-1]) if values else 0

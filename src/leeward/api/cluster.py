"""`cluster.karmada.io/v1alpha1`: a member cluster, how to reach it, and what it reports of itself."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, field, structs

from kubeapi.core import Taint
from kubeapi.meta import Int32, Object, TypedObject
from kubeapi.quantity import Quantity
from leeward.api.meta import UNCHECKED, Condition, find_condition, remove_condition
from leeward.api.names import OUTAGE_ANNOTATION, POLICY_TAINTS_ANNOTATION, TAINTED_CONDITION
from leeward.api.taint_record import NO_RECORD, TaintRecord, parse_record, render_record, taints_in_force


class LocalSecretReference(Object, frozen=True):
    namespace: str
    name: str


class ResourceModelRange(Object, frozen=True):
    """One resource's share of a node grade: `min` inclusive, `max` exclusive."""

    name: str
    min: Quantity
    max: Quantity


class ResourceModel(Object, frozen=True):
    grade: int
    ranges: tuple[ResourceModelRange, ...]


class ClusterSpec(Object, frozen=True):
    sync_mode: Literal["Push", "Pull"]
    id: Annotated[str, Meta(max_length=128000)] = ""
    api_endpoint: str = ""
    secret_ref: LocalSecretReference | None = None
    impersonator_secret_ref: LocalSecretReference | None = None
    insecure_skip_tls_verification: bool = field(default=False, name="insecureSkipTLSVerification")
    proxy_url: str = field(default="", name="proxyURL")
    proxy_header: Mapping[str, str] = {}
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    resource_models: tuple[ResourceModel, ...] = ()


class APIResource(Object, frozen=True):
    name: str
    kind: str


class APIEnablement(Object, frozen=True):
    group_version: str
    resources: tuple[APIResource, ...] = ()


class NodeSummary(Object, frozen=True):
    total_num: Int32 = 0
    ready_num: Int32 = 0


class AllocatableModeling(Object, frozen=True):
    grade: int
    count: int


class ResourceSummary(Object, frozen=True):
    """Amounts per resource name: what nodes offer, what pods that wait ask for, what placed pods have."""

    allocatable: Mapping[str, Quantity] = {}
    allocating: Mapping[str, Quantity] = {}
    allocated: Mapping[str, Quantity] = {}
    allocatable_modelings: tuple[AllocatableModeling, ...] = ()


class ClusterStatus(Object, frozen=True):
    kubernetes_version: str = ""
    api_enablements: tuple[APIEnablement, ...] = ()
    conditions: Annotated[tuple[Condition, ...], UNCHECKED] = ()
    node_summary: NodeSummary | None = None
    resource_summary: ResourceSummary | None = None
    remedy_actions: tuple[str, ...] = ()


class Cluster(TypedObject, frozen=True, kw_only=True):
    """A member cluster: how it is reached, and what it reports of itself."""

    spec: ClusterSpec
    status: ClusterStatus = ClusterStatus()

    @property
    def ready(self) -> Condition | None:
        """The condition `Ready`; None before the first report."""
        return find_condition(self.status.conditions, "Ready")

    @property
    def is_ready(self) -> bool:
        ready = self.ready
        return ready is not None and ready.status == "True"

    @property
    def is_being_deleted(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def taint_record(self) -> TaintRecord:
        """Taints that the control plane has set, as its status says: in an outage those of that one."""
        found = find_condition(self.status.conditions, TAINTED_CONDITION)
        if found is None:
            return NO_RECORD
        record, ready = parse_record(found.message), self.ready
        if ready is None or ready.status == "True":
            return record
        return record.of_outage(
            ready.status, ready.last_transition_time, self.metadata.annotations.get(OUTAGE_ANNOTATION, "")
        )

    @property
    def taints(self) -> tuple[Taint, ...]:
        """Taints in force: those of the spec, and those that the control plane has set and others have taken off."""
        record = self.taint_record
        if not record:
            return self.spec.taints
        listed = self.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, "")
        return taints_in_force(self.spec.taints, record, is_ready=self.is_ready, listed=listed)

    @property
    def without_record(self) -> "Cluster":
        """Cluster with the taints of its spec alone in force: nobody keeps the record."""
        conditions = remove_condition(self.status.conditions, TAINTED_CONDITION)
        if len(conditions) == len(self.status.conditions):
            return self
        return structs.replace(self, status=structs.replace(self.status, conditions=conditions))

    def with_taints(self, taints: tuple[Taint, ...], annotations: Mapping[str, str | None]) -> "Cluster":
        """Cluster with these taints alone in force, and changes of annotations, of which None takes one away."""
        merged = {**self.metadata.annotations, **annotations}
        kept = {name: value for name, value in merged.items() if value is not None}
        return structs.replace(
            self,
            metadata=structs.replace(self.metadata, annotations=kept),
            spec=structs.replace(self.spec, taints=taints),
            status=self._status_of(taints),
        )

    def _status_of(self, taints: tuple[Taint, ...]) -> ClusterStatus:
        """The status that records none but these taints, with their times."""
        standing = find_condition(self.status.conditions, TAINTED_CONDITION)
        if standing is None:
            return self.status
        message = render_record(parse_record(standing.message).limited_to(taints))
        told = structs.replace(standing, message=message)
        kept = (told if each is standing else each for each in self.status.conditions)
        return structs.replace(self.status, conditions=tuple(each for each in kept if each is not told or message))

    @property
    def has_no_execute(self) -> bool:
        """Holds for a cluster with a taint that evicts."""
        for taint in self.taints:  # noqa: SIM110 - asked of each cluster for each binding
            if taint.effect == "NoExecute":
                return True
        return False

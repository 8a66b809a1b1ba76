"""Snapshots as JSON, so that a decision of production can be decided again elsewhere.

`decide(decode_recorded(encode_snapshot(snapshot))[0])` is `decide(snapshot)`. Of a fleet it keeps all that this binding
could be told: its clusters, what is reserved in them for others, what estimators answered about its replicas, where the
others of its affinity groups are, which clusters hold claims of its template, and the quotas of its namespace; also of
those with which it moves. Objects are written whole; a status may hold what its user regards as secret.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from kubeapi.codec import decode, encode
from kubeapi.meta import Object
from kubeapi.quantity import Quantity
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, ClusterResourceBinding, Component, ReplicaRequirements, ResourceBinding, Work
from leeward.core.amounts import render_amounts
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.placement import Decision
from leeward.core.placement.snapshot import DEFAULT_SETTINGS, UNLIMITED, EvictionBudget, PlacementSettings, Snapshot
from leeward.core.quota.quota_room import ReportedQuota
from leeward.core.quota.usage import amounts_of
from leeward.core.scheduling import Unplaceable
from leeward.core.scheduling.estimates import Question
from leeward.planning.batch import owner_of
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import Fleet, placement_fleet
from leeward.planning.group_decisions import members_of
from leeward.planning.reservations import Reserved, Targets
from leeward.planning.workload_groups import GroupMember, WorkloadGroups

API_VERSION, KIND = "leeward.dev/v1alpha1", "PlacementSnapshot"


class RecordedEstimate(Object, frozen=True):
    """Record of what estimators answered to one question: `answers` are by cluster name."""

    requirements: ReplicaRequirements | None = None
    components: tuple[Component, ...] = ()
    answers: Mapping[str, int] = {}


class RecordedOutcome(Object, frozen=True, omit_defaults=False):
    """Record of what was decided on a snapshot, and by which version. `targets` are replicas by cluster; `leaves` are
    clusters with an eviction task; `held` is the reason of EvictionHeld; `refusal` why there was no place.
    """

    version: str
    targets: Mapping[str, int] = {}
    leaves: tuple[str, ...] = ()
    held: str = ""
    refusal: str = ""

    @staticmethod
    def of(decision: Decision, version: str) -> "RecordedOutcome":
        result = decision.result
        return RecordedOutcome(
            version=version,
            targets={target.name: target.replicas for target in decision.clusters},
            leaves=tuple(sorted(task.from_cluster for task in decision.eviction_tasks)),
            held=decision.held.reason if decision.held is not None else "",
            refusal=result.message if isinstance(result, Unplaceable) else "",
        )


class RecordedQuota(Object, frozen=True):
    """Record of a ResourceQuota of the binding's namespace; what is reserved for others counts as used."""

    name: str
    spec: Mapping[str, Any] = {}
    hard: Mapping[str, Quantity] = {}
    used: Mapping[str, Quantity] = {}

    @staticmethod
    def of(quota: ReportedQuota) -> "RecordedQuota":
        return RecordedQuota(quota.name, quota.spec, render_amounts(quota.hard), render_amounts(quota.used))

    def read(self) -> ReportedQuota:
        return ReportedQuota(self.spec, amounts_of(self.hard), amounts_of(self.used), self.name)


class RecordedMember(Object, frozen=True):
    """Record of a binding that moves with the snapshot's. `promised` are targets for which room is reserved."""

    binding: ResourceBinding
    works: Mapping[str, Work] = {}
    promised: Targets | None = None
    group_members: tuple[GroupMember, ...] = ()
    claims: Mapping[str, tuple[str, ...]] = {}


class RecordedSnapshot(Object, frozen=True, omit_defaults=False):
    """The file's layout. `binding` is one of two kinds; `reserved`, `works` and `quotas` are by cluster name. `claims`
    are the clusters that hold each claim which the template names."""

    api_version: str
    kind: str
    now: datetime
    binding: msgspec.Raw
    clusters: tuple[Cluster, ...]
    works: Mapping[str, Work] = {}
    brake: bool = False
    brake_reason: str = ""
    budget: EvictionBudget = UNLIMITED
    attention: Attention = UNKEPT
    settings: PlacementSettings = DEFAULT_SETTINGS
    quota_refusal: str = ""
    reserved: Mapping[str, tuple[Reserved, ...]] = {}
    estimates: tuple[RecordedEstimate, ...] = ()
    group_members: tuple[GroupMember, ...] = ()
    claims: Mapping[str, tuple[str, ...]] = {}
    quotas: Mapping[str, tuple[RecordedQuota, ...]] = {}
    workload_affinity: bool = False
    multiple_pod_templates: bool = False
    together: tuple[RecordedMember, ...] = ()
    outcome: RecordedOutcome | None = None


class _Kind(Object, frozen=True):
    kind: str = ""


def encode_snapshot(snapshot: Snapshot, outcome: RecordedOutcome | None = None) -> bytes:
    """Encodes the snapshot as indented JSON, with its decision, before anything else is decided on its `Fleet`."""
    binding, fleet = snapshot.binding, snapshot.clusters
    assert isinstance(fleet, Fleet)
    kind = "ClusterResourceBinding" if isinstance(binding, ClusterResourceBinding) else "ResourceBinding"
    together = tuple(_member(fleet, each, works) for each, works in members_of(snapshot).values())
    recorded = RecordedSnapshot(
        api_version=API_VERSION,
        kind=KIND,
        now=snapshot.now,
        binding=msgspec.Raw(encode(msgspec.structs.replace(binding, kind=kind))),
        clusters=tuple(fleet[name] for name in sorted(fleet)),
        works=snapshot.works,
        brake=snapshot.brake,
        brake_reason=snapshot.brake_reason,
        budget=snapshot.budget,
        attention=snapshot.attention,
        settings=snapshot.settings,
        quota_refusal=snapshot.quota_refusal,
        reserved=fleet.reservations.all(),
        estimates=_estimates(fleet, (binding, *(each.binding for each in together))),
        group_members=() if fleet.groups is None else fleet.groups.members_beside(binding),
        claims=_claims(fleet, binding),
        quotas={
            name: tuple(map(RecordedQuota.of, quotas))
            for name, quotas in fleet.reservations.quotas(binding.spec.resource.namespace).items()
        },
        workload_affinity=fleet.groups is not None,
        multiple_pod_templates=fleet.profile.multiple_pod_templates,
        together=together,
        outcome=outcome,
    )
    return msgspec.json.format(encode(recorded), indent=1)


def _member(fleet: Fleet, binding: Binding, works: Mapping[str, Work]) -> RecordedMember:
    assert isinstance(binding, ResourceBinding)
    beside = () if fleet.groups is None else fleet.groups.members_beside(binding)
    promised = fleet.reservations.targets.get(owner_of(binding))
    return RecordedMember(binding, works, promised, beside, _claims(fleet, binding))


def _estimates(fleet: Fleet, bindings: Iterable[Binding]) -> tuple[RecordedEstimate, ...]:
    asked = {question.key: (question, n) for each in bindings for question, n in fleet.estimates.about(each.spec)}
    return tuple(RecordedEstimate(q.requirements, q.components, answers) for q, answers in asked.values())


def _claims(fleet: Fleet, binding: Binding) -> Mapping[str, tuple[str, ...]]:
    return {name: tuple(clusters) for name, clusters in fleet.claims.of(binding.spec).items()}


def decode_recorded(data: bytes) -> tuple[Snapshot, RecordedOutcome | None]:
    """The snapshot, and the outcome, if recorded. Raises: DecodeError where it is no snapshot; it names the field."""
    recorded = decode(data, RecordedSnapshot)
    if (recorded.api_version, recorded.kind) != (API_VERSION, KIND):
        raise msgspec.ValidationError(f"it is a {recorded.api_version} {recorded.kind}, not a {API_VERSION} {KIND}")
    is_wide = decode(bytes(recorded.binding), _Kind).kind == "ClusterResourceBinding"
    binding: Binding = decode(bytes(recorded.binding), ClusterResourceBinding if is_wide else ResourceBinding)
    snapshot = Snapshot(
        binding,
        _fleet_of(recorded, binding),
        recorded.works,
        recorded.brake,
        recorded.budget,
        recorded.attention,
        recorded.settings,
        recorded.quota_refusal,
        recorded.brake_reason,
        now=recorded.now,
    )
    return snapshot, recorded.outcome


def _fleet_of(recorded: RecordedSnapshot, binding: Binding) -> Fleet:
    estimates = Estimates()
    for each in recorded.estimates:
        estimates.put(Question(each.requirements, each.components), each.answers)
    groups = WorkloadGroups() if recorded.workload_affinity else None
    if groups is not None:
        groups.restore(binding, recorded.group_members)
    quotas = {name: tuple(each.read() for each in found) for name, found in recorded.quotas.items()}
    fleet = placement_fleet(
        recorded.clusters,
        estimates=estimates,
        groups=groups,
        multiple_pod_templates=recorded.multiple_pod_templates,
        read_quotas=lambda _: quotas,
    )
    fleet.claims.put(binding.spec.resource, recorded.claims)
    for name, reserved in recorded.reserved.items():
        fleet.reservations.restore(name, reserved)
    for each in recorded.together:
        fleet.together.put(each.binding)
        fleet.claims.put(each.binding.spec.resource, each.claims)
        if groups is not None:
            groups.restore(each.binding, each.group_members)
        if each.promised is not None:
            fleet.reservations.targets[owner_of(each.binding)] = each.promised
    fleet.together.put(binding)
    known = {each.binding.name: (each.binding, each.works) for each in recorded.together}
    fleet.together.look = lambda _, name: known.get(name)
    return fleet

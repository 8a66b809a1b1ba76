"""Advice: a change that may give a binding a place, with the command that makes it.

Each is the same decision asked with one thing changed: its policy, its template, a quota or a cluster. A change of a
policy is decided on as its printed patch, so that the command does as it was tried.
"""

import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from kubeapi.codec import from_wire, to_wire
from kubeapi.core import Taint, Toleration
from kubeapi.diff import merged
from kubeapi.meta import Manifest, Object
from kubeapi.quantity import parse_quantity
from leeward.answers.claiming_policies import claimed_by_name
from leeward.answers.fleet_state import FleetState
from leeward.api.cluster import Cluster
from leeward.api.names import DRAIN_TAINT, UNSCHEDULABLE_TAINT
from leeward.api.policy import FailoverBehavior, Placement
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import Binding, GracefulEvictionTask
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, key_of
from leeward.core.quota.enforcement import EXCEEDED, QUOTA_EXCEEDED
from leeward.core.scheduling.affinity import is_in_any_term
from leeward.core.wording import listed

MOST_TRIED = 8
"""Changes of one sort that are tried: each is a decision."""
MOST_NAMED = 3
"""Clusters that are named to a policy."""
TAKEN_OUT = frozenset((UNSCHEDULABLE_TAINT, DRAIN_TAINT))
"""Taints that `leeward uncordon` takes off."""
_RESIZED = ("Deployment", "ReplicaSet", "StatefulSet")
_LOWEST = {"cpu": Decimal("0.001"), "memory": Decimal(2**20)}
"""Units in which requests are lowered."""


@dataclass(frozen=True, slots=True)
class Advice:
    """`binding` is the one that is decided on in its place, in a fleet without the taints of `untainted` clusters.

    `command` is empty where the picture does not have all that the command must say.
    """

    change: str
    command: str
    binding: Binding
    untainted: frozenset[tuple[str, str]] = frozenset()


class _OfPolicy(Object, frozen=True):
    """Part of a policy that a binding repeats."""

    placement: Placement = Placement()
    failover: FailoverBehavior | None = None


def placement_of(binding: Binding) -> Placement:
    return binding.spec.placement or Placement()


def with_policy_patch(binding: Binding, patch: Manifest) -> Binding:
    """The binding as a merge patch of its policy's placement or failover makes it."""
    spec = binding.spec
    found = from_wire(merged(to_wire(_OfPolicy(placement_of(binding), spec.failover)), patch), _OfPolicy)
    changed = msgspec.structs.replace(spec, placement=found.placement, failover=found.failover)
    return msgspec.structs.replace(binding, spec=changed)


def of_policy(binding: Binding, change: str, patch: Manifest) -> Iterator[Advice]:
    """Advice to patch the spec of the policy that has claimed it; none where no policy has."""
    claimed = claimed_by_name(binding)
    if claimed is not None:
        kind, namespace, name = claimed
        command = patch_command(kind.lower(), namespace, name, {"spec": patch})
        yield Advice(change, command, with_policy_patch(binding, patch))


def patch_command(kind: str, namespace: str, name: str, patch: Manifest) -> str:
    return _patch(kind, namespace, name, "merge", patch)


def _patch(kind: str, namespace: str, name: str, form: str, patch: object) -> str:
    where = f" -n {namespace}" if namespace else ""
    return f"kubectl patch {kind} {name}{where} --type={form} -p {shlex.quote(json.dumps(patch))}"


def ending_purge(binding: Binding) -> Iterator[Advice]:
    """Advice to wait no more for copies that are purged Directly: their tasks become those of another purge mode.

    A Work that is deleted by hand ends the wait, too, and its copy is nobody's when its cluster is back.
    """
    names = [each.from_cluster for each in binding.spec.graceful_eviction_tasks if not each.purge_rules.keeps_copy]
    if names:
        change = f"if {', '.join(names)} is switched off for certain, let the replacement start"
        yield _of_tasks(binding, change, names, "purgeMode", PurgeMode.GRACEFULLY.value)


def ending_wait(binding: Binding, targets: Collection[str]) -> Iterator[Advice]:
    """Advice to end evictions whose replacement nobody can judge: a person has looked at it."""
    names = [each.from_cluster for each in binding.spec.graceful_eviction_tasks if each.suppress_deletion is None]
    if names:
        change = f"if the copy in {', '.join(targets)} serves, remove the copy in {', '.join(names)}"
        yield _of_tasks(binding, change, names, "suppressDeletion", False)


def _of_tasks(binding: Binding, change: str, names: Collection[str], field: str, value: object) -> Advice:
    """Advice to set a field of the eviction tasks of these clusters."""
    tasks, changes = list[GracefulEvictionTask](), list[Manifest]()
    for index, task in enumerate(binding.spec.graceful_eviction_tasks):
        if task.from_cluster in names:
            path = f"/spec/gracefulEvictionTasks/{index}"
            changes.append({"op": "test", "path": f"{path}/fromCluster", "value": task.from_cluster})
            changes.append({"op": "add", "path": f"{path}/{field}", "value": value})
            task = from_wire({**to_wire(task), field: value}, GracefulEvictionTask)
        tasks.append(task)
    kind = "resourcebinding" if binding.namespace else "clusterresourcebinding"
    spec = msgspec.structs.replace(binding.spec, graceful_eviction_tasks=tuple(tasks))
    command = _patch(kind, binding.namespace, binding.name, "json", changes)
    return Advice(change, command, msgspec.structs.replace(binding, spec=spec))


def tolerating(state: FleetState, binding: Binding) -> Iterator[Advice]:
    """Toleration of one taint of others each; what an outage has set is tolerated by nobody in earnest."""
    taints = {t for cluster in state.clusters.values() for t in cluster.taints if key_of(t) not in CONDITION_TAINTS}
    others = {(t.key, t.value, t.effect): t for t in taints if t.key not in TAKEN_OUT}
    for _, taint in sorted(others.items())[:MOST_TRIED]:
        toleration = Toleration(key=taint.key, operator="Equal", value=taint.value, effect=taint.effect)
        more = to_wire((*placement_of(binding).cluster_tolerations, toleration))
        patch = {"placement": {"clusterTolerations": more}}
        yield from of_policy(binding, f"tolerate the taint {_name(taint)} in the policy", patch)


def uncordoned(state: FleetState, binding: Binding) -> Iterator[Advice]:
    """Clusters that are given back, one by one."""
    keys = {name: {t.key for t in cluster.taints} & TAKEN_OUT for name, cluster in sorted(state.clusters.items())}
    for name in [name for name, found in keys.items() if found][:MOST_TRIED]:
        untainted = frozenset((name, key) for key in keys[name])
        yield Advice(f"uncordon {name}", f"leeward uncordon {name}", binding, untainted)


def allowing_all(binding: Binding) -> Manifest:
    """Patch with which a placement allows every cluster, to see which would take it."""
    patch: Manifest = {"clusterAffinity": None, "clusterAffinities": None}
    if _weights(binding):
        patch["replicaScheduling"] = {"weightPreference": None}
    return {"placement": patch}


def naming(binding: Binding, clusters: Sequence[Cluster]) -> Iterator[Advice]:
    """Advice to name these clusters in the policy; where more than names keeps them out, to allow all."""
    placement = placement_of(binding)
    if placement.cluster_affinity is not None and not placement.cluster_affinities:
        unnamed = with_policy_patch(binding, {"placement": {"clusterAffinity": {"clusterNames": None}}})
        clusters = [each for each in clusters if is_in_any_term(unnamed.spec, each)]
    named = [each.name for each in clusters][:MOST_NAMED]
    if patch := _naming(binding, named) if named else {}:
        yield from of_policy(binding, f"add {listed(named)} to the policy", {"placement": patch})
    yield from of_policy(binding, "let the policy allow all clusters", allowing_all(binding))


def _naming(binding: Binding, named: Sequence[str]) -> Manifest:
    """Patch of a placement that names more clusters.

    An affinity without names allows every cluster that it selects: one name would shut the others out.
    """
    placement = placement_of(binding)
    patch: Manifest = {}
    if placement.cluster_affinities:
        taken = {each.affinity_name for each in placement.cluster_affinities}
        name = next(each for each in ("more", *(f"more-{n}" for n in range(2, 99))) if each not in taken)
        added = {"affinityName": name, "clusterNames": named}
        patch["clusterAffinities"] = [*to_wire(placement.cluster_affinities), added]
    elif placement.cluster_affinity is not None and placement.cluster_affinity.cluster_names:
        patch["clusterAffinity"] = {"clusterNames": [*placement.cluster_affinity.cluster_names, *named]}
    if weights := _weights(binding):
        more = [{"targetCluster": {"clusterNames": [each]}, "weight": 1} for each in named]
        patch["replicaScheduling"] = {"weightPreference": {"staticWeightList": [*weights, *more]}}
    return patch


def _weights(binding: Binding) -> Sequence[Any]:
    scheduling = placement_of(binding).replica_scheduling
    preference = None if scheduling is None else scheduling.weight_preference
    return () if preference is None or preference.dynamic_weight else to_wire(preference.static_weight_list)


def spreading_less(binding: Binding) -> Iterator[Sequence[Advice]]:
    """Lower `minGroups` of each spread constraint, the highest first; last without the constraint."""
    constraints = placement_of(binding).spread_constraints
    for index, each in enumerate(constraints):
        field = each.spread_by_field or each.spread_by_label or "cluster"
        tried: list[Advice] = []
        for lower in [*range(each.min_groups - 1, 0, -1)][-MOST_TRIED:]:
            changed = msgspec.structs.replace(each, min_groups=lower)
            less = to_wire((*constraints[:index], changed, *constraints[index + 1 :]))
            told = f"lower minGroups of {field} to {lower}"
            tried += of_policy(binding, told, {"placement": {"spreadConstraints": less}})
        others = to_wire((*constraints[:index], *constraints[index + 1 :]))
        patch = {"placement": {"spreadConstraints": others}}
        yield [*tried, *of_policy(binding, f"do not spread the application by {field}", patch)]


def losing_state(binding: Binding) -> Iterator[Advice]:
    """Advice to move it without the state that its policy wants to keep."""
    patch = {"failover": {"cluster": {"statePreservation": None}}}
    yield from of_policy(binding, "let the application move without its state", patch)


def raised_quota(binding: Binding, refusal: str) -> Iterator[Advice]:
    """Advice to raise each quota that refuses it, to all that is asked for."""
    raised: dict[tuple[str, str], dict[str, tuple[str, str]]] = {}
    for found in QUOTA_EXCEEDED.finditer(refusal):
        quota = raised.setdefault((found["namespace"], found["name"]), {})
        quota[found["resource"]] = found["asked"], found["limit"]
    conditions = tuple(c for c in binding.status.conditions if c.reason != EXCEEDED)
    status = msgspec.structs.replace(binding.status, conditions=conditions)
    free: Binding = msgspec.structs.replace(binding, status=status)
    commands, changes = list[str](), list[str]()
    for (namespace, name), resources in raised.items():
        overall = {resource: asked for resource, (asked, _) in resources.items()}
        commands.append(patch_command("federatedresourcequota", namespace, name, {"spec": {"overall": overall}}))
        amounts = [f"{resource} from {limit} to {asked}" for resource, (asked, limit) in resources.items()]
        changes.append(f"raise {listed(amounts)} in FederatedResourceQuota {namespace}/{name}")
    if commands:
        yield Advice("; ".join(changes), " && ".join(commands), free)


def asking_less(binding: Binding, short: Collection[str]) -> Iterator[Advice]:
    """Lower requests of these resources: half, a quarter, an eighth, of a kind whose Pods may be changed.

    There is no command: the request is a Pod's sum, and `kubectl set resources` sets it on every container.
    """
    resource, requirements = binding.spec.resource, binding.spec.replica_requirements
    if requirements is None or resource.kind not in _RESIZED:
        return
    asked = {name: quantity for name, quantity in requirements.resource_request.items() if name in short}
    for part in (2, 4, 8):
        lower: dict[str, str] = {}
        with suppress(ValueError, ArithmeticError):
            lower = {name: _lower(name, parse_quantity(each) / part) for name, each in asked.items() if name in _LOWEST}
        if not lower or len(lower) < len(asked):
            return
        request: Mapping[str, Any] = {**requirements.resource_request, **lower}
        less = msgspec.structs.replace(requirements, resource_request=request)
        spec = msgspec.structs.replace(binding.spec, replica_requirements=less)
        changed = msgspec.structs.replace(binding, spec=spec)
        told = ", ".join(f"{name}={each}" for name, each in lower.items())
        yield Advice(f"lower the requests of each Pod to {told}, summed over its containers", "", changed)


def _lower(name: str, amount: Decimal) -> str:
    units = max(1, int(amount / _LOWEST[name]))
    return f"{units}m" if name == "cpu" else f"{units}Mi"


def _name(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"

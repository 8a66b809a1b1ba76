"""Gates of a binding: which new copies wait for them, what an object says of one, and how that is told.

The Work of a copy that replaces another one is written when all gates of `leeward.dev/wait-for` hold in its cluster.
With `leeward.dev/keep-until` its Work says which gate does not hold yet. Nobody relies on such a copy, so that the law
keeps the old one (`copies.disruption`). A gate that nobody could look at does not hold. Holds: S1.

The first placement replaces nothing, and neither does a cluster that is added. A copy that runs is never taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from kubeapi.jsonpath import JSONPathError, PathTooLarge, compile_template
from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import int_at, mappings_at, text_at
from leeward.api.gates import ReplacementGate, parse_condition, parse_path
from leeward.api.meta import Condition, find_condition
from leeward.api.names import CLUSTER_POLICY_NAME_ANNOTATION, REPLACEMENT_HELD_CONDITION
from leeward.api.work import Binding, Work
from leeward.core.copies.memory import parse_memory
from leeward.core.execution.works import needed_by_others

WAITING, OVERDUE, NOT_SEEN, UNREADABLE = "WaitingForGate", "GateOverdue", "CouldNotLook", "GateUnreadable"
_WORST = (UNREADABLE, OVERDUE, NOT_SEEN, WAITING)
_SHOWN = 100
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=2), timedelta(seconds=30)


class GateSight(NamedTuple):
    """Result of a look at a gate: `why` it does not hold, empty where it does. Not `seen`: nobody could look."""

    why: str
    seen: bool = True

    @property
    def holds(self) -> bool:
        return self.seen and not self.why


@dataclass(frozen=True, slots=True)
class HeldCopy:
    """A copy for which a gate does not hold: `starts` later in its cluster, or is there and not relied upon yet."""

    cluster: str
    starts: bool
    gate: ReplacementGate | None
    sight: GateSight


def gate_values(binding: Binding, cluster: str) -> dict[str, str]:
    """Values of the variables of a gate, for the replacement in a cluster."""
    resource = binding.spec.resource
    return {"cluster": cluster, "name": resource.name, "namespace": resource.namespace, "kind": resource.kind}


def replaces(binding: Binding, cluster: str, now: datetime) -> bool:
    """Tells whether a copy that is not in `cluster` yet replaces one elsewhere: one leaves, or was there before.

    A replacement that was held once stays one, whatever becomes of the copy that it replaces.
    """
    spec = binding.spec
    wanted = {target.name for target in spec.clusters} | needed_by_others(spec)
    has_left = any(item.cluster_name not in wanted for item in binding.status.aggregated_status)
    is_moving = has_left or bool(spec.graceful_eviction_tasks) or held_since(binding) is not None
    return is_moving or cluster in parse_memory(binding, now).awaited


def held_since(binding: Binding) -> datetime | None:
    """Instant since which a gate holds something of the binding."""
    found = told_held(binding)
    return found.last_transition_time if found is not None else None


def told_held(binding: Binding) -> Condition | None:
    """The condition of the binding that says that a gate holds something; None where it says no such thing."""
    return find_condition(binding.status.conditions, REPLACEMENT_HELD_CONDITION, "True")


def pause_after(waited: timedelta) -> timedelta:
    """Pause until the next look at a gate that has been waited for so long."""
    return min(max(waited / 10, SHORTEST_PAUSE), LONGEST_PAUSE)


def cluster_policy_of(binding: Binding) -> str:
    """Name of the ClusterPropagationPolicy of the binding; empty for none."""
    return binding.metadata.annotations.get(CLUSTER_POLICY_NAME_ANNOTATION, "")


def judge_gate(gate: ReplacementGate, found: ReadOnlyManifest) -> GateSight:
    """Judges the object that a gate names. Of a report of it only the status may be known."""
    metadata: ReadOnlyManifest = found.get("metadata") or {}
    if metadata.get("deletionTimestamp"):
        return GateSight("it is being deleted")
    if (named := parse_condition(gate.expression)) is not None:
        return _judge_condition(*named, found)
    path = parse_path(gate.expression)
    return GateSight("") if path is None else _judge_path(*path, found)


def _judge_condition(named: str, wanted: str, found: ReadOnlyManifest) -> GateSight:
    """Kubernetes: `kubectl wait --for=condition`; same, as also of a condition that speaks of an earlier generation."""
    condition = next((c for c in mappings_at(found, "status", "conditions") if text_at(c, "type") == named), None)
    if condition is None:
        return GateSight(f"it has no condition {named}")
    observed, generation = int_at(condition, "observedGeneration"), int_at(found, "metadata", "generation")
    if observed and generation and observed < generation:
        return GateSight(f"its condition {named} is of generation {observed}, and it is at {generation}")
    status = text_at(condition, "status")
    return GateSight("" if status.lower() == wanted.lower() else f"its condition {named} is {status or 'empty'}")


def _judge_path(template: str, wanted: str | None, found: ReadOnlyManifest) -> GateSight:
    """Kubernetes: `kubectl wait --for=jsonpath`; same."""
    try:
        value = compile_template(template)(found)
    except PathTooLarge as error:
        return GateSight(str(error))
    except JSONPathError:
        return GateSight(f"it has no {template}")
    if wanted is None:
        return GateSight("" if value else f"its {template} is empty")
    return GateSight("" if value == wanted else f"its {template} is {value[:_SHOWN]}")


def judge_report(gate: ReplacementGate, work: Work | None, *, is_fresh: bool) -> GateSight:
    """Judges the object of a Pull cluster by the report of its Work, which tells its status alone."""
    manifests = work.spec.workload.manifests if work is not None else ()
    named = [(each.get("apiVersion"), each.get("kind")) for each in manifests]
    if work is None or named != [(gate.api_version, gate.kind)]:
        return GateSight("its cluster is Pull: have it propagated there, for its agent to report it", seen=False)
    path = parse_path(gate.expression)
    if path is not None and ".status" not in path[0]:
        return GateSight("of an object in a Pull cluster only the status is reported", seen=False)
    if not is_fresh or not work.status.manifest_statuses:
        return GateSight("nothing is known of it since its cluster became Ready", seen=False)
    status = work.status.manifest_statuses[0].status
    return judge_gate(gate, {} if status is None else {"status": status})


def described(gate: ReplacementGate) -> str:
    """`VolumeReplicationGroup db/ledger in member2`"""
    if gate.webhook:
        return f"the webhook {gate.webhook}"
    return f"{gate.kind} {'/'.join(filter(None, (gate.namespace, gate.name)))}"


def replacement_held(binding: Binding, held: Sequence[HeldCopy], now: datetime) -> Condition | None:
    """The condition that tells which copies gates hold, and whether somebody is to look after that."""
    if not held:
        return None
    waited = now - (held_since(binding) or now)
    reasons = {_reason(each, waited) for each in held}
    reason = next(each for each in _WORST if each in reasons)
    return Condition(REPLACEMENT_HELD_CONDITION, "True", reason, "; ".join(map(_sentence, held)))


def _reason(held: HeldCopy, waited: timedelta) -> str:
    if held.gate is None:
        return UNREADABLE
    if waited.total_seconds() >= held.gate.tell_after_seconds:
        return OVERDUE
    return WAITING if held.sight.seen else NOT_SEEN


def _sentence(held: HeldCopy) -> str:
    what = (
        f"the replacement in {held.cluster} does not start"
        if held.starts
        else f"the copy in {held.cluster} does not count as a replacement, and the old copy stays"
    )
    if held.gate is None:
        return f"{what}: {held.sight.why}"
    where = f" in {held.cluster}" if held.gate.is_in_target else "" if held.gate.webhook else " in the control plane"
    return f"{what}: it waits for {described(held.gate)}{where} ({held.sight.why or 'not looked at yet'})"

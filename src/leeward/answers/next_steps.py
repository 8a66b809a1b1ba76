"""Next steps of a binding, each with its instant; or that no instant is known, and what it waits for."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec

from kubeapi.core import Taint
from leeward.answers.decisions import expected_of, is_braked
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.core.cluster_health.monitor_grace_period import OVERDUE_SHARE
from leeward.core.cluster_health.outage import OutageReport, clusters_of, not_seen_since
from leeward.core.cluster_health.pending_condition import doubt_in, is_failing, is_recovering
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement import Decision
from leeward.core.rollout.rollout_decision import Reason
from leeward.core.scheduling import Unplaceable
from leeward.operations.rollout_view import RolloutView
from leeward.operations.sentences import counted, in_moments


class NextStep(msgspec.Struct, frozen=True, rename="camel"):
    """`at` is None where no instant is known."""

    at: datetime | None
    sentence: str


def next_steps(
    state: FleetState,
    key: BindingName,
    decision: Decision,
    report: OutageReport | None,
    rollout: RolloutView | None = None,
) -> tuple[NextStep, ...]:
    """Steps in the order of their instants; those without one come last."""
    steps = [*_of_clusters(state, key), *_of_decision(state, key, decision)]
    steps += _of_outages(report, decision, state.as_of)
    if rollout is not None and rollout.next:
        steps.append(NextStep(rollout.next_at, rollout.next))
    if rollout is not None and rollout.reason in (Reason.WAITING, Reason.PAUSED):
        steps.append(NextStep(None, f"the rollout waits for a person; then {rollout.gain}"))
    wake_at, told = decision.wake_at, {step.at for step in steps}
    if wake_at is not None and wake_at not in told and not decision.evicted and not _is_retried(decision):
        steps.append(NextStep(wake_at, "Leeward decides again"))
    last = datetime.max.replace(tzinfo=state.as_of.tzinfo)
    return tuple(dict.fromkeys(sorted(steps, key=lambda step: step.at or last)))


def _of_clusters(state: FleetState, key: BindingName) -> Iterator[NextStep]:
    for name in dict.fromkeys(clusters_of(state.bindings[key].spec)):
        cluster = state.clusters.get(name)
        if cluster is None or cluster.is_being_deleted:
            continue
        yield from threshold_steps(state, cluster)
        for taint in taints_to_come(state, cluster):
            yield NextStep(taint.time_added, f"{name} gets the taint NoExecute, unless it is back by then")


def taints_to_come(state: FleetState, cluster: Cluster) -> list[Taint]:
    """NoExecute taints that the cluster gets if its outage lasts; none while the brake holds them."""
    expected = expected_of(state)[cluster.name]
    if expected is cluster or cluster.has_no_execute or is_braked(state, state.clusters.values()):
        return []
    return [taint for taint in expected.taints if taint.effect == NO_EXECUTE]


def threshold_steps(state: FleetState, cluster: Cluster) -> Iterator[NextStep]:
    """A change of `Ready` that has begun, and does not count yet."""
    doubt, settings = doubt_in(cluster), state.settings
    if doubt is None or doubt.last_transition_time is None:
        return
    if is_failing(cluster):
        seconds = settings.cluster_failure_threshold
        if cluster.spec.sync_mode == "Pull":
            seconds = settings.cluster_monitor_grace_period * (1 - OVERDUE_SHARE)
        turns = doubt.last_transition_time + timedelta(seconds=seconds)
        yield NextStep(turns, f"{cluster.name} counts as not Ready, unless it answers again")
    elif is_recovering(cluster):
        turns = doubt.last_transition_time + timedelta(seconds=settings.cluster_success_threshold)
        yield NextStep(turns, f"{cluster.name} counts as Ready again, if it goes on answering")


def _of_decision(state: FleetState, key: BindingName, decision: Decision) -> Iterator[NextStep]:
    spec = state.bindings[key].spec
    for eviction in decision.evicted:
        yield NextStep(state.as_of, f"the application leaves {eviction.cluster}, {eviction.cause}")
    for name in decision.withdrawn:
        yield NextStep(state.as_of, f"the eviction from {name} is withdrawn: the copy there is healthy again")
    for name, replicas in decision.returning.items():
        yield NextStep(state.as_of, f"{counted(replicas, 'replica moves', 'replicas move')} back to {name}")
    if not decision.evicted and decision.clusters != spec.clusters:
        yield NextStep(state.as_of, "the application is scheduled again")
    for task in spec.graceful_eviction_tasks:
        if task.from_cluster in decision.finished:
            yield NextStep(state.as_of, f"the eviction from {task.from_cluster} is finished")
        elif _unseen_since(state, task.from_cluster) is not None:
            yield _on_return(state, key, task.from_cluster)
        else:
            yield NextStep(None, f"the copy in {task.from_cluster} is deleted when its replacement is healthy")
    for name in sorted({*state.works_of(key)} - {*clusters_of(spec)}):
        if _unseen_since(state, name) is not None:
            yield _on_return(state, key, name)
    if decision.quota_refusal:
        yield NextStep(None, "Leeward tries again to place the application when the quota, or its use, changes")
    if _is_retried(decision):
        yield NextStep(None, "Leeward tries again to place the application when clusters, capacity or policy change")


def _on_return(state: FleetState, key: BindingName, cluster: str) -> NextStep:
    work = state.works_of(key).get(cluster)
    if work is not None and (work.is_leaving or work.is_removal_held):
        return NextStep(None, f"the copy in {cluster} is deleted when {cluster} is back and the new copy is healthy")
    if work is not None and work.spec.preserve_resources_on_deletion:
        return NextStep(None, f"the copy in {cluster} stays there (preserveResourcesOnDeletion)")
    return NextStep(None, f"the copy in {cluster} is deleted when {cluster} is back")


def _is_retried(decision: Decision) -> bool:
    """Tells whether it waits for free capacity, and not for an instant."""
    held = decision.held
    return isinstance(decision.result, Unplaceable) or (held is not None and held.reason == HeldReason.NO_PLACE_TO_GO)


def _of_outages(report: OutageReport | None, decision: Decision, now: datetime) -> Iterator[NextStep]:
    """Steps that outages will bring; what is held now has been said."""
    held = decision.held.message if decision.held is not None else ""
    for outlook in () if report is None else report.outlooks:
        if outlook.at is None or not outlook.why or outlook.why not in held:
            said = replace(outlook, at=None).sentence.rstrip(".")
            if outlook.at is not None:
                said = said.removeprefix(f"{outlook.outage.head}: ")
            yield NextStep(outlook.at, in_moments(said, now))


def _unseen_since(state: FleetState, name: str) -> datetime | None:
    cluster = state.clusters.get(name)
    return None if cluster is None else not_seen_since(cluster)

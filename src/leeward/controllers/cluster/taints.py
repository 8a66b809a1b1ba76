"""Keeps the taints of a cluster, in one write per change, and says so: the only writer of them but people.

    the four automatic ones         that the condition calls for (`core.cluster_health.condition_taints`)
    the hold-down                   of what flaps (`core.cluster_health.flap_damping`)
    those of ClusterTaintPolicies   and the annotation that says which they are (`core.cluster_health.taint_policy`)
    the time of NoExecute taints    that someone added without one

While the brake holds, no NoExecute taint is added, but by a policy on a cluster that is alive; nor is one for what was
not seen anew since the present heartbeat began. What others take off is written again, within bounds
(`core.cluster_health.standing_taints`). Holds: S4, S9, S13.

Karmada: pkg/controllers/cluster and pkg/controllers/taint (ClusterTaintPolicyController); there they are two writers.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from kubeapi.codec import to_wire
from kubeapi.meta import format_time
from kubeclient import Conflict, WorldError
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_TAINT
from leeward.api.resource import CLUSTER_TAINT_POLICIES, CLUSTERS
from leeward.api.taint_policy import ClusterTaintPolicy
from leeward.controllers.cluster.confirming import OutageConfirmation
from leeward.controllers.cluster.standing import Patch, StandingTaints
from leeward.controllers.cluster.warnings import StandingWarnings
from leeward.core.cluster_health.condition_taints import (
    TaintDecision,
    confirmation,
    decide_taints,
    describe_taints,
    stamp_no_execute,
)
from leeward.core.cluster_health.flap_damping import Flapping, HoldDown, HoldDownSettings, decide_hold_down
from leeward.core.cluster_health.taint_policy import follow_policies
from leeward.core.cluster_health.watched_time import Attention
from leeward.core.eviction.blocked_evictions import why_braked
from leeward.runtime.brake import BRAKED_PAUSE, BrakeView
from leeward.runtime.controller_context import ControlPlane, Recorder

BRAKED = "Nothing is evicted from this cluster, and the taint NoExecute is not set: "
ROUNDING_SECONDS = 1e-3


@dataclass(frozen=True, slots=True)
class TaintSettings:
    """`eviction_seconds` is --failover-eviction-timeout; `failover` the gate; `hold_down` of clusters that flap.

    `could_not_look`: a status that could not be collected leads to no NoExecute taint. `policies`: those of
    ClusterTaintPolicies come and go, too.
    """

    eviction_seconds: float
    failover: bool = True
    hold_down: HoldDownSettings = field(default_factory=HoldDownSettings)
    could_not_look: bool = True
    policies: bool = True


class ClusterTaints:
    def __init__(
        self,
        plane: ControlPlane,
        recorder: Recorder,
        warnings: StandingWarnings,
        settings: TaintSettings,
        brake: BrakeView,
        confirmation: OutageConfirmation,
        patch: Patch,
    ) -> None:
        self._plane = plane
        self._recorder = recorder
        self._warnings = warnings
        self._settings = settings
        self._brake = brake
        self._confirmation = confirmation
        self._patch = patch
        self._standing = StandingTaints(plane, recorder, patch)
        self._clusters = plane.informers.of(CLUSTERS)
        self._policies = plane.informers.of(CLUSTER_TAINT_POLICIES) if settings.policies else None

    def start(self, changed: Callable[[], None]) -> None:
        """`changed` is told that a policy is there that is new or another; one that goes changes nothing."""

        def policy_changed(old: ClusterTaintPolicy | None, new: ClusterTaintPolicy | None) -> None:
            if new is not None:
                changed()

        if self._policies is not None:
            self._policies.on_change(policy_changed)

    async def wait_synced(self) -> None:
        if self._policies is not None:
            await self._policies.wait_synced()

    async def keep(self, cluster: Cluster, last_seen: datetime, attention: Attention) -> datetime | None:
        """Writes the taints that are due, and returns when to look again. Raises: WorldError."""
        if not attention.is_kept:
            cluster = await self._standing.drop_record(cluster)
        now = self._plane.clock.now()
        braked = self._brake.holds()
        decision, hold_down = self._decide(cluster, now, last_seen, attention, braked=braked)
        wake_at = now + BRAKED_PAUSE if braked else hold_down.wake_at
        pause = await self._write(cluster, decision, attention)
        held = self._settings.failover and braked and decision.is_due
        why = BRAKED + why_braked(self._brake.brake.reason)
        self._warnings.keep(cluster, "TaintClusterFailed", why if held else "")
        if hold_down.began is not None:
            self._tell_hold_down(cluster, hold_down.began)
        again_at = now + timedelta(seconds=pause + ROUNDING_SECONDS) if pause else None
        instants = (wake_at, again_at, None if braked else decision.wake_at)
        return min((instant for instant in instants if instant is not None), default=None)

    def forget(self, name: str) -> None:
        self._standing.forget(name)

    def _decide(
        self, cluster: Cluster, now: datetime, last_seen: datetime, attention: Attention, *, braked: bool
    ) -> tuple[TaintDecision, HoldDown]:
        """Decides what the taints and our annotations are to be."""
        confirmed = self._confirmation.is_confirmed(cluster, attention)
        decision = decide_taints(
            cluster,
            now,
            last_seen=last_seen,
            eviction_seconds=self._settings.eviction_seconds,
            failover=self._settings.failover and not braked and confirmed,
            could_not_look=self._settings.could_not_look,
            watched=attention.time,
        )
        hold_down = decide_hold_down(cluster, decision.taints, now, self._settings.hold_down, attention.time)
        taints = stamp_no_execute(hold_down.taints, now)
        annotations = {**decision.annotations, **hold_down.annotations}
        if attention.heartbeat and confirmed:
            annotations |= confirmation(cluster, attention.heartbeat)
        if self._policies is not None:
            policies = [policy for policy in self._policies.list() if policy.metadata.deletion_timestamp is None]
            before, record = cluster.with_taints(taints, annotations), cluster.taint_record
            by_policies = follow_policies(before, policies, now, attention, braked=braked, record=record)
            taints, annotations = by_policies.taints, {**annotations, **by_policies.annotations}
        return replace(decision, taints=taints, annotations=annotations), hold_down

    async def _write(self, cluster: Cluster, decision: TaintDecision, attention: Attention) -> float:
        """Writes what is another: the record first, which holds whatever becomes of the taints. Returns the seconds
        for which these must wait, because others take them off again and again."""
        taints, annotations = decision.taints, decision.annotations
        if attention.is_kept:
            tainted = cluster.with_taints(taints, annotations)
            cluster = await self._standing.keep_record(cluster, tainted, decision.outage_since)
        patch: dict[str, Any] = {"metadata": {"annotations": dict(annotations)}} if annotations else {}
        pause = self._standing.pause(cluster, taints) if taints != cluster.spec.taints else 0.0
        if taints != cluster.spec.taints and not pause:
            patch["spec"] = {"taints": to_wire(taints) or None}
        if not patch:
            return pause
        try:
            updated = await self._patch(cluster, patch)
        except Conflict:
            raise
        except WorldError as error:
            self._recorder.warning(CLUSTERS, cluster, "TaintClusterFailed", f"Taint cluster failed: {error}")
            raise
        if "spec" in patch and self._standing.written(updated, taints):
            message = f"Taint cluster succeed: {describe_taints(taints)}"
            self._recorder.normal(CLUSTERS, updated, "TaintClusterSucceed", message)
        return pause

    def _tell_hold_down(self, cluster: Cluster, flapping: Flapping) -> None:
        assert flapping.until is not None
        message = (
            f"The cluster comes and goes: nothing new is placed there before {format_time(flapping.until)}. "
            f"To end that at once, remove the taint {FLAPPING_TAINT}."
        )
        self._recorder.warning(CLUSTERS, cluster, "ClusterFlapping", message)

"""Findings about the control plane itself: its API server, its components, the brake."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from kubeapi.core import Lease
from leeward.api.names import HEARTBEAT_NAME, SHARD_LEASE_PREFIX, SYSTEM_NAMESPACE, is_lease_of_agent
from leeward.core.cluster_health.brake import VANISHED
from leeward.operations.clusters import ClusterState
from leeward.operations.findings import Finding, Observed, Severity, needs_somebody
from leeward.operations.sentences import since
from leeward.runtime.sharding import Sharding

ROOM_CHECK = "room"
"""Check of the embedded API server, which others do not have: room in its store."""
LEASES_MISSED, SHORTEST_SILENCE = 2, timedelta(seconds=30)
"""A component is silent when its lease ended so many durations ago, and not before that time."""


def api_server(observed: Observed) -> Iterator[Finding]:
    for check, reason in observed.failed_checks.items():
        what = "the store of the API server fails" if check.startswith("etcd") else "the API server is not ready"
        what = "new objects will be refused" if check == ROOM_CHECK else what
        yield needs_somebody(f"check/{check}", f"{what}: {reason or check}")


def components(observed: Observed) -> Iterator[Finding]:
    shards = _shards_in_force(observed)
    for name in sorted(shards - {lease.name for lease in observed.leases}):
        said = f"{name} has never had a leader, and has work: does it run?"
        yield needs_somebody(f"lease/{name}", said, next=f"kubectl get leases -n {SYSTEM_NAMESPACE}")
    for lease in sorted(filter(is_of_component, observed.leases), key=lambda lease: lease.name):
        renewed = lease.spec.renew_time
        if lease.name.startswith(SHARD_LEASE_PREFIX) and lease.name not in shards:
            continue
        if renewed is None or not is_silent(lease, observed.now):
            continue
        said = "has not renewed its lease" if lease.spec.holder_identity else "has no leader"
        yield needs_somebody(
            f"lease/{lease.name}",
            f"{lease.name} {said}{since(renewed, observed.now)}: does it run?",
            next=f"kubectl get lease {lease.name} -n {SYSTEM_NAMESPACE} -o yaml",
        )


def _shards_in_force(observed: Observed) -> set[str]:
    """Names of the Leases of the shards that a leader leaves its work to; those of other numbers stay behind."""
    told = filter(None, map(Sharding.told_on, observed.leases))
    return {name for sharding in told for name in sharding.leases}


def nobody_watches(observed: Observed) -> Iterator[Finding]:
    """Finds a heartbeat that is not renewed: meanwhile no threshold and no toleration runs, and nothing would be failed
    over."""
    for lease in observed.leases:
        if lease.name == HEARTBEAT_NAME and is_silent(lease, observed.now):
            yield needs_somebody(
                f"lease/{lease.name}",
                f"nobody watches the clusters{since(lease.spec.renew_time, observed.now)}, and nothing fails over: "
                "do the controllers run?",
                next=f"kubectl get lease {lease.name} -n {SYSTEM_NAMESPACE} -o yaml",
            )


def never_controlled(observed: Observed) -> Iterator[Finding]:
    """Finds clusters that have joined where no controller of Leeward's or Karmada's has ever worked."""
    is_new = bool(observed.rows) and all(row.state is ClusterState.SILENT for row in observed.rows)
    is_led = any(lease.name == HEARTBEAT_NAME or is_of_component(lease) for lease in observed.leases)
    if is_new and observed.leases_seen and not is_led:
        yield needs_somebody(
            "controllers",
            "no controller has ever worked here: nobody watches the clusters, and nothing is placed; does `leeward "
            "serve` run?",
            next=f"kubectl get leases -n {SYSTEM_NAMESPACE}",
        )


def is_of_component(lease: Lease) -> bool:
    """Tells whether a component of the control plane is led by it. Whether an agent works says its Cluster."""
    return lease.name != HEARTBEAT_NAME and not is_lease_of_agent(lease.name)


def is_silent(lease: Lease, now: datetime) -> bool:
    """Tells whether nobody renews it any more; a lease that never was renewed says nothing."""
    patience = timedelta(seconds=LEASES_MISSED * (lease.spec.lease_duration_seconds or 0))
    renewed = lease.spec.renew_time
    return renewed is not None and now - renewed >= max(SHORTEST_SILENCE, patience)


def engaged_brake(observed: Observed) -> Iterator[Finding]:
    if observed.brake is None:
        return
    brake, message = observed.brake.brake, observed.brake.message
    if brake.overruled:
        said = "the brake was released by hand: evictions are allowed until the fleet looks well again"
        yield Finding(Severity.SOON, "brake", said, next="leeward brake status")
    elif brake.engaged:
        said = f"the brake is engaged{since(brake.since, observed.now)}{': ' * bool(message)}"
        yield needs_somebody("brake", f"{said}{message}", next="leeward brake status")
    elif observed.brake.reason == VANISHED:
        yield needs_somebody("brake", f"clusters have vanished: {message}", next="kubectl get clusters")

"""A tick passes: everything that is counted in ticks is older, up to the age from which on it no longer matters."""

from simulator.small.model import GRACE_TICKS, MAINTENANCE, ClusterState, State


def aged(state: State) -> State:
    """All ages a tick more, where they are still asked for."""
    clusters = tuple(map(_older_cluster, state.clusters))
    bindings = tuple(
        b._replace(plan=b.plan._replace(tasks=tuple(t._replace(age=min(GRACE_TICKS, t.age + 1)) for t in b.plan.tasks)))
        if b.plan.tasks
        else b
        for b in state.bindings
    )
    brake = state.brake if state.brake.calm_age is None else state.brake._replace(calm_age=1)
    return State(clusters, bindings, brake)


def _older_cluster(cluster: ClusterState) -> ClusterState:
    seen = cluster.object
    taints = tuple(t._replace(age=1) if t.effect == "NoExecute" and t != MAINTENANCE else t for t in seen.taints)
    outage_age = None if seen.outage_age is None else 1
    return cluster._replace(probed_age=1, object=seen._replace(taints=taints, outage_age=outage_age))

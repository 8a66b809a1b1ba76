"""A DaemonSet: on which nodes it runs, which Pods to create, replace or remove, and its status.

Kubernetes: pkg/controller/daemon. Same, except that Pods are bound to their node at once, without the scheduler, that
nodes which are not ready get none, and that a rolling update does not surge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubeapi.core import Node
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, mapping_at, pick
from kubecluster.rules.fitting import DAEMON_TOLERATIONS, is_node_ready, node_refusal
from kubecluster.rules.pods import deletion_rank, is_active, is_available, is_leaving, is_ready, node_of
from kubecluster.rules.rolling import resolve_unavailable
from kubecluster.rules.templates import REVISION_LABEL, render_pod, revision_of, template_hash, template_of


@dataclass(frozen=True, slots=True)
class Steps:
    """The nodes that get a Pod, and the Pods that go."""

    create: tuple[str, ...]
    delete: tuple[Manifest, ...]


def eligible_nodes(daemon_set: ReadOnlyManifest, nodes: Sequence[Node]) -> tuple[str, ...]:
    """The names of the ready nodes that the template wants and tolerates, sorted."""
    template = template_of(daemon_set)
    fitting = (node for node in nodes if is_node_ready(node) and not node_refusal(template, node, DAEMON_TOLERATIONS))
    return tuple(sorted(node.name for node in fitting))


def decide_steps(
    daemon_set: ReadOnlyManifest, eligible: Sequence[str], pods: Sequence[Manifest], now: datetime
) -> Steps:
    """One Pod for each eligible node; a Pod that is on its way out keeps its node occupied."""
    by_node = _by_node(pods)
    create = tuple(node for node in eligible if node not in by_node)
    surplus = [pod for node, there in by_node.items() for pod in there[1 if node in eligible else 0 :]]
    surplus += [there[0] for node, there in by_node.items() if node in eligible and not is_active(there[0])]
    kept = {node: there[0] for node, there in by_node.items() if node in eligible and is_active(there[0])}
    outdated = _decide_update(daemon_set, eligible, kept, now)
    return Steps(create, tuple(pod for pod in (*surplus, *outdated) if not is_leaving(pod)))


def _by_node(pods: Sequence[Manifest]) -> dict[str, list[Manifest]]:
    """The Pods on each node, the one to keep first."""
    by_node: dict[str, list[Manifest]] = {}
    for pod in sorted(pods, key=lambda pod: (is_active(pod), deletion_rank(pod)), reverse=True):
        by_node.setdefault(node_of(pod), []).append(pod)
    return by_node


def _decide_update(
    daemon_set: ReadOnlyManifest, eligible: Sequence[str], kept: Mapping[str, Manifest], now: datetime
) -> Sequence[Manifest]:
    """Pods of another revision: all that are not available, and others as far as maxUnavailable allows."""
    strategy = mapping_at(daemon_set, "spec", "updateStrategy")
    if strategy.get("type") == "OnDelete":
        return ()
    revision, seconds = template_hash(template_of(daemon_set)), int_at(daemon_set, "spec", "minReadySeconds")
    available = {node for node, pod in kept.items() if is_available(pod, seconds, now)}
    allowed = resolve_unavailable(len(eligible), mapping_at(strategy, "rollingUpdate").get("maxUnavailable", 1))
    budget = max(0, max(1, allowed) - (len(eligible) - len(available)))
    outdated = [node for node in sorted(kept) if revision_of(kept[node]) != revision]
    broken = [node for node in outdated if node not in available]
    working = [node for node in outdated if node in available]
    return [kept[node] for node in (*broken, *working[:budget])]


def render_daemon_pod(daemon_set: ReadOnlyManifest, node: str) -> Manifest:
    pod = render_pod(daemon_set, {REVISION_LABEL: template_hash(template_of(daemon_set))})
    tolerations = [*pod["spec"].get("tolerations", ()), *DAEMON_TOLERATIONS]
    pod["spec"] = {**pod["spec"], "nodeName": node, "tolerations": tolerations}
    return pod


def daemon_set_status(
    daemon_set: ReadOnlyManifest, eligible: Sequence[str], pods: Sequence[Manifest], now: datetime
) -> Manifest:
    revision, seconds = template_hash(template_of(daemon_set)), int_at(daemon_set, "spec", "minReadySeconds")
    active = {node_of(pod): pod for pod in sorted(pods, key=deletion_rank) if is_active(pod)}
    scheduled = [active[node] for node in eligible if node in active]
    available = sum(is_available(pod, seconds, now) for pod in scheduled)
    counts = {
        "updatedNumberScheduled": sum(revision_of(pod) == revision for pod in scheduled),
        "numberAvailable": available,
        "numberUnavailable": len(eligible) - available,
    }
    return {
        "currentNumberScheduled": len(scheduled),
        "numberMisscheduled": sum(node not in eligible for node in active),
        "desiredNumberScheduled": len(eligible),
        "numberReady": sum(is_ready(pod) for pod in scheduled),
        "observedGeneration": daemon_set["metadata"]["generation"],
        **pick(counts, counts),
    }

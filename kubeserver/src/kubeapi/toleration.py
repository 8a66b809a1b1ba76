"""Taints against tolerations: what keeps a copy out of a cluster, or a Pod off a node.

Shared by scheduling (plug-in TaintToleration), by evictions, and by the nodes of local members; it needs no array, so
that commands which only look at taints start at once. Kubernetes: pkg/apis/core/v1/toleration.go; same.
"""

from collections.abc import Iterable, Sequence

from kubeapi.core import Taint, Toleration

BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Tells whether a toleration fits a taint. Empty effect: all effects; empty key: all keys; operators other than
    Equal ("") and Exists never match."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def untolerated_taint(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], effects: Sequence[str] = BLOCKING_EFFECTS
) -> Taint | None:
    """The first taint with one of these effects that no toleration matches."""
    relevant = (taint for taint in taints if taint.effect in effects)
    return next((taint for taint in relevant if not any(tolerates(t, taint) for t in tolerations)), None)

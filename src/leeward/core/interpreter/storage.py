"""PersistentVolume and PersistentVolumeClaim."""

from collections.abc import Sequence

from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.fields import drop, statuses, take, text_at
from leeward.core.interpreter.rules import Rules, Status

_VOLUME_WORST_FIRST = ("Failed", "Pending", "Available", "Bound", "Released")
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def _aggregate_volume(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status | None:
    """The worst phase; a cluster without report counts as Pending."""
    reported = statuses(items)
    phases = {text_at(status, "phase") for status in reported}
    if len(reported) < len(items):
        phases.add("Pending")
    phase = next((worst for worst in _VOLUME_WORST_FIRST if worst in phases), "")
    return {"phase": phase} if phase else {}


def _aggregate_claim(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Bound when all are; Lost when one is."""
    phases = [phase for status in statuses(items) if (phase := text_at(status, "phase")) != "Bound"]
    if "Lost" in phases:
        return {"phase": "Lost"}
    phase = phases[-1] if phases else "Bound"
    return {"phase": phase} if phase else {}


def _retain_volume(desired: Manifest, observed: ReadOnlyManifest) -> None:
    take(desired, observed, "spec", "claimRef")


def _retain_claim(desired: Manifest, observed: ReadOnlyManifest) -> None:
    take(desired, observed, "spec", "volumeName")


def _prune_claim(manifest: Manifest) -> None:
    """The node is one of the control plane's own cluster."""
    drop(manifest, "metadata", "annotations", _SELECTED_NODE)


PERSISTENT_VOLUME = Rules(aggregate=_aggregate_volume, retain=_retain_volume)
PERSISTENT_VOLUME_CLAIM = Rules(
    is_healthy=lambda manifest: text_at(manifest, "status", "phase") == "Bound",
    aggregate=_aggregate_claim,
    retain=_retain_claim,
    prune=_prune_claim,
)

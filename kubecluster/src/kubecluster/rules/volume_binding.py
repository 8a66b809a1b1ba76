"""Claims and the volumes that they are bound to: which volume fits, when one is made, and the status of both.

A claim is bound to the smallest volume that fits; where there is none, the provisioner of a simulated cluster makes
one, if the claim's StorageClass is one of its own. With `WaitForFirstConsumer` it waits until the scheduler has chosen
a node for a Pod that uses the claim.

Kubernetes: pkg/controller/volume/persistentvolume; same phases and events. Left out: protection of what is in use,
growing, snapshots, and volumes that can be reached from some nodes only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kubeapi.codec import from_wire
from kubeapi.meta import LabelSelector, Manifest, ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.selectors import matches, selector_of
from kubeapi.unstructured import list_at, mapping_at, text_at

PROVISIONER = "leeward.dev/simulated"
DEFAULT_CLASS = "standard"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"


class ClaimStep(Enum):
    """Next step for a claim that has no volume."""

    BIND = "a volume fits"
    PROVISION = "a volume is made"
    WAIT = "a volume has to come from somebody else"


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """`volume` is the one that fits; `reason` and `message` are the event of a claim that waits."""

    step: ClaimStep
    volume: Manifest | None = None
    reason: str = ""
    message: str = ""


def default_storage_class() -> Manifest:
    """Serves every claim at once, also one that no Pod uses yet."""
    return {
        "metadata": {"name": DEFAULT_CLASS, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
    }


def decide_claim(
    claim: ReadOnlyManifest, volumes: Iterable[Manifest], storage_class: ReadOnlyManifest | None
) -> ClaimDecision:
    """`storage_class` is the one that the claim names; None when there is none of that name."""
    if waits_for_consumer(storage_class) and SELECTED_NODE not in mapping_at(claim, "metadata", "annotations"):
        message = "waiting for first consumer to be created before binding"
        return ClaimDecision(ClaimStep.WAIT, None, "WaitForFirstConsumer", message)
    fitting = sorted((v for v in volumes if _fits(v, claim)), key=lambda v: (_capacity(v), v["metadata"]["name"]))
    if fitting:
        return ClaimDecision(ClaimStep.BIND, fitting[0])
    name = class_name(claim)
    if not name:
        message = "no persistent volumes available for this claim and no storage class is set"
        return ClaimDecision(ClaimStep.WAIT, None, "FailedBinding", message)
    if storage_class is None:
        message = f'storageclass.storage.k8s.io "{name}" not found'
        return ClaimDecision(ClaimStep.WAIT, None, "ProvisioningFailed", message)
    if storage_class.get("provisioner") == PROVISIONER:
        return ClaimDecision(ClaimStep.PROVISION)
    message = f"Waiting for a volume to be created by the external provisioner '{storage_class.get('provisioner', '')}'"
    return ClaimDecision(ClaimStep.WAIT, None, "ExternalProvisioning", message)


def waits_for_consumer(storage_class: ReadOnlyManifest | None) -> bool:
    return text_at(storage_class or {}, "volumeBindingMode") == "WaitForFirstConsumer"


def class_name(claim_or_volume: ReadOnlyManifest) -> str:
    return text_at(claim_or_volume, "spec", "storageClassName")


def is_bound(claim: ReadOnlyManifest) -> bool:
    return text_at(claim, "status", "phase") == "Bound"


def is_claimed_by(volume: ReadOnlyManifest, claim: ReadOnlyManifest) -> bool:
    """A volume may name its claim before that exists: without a uid."""
    reference, metadata = mapping_at(volume, "spec", "claimRef"), claim["metadata"]
    same_name = (reference.get("namespace"), reference.get("name")) == (metadata["namespace"], metadata["name"])
    return same_name and reference.get("uid") in (None, "", metadata["uid"])


def render_volume(claim: ReadOnlyManifest, storage_class: ReadOnlyManifest) -> Manifest:
    """The volume that the provisioner makes for a claim, bound to it from the start."""
    name, spec = f"pvc-{claim['metadata']['uid']}", mapping_at(claim, "spec")
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "accessModes": list(list_at(spec, "accessModes")),
            "capacity": {"storage": mapping_at(spec, "resources", "requests").get("storage", "0")},
            "claimRef": claim_reference(claim),
            "csi": {"driver": PROVISIONER, "volumeHandle": name},
            "persistentVolumeReclaimPolicy": text_at(storage_class, "reclaimPolicy") or "Delete",
            "storageClassName": storage_class["metadata"]["name"],
            "volumeMode": text_at(spec, "volumeMode") or "Filesystem",
        },
    }


def claim_reference(claim: ReadOnlyManifest) -> Manifest:
    metadata = claim["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def bound_claim_status(claim: ReadOnlyManifest, volume: ReadOnlyManifest) -> Manifest:
    """A claim that is bound has all that its volume has."""
    spec = mapping_at(volume, "spec")
    given = {"accessModes": list(list_at(spec, "accessModes")), "capacity": dict(mapping_at(spec, "capacity"))}
    return {**mapping_at(claim, "status"), "phase": "Bound", **given}


def volume_phase(volume: ReadOnlyManifest, claim: ReadOnlyManifest | None) -> str:
    """`claim` is the one that the volume names, where that still exists."""
    reference = mapping_at(volume, "spec", "claimRef")
    if claim is not None:
        return "Bound" if text_at(claim, "spec", "volumeName") == volume["metadata"]["name"] else "Available"
    return "Released" if reference.get("uid") else "Available"


def is_reclaimed(volume: ReadOnlyManifest) -> bool:
    """Tells whether a volume goes with its claim: by its policy, and only if the provisioner has made it."""
    made_by = mapping_at(volume, "metadata", "annotations").get(PROVISIONED_BY)
    return text_at(volume, "spec", "persistentVolumeReclaimPolicy") == "Delete" and made_by == PROVISIONER


def claims_of(pod: ReadOnlyManifest) -> Sequence[str]:
    """The names of the claims that a Pod mounts."""
    volumes = list_at(pod, "spec", "volumes")
    names = (text_at(volume, "persistentVolumeClaim", "claimName") for volume in volumes)
    return [name for name in names if name]


def _fits(volume: ReadOnlyManifest, claim: ReadOnlyManifest) -> bool:
    """A volume that names a claim is for that one only."""
    spec, wanted = mapping_at(volume, "spec"), mapping_at(claim, "spec")
    if spec.get("claimRef"):
        return is_claimed_by(volume, claim)
    if text_at(volume, "status", "phase") not in ("", "Pending", "Available"):
        return False
    modes = set(list_at(spec, "accessModes"))
    volume_modes = [text_at(side, "volumeMode") or "Filesystem" for side in (spec, wanted)]
    return (
        class_name(volume) == class_name(claim)
        and modes >= set(list_at(wanted, "accessModes"))
        and volume_modes[0] == volume_modes[1]
        and _capacity(volume) >= _amount(mapping_at(wanted, "resources", "requests"))
        and _is_selected(volume, wanted.get("selector"))
    )


def _is_selected(volume: ReadOnlyManifest, selector: Any) -> bool:
    wanted = selector_of(from_wire(selector, LabelSelector)) if selector else ()
    return matches(wanted, mapping_at(volume, "metadata", "labels"))


def _capacity(volume: ReadOnlyManifest) -> float:
    return _amount(mapping_at(volume, "spec", "capacity"))


def _amount(amounts: Mapping[str, Any]) -> float:
    """Amount of storage; an unreadable quantity counts as nothing."""
    try:
        return float(parse_quantity(str(amounts.get("storage", "0"))))
    except ValueError:
        return 0.0

"""Columns of what Pods read and write: configuration, and volumes."""

from dataclasses import replace

from kubeapi.meta import ReadOnlyManifest
from kubeserver.kinds.columns import AGE, NAME, at, count, described, field, text
from kubeserver.kinds.kind import Cell, Column

_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _access_modes(path: str) -> Cell:
    """Modes, each once, in the order of the API."""
    return text(lambda m: ",".join(short for mode, short in _SHORT_MODES.items() if mode in at(m, path, ())))


def _phase(volume: ReadOnlyManifest) -> str:
    return "Terminating" if at(volume, "metadata.deletionTimestamp") else at(volume, "status.phase", "")


def _class_name(manifest: ReadOnlyManifest) -> str:
    annotations, name = at(manifest, "metadata.annotations", {}), at(manifest, "metadata.name", "")
    return f"{name} (default)" if any(annotations.get(key) == "true" for key in _DEFAULT_CLASS) else name


CONFIG_MAPS = described(
    "CONFIG_MAPS", Column("Data", text(lambda m: len(at(m, "data", ())) + len(at(m, "binaryData", ())))), AGE
)
SECRETS = described("SECRETS", Column("Type", field("type")), Column("Data", count("data")), AGE)
VOLUMES = described(
    "VOLUMES",
    Column("Capacity", field("spec.capacity.storage", "")),
    Column("Access Modes", _access_modes("spec.accessModes")),
    Column("Reclaim Policy", field("spec.persistentVolumeReclaimPolicy", "")),
    Column("Status", text(_phase)),
    Column(
        "Claim", text(lambda m: "/".join(at(m, f"spec.claimRef.{k}", "") for k in ("namespace", "name")).strip("/"))
    ),
    Column("StorageClass", field("spec.storageClassName", "")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>")),
    Column("Reason", field("status.reason", "")),
    AGE,
    Column("VolumeMode", field("spec.volumeMode", "<unset>"), priority=1),
)
CLAIMS = described(
    "CLAIMS",
    Column("Status", text(_phase)),
    Column("Volume", field("spec.volumeName", "")),
    Column("Capacity", field("status.capacity.storage", "")),
    Column("Access Modes", _access_modes("status.accessModes")),
    Column("StorageClass", field("spec.storageClassName", "")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>")),
    AGE,
    Column("VolumeMode", field("spec.volumeMode", "<unset>"), priority=1),
)
STORAGE_CLASSES = described(
    "STORAGE_CLASSES",
    replace(NAME, cell=text(_class_name)),
    Column("Provisioner", field("provisioner", "")),
    Column("ReclaimPolicy", field("reclaimPolicy", "")),
    Column("VolumeBindingMode", field("volumeBindingMode", "")),
    Column("AllowVolumeExpansion", field("allowVolumeExpansion", False)),
    AGE,
)

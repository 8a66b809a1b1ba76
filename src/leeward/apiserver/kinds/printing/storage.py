"""What Pods read and write: configuration, and volumes."""

from leeward.apiserver.kinds.columns import (
    AGE,
    at,
    count,
    described,
    field,
    text,
)
from leeward.apiserver.kinds.kind import Column

CONFIG_MAPS = described(
    "CONFIG_MAPS", Column("Data", text(lambda m: len(at(m, "data", ())) + len(at(m, "binaryData", ())))), AGE
)
SECRETS = described("SECRETS", Column("Type", field("type")), Column("Data", count("data")), AGE)
VOLUMES = described(
    "VOLUMES",
    Column("Capacity", field("spec.capacity.storage", "")),
    Column("Access Modes", text(lambda m: ",".join(at(m, "spec.accessModes", ())))),
    Column("Reclaim Policy", field("spec.persistentVolumeReclaimPolicy", "")),
    Column("Status", field("status.phase", "")),
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
    Column("Status", field("status.phase", "")),
    Column("Volume", field("spec.volumeName", "")),
    Column("Capacity", field("status.capacity.storage", "")),
    Column("Access Modes", text(lambda m: ",".join(at(m, "status.accessModes", ())))),
    Column("StorageClass", field("spec.storageClassName", "")),
    Column("VolumeAttributesClass", field("spec.volumeAttributesClassName", "<unset>")),
    AGE,
    Column("VolumeMode", field("spec.volumeMode", "<unset>"), priority=1),
)
STORAGE_CLASSES = described(
    "STORAGE_CLASSES",
    Column("Provisioner", field("provisioner", "")),
    Column("ReclaimPolicy", field("reclaimPolicy", "")),
    Column("VolumeBindingMode", field("volumeBindingMode", "")),
    Column("AllowVolumeExpansion", text(lambda m: str(at(m, "allowVolumeExpansion", False)).lower())),
    AGE,
)

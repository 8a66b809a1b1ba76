"""Defaults of the sources of volumes, in Pods and in PersistentVolumes."""

from typing import Any

from kubeserver.values import entries, section

_MODE = {"defaultMode": 420}
_OF_SOURCES: dict[str, dict[str, Any]] = {
    "configMap": _MODE,
    "secret": _MODE,
    "downwardAPI": _MODE,
    "projected": _MODE,
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}
_TOKEN_SECONDS = 3600


def default_sources(volume: dict[str, Any]) -> None:
    """Fills in every source that a volume has; it should have one."""
    for source, defaults in _OF_SOURCES.items():
        if isinstance(volume.get(source), dict):
            volume[source].update({**defaults, **volume[source]})
    _default_fields(section(volume, "downwardAPI"))
    for projection in entries(section(volume, "projected"), "sources"):
        _default_fields(section(projection, "downwardAPI"))
        if isinstance(projection.get("serviceAccountToken"), dict):
            projection["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    template = section(section(volume, "ephemeral"), "volumeClaimTemplate")
    if isinstance(template.get("spec"), dict):
        template["spec"].setdefault("volumeMode", "Filesystem")


def default_field(reference: dict[str, Any]) -> None:
    """A reference to a field of the Pod, which there is in one version."""
    if reference:
        reference.setdefault("apiVersion", "v1")


def _default_fields(source: dict[str, Any]) -> None:
    for item in entries(source, "items"):
        default_field(section(item, "fieldRef"))

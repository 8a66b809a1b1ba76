"""Owner that controls an object: its ownerReference with `controller: true`."""

from collections.abc import Mapping
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import list_at, text_at


def controller_of(manifest: ReadOnlyManifest) -> Mapping[str, Any] | None:
    references = list_at(manifest, "metadata", "ownerReferences")
    return next((reference for reference in references if reference.get("controller")), None)


def controller_uid(manifest: ReadOnlyManifest) -> str | None:
    controller = controller_of(manifest)
    return text_at(controller, "uid") if controller else None


def is_controlled_by(manifest: ReadOnlyManifest, kind: str) -> bool:
    return text_at(controller_of(manifest), "kind") == kind


def owner_reference(owner: ReadOnlyManifest) -> Manifest:
    """Reference that makes `owner` the controller of another object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }

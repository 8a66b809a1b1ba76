"""Telling of stored objects that cannot be read: a warning on each, and how many there are.

Nothing else comes of such an object: what was known of it stays (`controller_runtime/tolerant_reads.py`).
"""

from functools import partial
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.schema import CUSTOM_KINDS
from leeward.core.unreadable_objects import unreadable_object
from leeward.runtime.controller_context import ControlPlane


class UnreadableObjects:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder("unreadable-objects")

    def start(self) -> None:
        informers = self._plane.informers
        for kind in (each.resource.kind for each in CUSTOM_KINDS):
            self._plane.metrics.resilience.unreadable.labels(kind).set_function(partial(informers.unread_count, kind))
        informers.on_unread(self._tell)

    def _tell(self, resource: Resource[Any], manifest: Manifest) -> None:
        found = unreadable_object(manifest, resource)
        if found is not None:
            self._recorder.warning(resource, manifest, "CannotBeRead", f"{found.reason} ({found.next})")

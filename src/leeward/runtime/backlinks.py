"""Backlinks from an object in a member cluster to the Work that applied it."""

from collections.abc import Callable
from typing import Any

from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from leeward.api.names import WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION
from leeward.core.execution.ownership import other_hub
from leeward.runtime.informer import Informer
from leeward.runtime.plane import Member


class Backlinks:
    """Adds the name of a Work of `space` whenever an object that it applied is changed or deleted by whomever.

    What another control plane than `hub` does to objects of its own is not looked at.
    """

    def __init__(self, member: Member, space: str, add: Callable[[str], None], hub: Callable[[], str]) -> None:
        self._member = member
        self._space = space
        self._add = add
        self._hub = hub
        self._followed: set[str] = set()

    def follow(self, resource: Resource[Manifest]) -> Informer[Any]:
        """The informer of a kind, which is followed from now on."""
        informer = self._member.server.informers.of(resource)
        if resource.group_resource not in self._followed:
            self._followed.add(resource.group_resource)
            informer.on_change(self._object_changed)
        return informer

    def _object_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        if old is not None and new is not None and other_hub(old, self._hub()) and other_hub(new, self._hub()):
            return
        for observed in (old, new):
            annotations = {} if observed is None else annotations_of(observed)
            if annotations.get(WORK_NAMESPACE_ANNOTATION) == self._space and WORK_NAME_ANNOTATION in annotations:
                self._add(annotations[WORK_NAME_ANNOTATION])

"""Index of owners: of an object in a member cluster the Work that applied it."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from controller_runtime import Informer, Key, key_of
from kubeapi.meta import Manifest, annotations_of
from kubeapi.resource import Resource
from kubeclient import Unreachable, WorldError
from leeward.api.names import WORK_NAME_ANNOTATION, WORK_NAMESPACE_ANNOTATION
from leeward.api.work import Work
from leeward.core.execution.ownership import other_hub
from leeward.core.execution.retain import only_reports
from leeward.runtime.controller_context import Member

LookAt = Callable[[str, bool], None]
"""Takes the name of a Work, and whether its object is new: nothing was known of it before."""


class OwnerIndex:
    """Adds the name of a Work of `space` whenever an object that it applied is changed or deleted by whomever.

    What another control plane than `hub` does to objects of its own is not looked at; nor a change of nothing but what
    an object reports of itself, unless the Work `reads_reports`. `find_resting` gives a Work by its name, if nothing is
    left to do for it as far as is known.
    """

    def __init__(
        self,
        member: Member,
        space: str,
        look_at: LookAt,
        hub: Callable[[], str],
        reads_reports: Callable[[str], bool],
        find_resting: Callable[[str], Work | None],
    ) -> None:
        self._member = member
        self._space = space
        self._look_at = look_at
        self._hub = hub
        self._reads_reports = reads_reports
        self._find_resting = find_resting
        self._followed: dict[str, Informer[Any]] = {}
        self._unlisted: set[str] = set()
        """Kinds whose list was waited for in vain: what a member does not list is waited for once."""
        self._held: dict[tuple[str, Key], set[str]] = {}
        """Names that are held back, by the object that is being written."""

    def follow(self, resource: Resource[Manifest]) -> Informer[Any]:
        """The informer of a kind, which is followed from now on."""
        informer = self._member.server.informers.of(resource)
        if resource.group_resource not in self._followed:
            self._followed[resource.group_resource] = informer
            informer.on_change(partial(self._object_changed, resource.group_resource))
        return informer

    async def wait_listed(self, name: str) -> None:
        """Waits, for a limited time, for the first list of the kinds of a Work at rest: without it each object is read
        by a request of its own. To be called before the Work is read, since it may change meanwhile."""
        if self._followed and all(informer.synced for informer in self._followed.values()):
            return
        work = self._find_resting(name)
        for manifest in work.objects if work is not None else ():
            with suppress(WorldError):
                resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
                await self._wait_synced(resource.group_resource, self.follow(resource))

    async def _wait_synced(self, kind: str, informer: Informer[Any]) -> None:
        """Raises: Unreachable."""
        if kind in self._unlisted and informer.is_failing:
            return
        try:
            await informer.wait_synced()
        except Unreachable:
            self._unlisted.update((kind,) if informer.is_failing else ())
            raise

    @contextmanager
    def holding(self, resource: Resource[Manifest], key: Key) -> Generator[set[str]]:
        """Holds back what is told of an object while it is written: gives the names, of which whoever writes it adds
        those that are to be looked at. All are when that fails."""
        place = resource.group_resource, key
        names = self._held.setdefault(place, set())
        try:
            yield names
        except BaseException:
            self.add(names)
            raise
        finally:
            self._held.pop(place, None)

    def add(self, names: Iterable[str]) -> None:
        """Has these Works looked at."""
        for name in sorted(names):
            self._look_at(name, False)

    def _object_changed(self, group_resource: str, old: Manifest | None, new: Manifest | None) -> None:
        is_report = False
        if old is not None and new is not None:
            if other_hub(old, self._hub()) and other_hub(new, self._hub()):
                return
            is_report = only_reports(old, new)
        for observed in (old, new):
            annotations = {} if observed is None else annotations_of(observed)
            if annotations.get(WORK_NAMESPACE_ANNOTATION) == self._space and WORK_NAME_ANNOTATION in annotations:
                name = annotations[WORK_NAME_ANNOTATION]
                held = None if new is None else self._held.get((group_resource, key_of(new)))
                if held is not None:
                    held.add(name)
                elif not is_report or self._reads_reports(name):
                    self._look_at(name, old is None)

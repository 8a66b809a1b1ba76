"""PersistentVolumeClaims in a member that belong to a custom resource there: an operator made them.

Kubernetes deletes them with their owner, and the data with them. The status of the custom resource names them to the
control plane, whose decision keeps the copy where its volumes are (`core.eviction.volumes`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from controller_runtime import keep_latest, key_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.unstructured import mappings_at, text_at
from kubeclient import NotFound, NotServed, WorldError
from leeward.core.interpreter import is_defined
from leeward.runtime.controller_context import Member
from leeward.runtime.discovery import UnknownKind

CLAIMS: Final = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)
MAX_DEPTH = 3
"""Owners between a claim and the custom resource, as a StatefulSet that deletes its claims with itself."""
MAX_NAMED = 20
MAX_OWNERS = 10_000


class OwnedClaims:
    """`look` has a Work of the member looked at, by its name. The member's claims are followed once a custom resource
    has come there, unless the member itself is asked each time (`of_now`)."""

    def __init__(self, member: Member, look: Callable[[str], None] = lambda work: None) -> None:
        self._member = member
        self._look = look
        self._is_following = False
        self._owners: dict[str, tuple[str, str]] = {}
        """Works of the custom resources that were looked at and their namespaces, by uid; the latest are kept."""
        self._between: dict[str, Manifest] = {}
        """Owners of objects between claims and custom resources, by uid; the latest are kept."""

    async def of(self, work: str, observed: Manifest) -> tuple[str, ...] | None:
        """Names of the claims that belong to an object of this Work, in order; none of kinds that Kubernetes has. None
        where the member cannot say."""
        if not is_defined(observed):
            return ()
        self._owners[observed["metadata"]["uid"]] = work, key_of(observed).namespace
        keep_latest(self._owners, MAX_OWNERS)
        informer = self._member.server.informers.of(CLAIMS)
        if not self._is_following:
            self._is_following = True
            informer.on_change(self._claim_changed)
        if not informer.synced:
            return await self.of_now(observed)
        return await self._among(informer.list(key_of(observed).namespace or None), observed)

    async def of_now(self, observed: Manifest) -> tuple[str, ...] | None:
        """Likewise, by asking the member itself."""
        if not (is_defined(observed) or observed["kind"] == "StatefulSet"):
            return ()
        try:
            claims = await self._member.server.client.list(CLAIMS, key_of(observed).namespace)
        except WorldError:
            return None
        return await self._among(claims.items, observed)

    async def _among(self, claims: Iterable[Manifest], observed: Manifest) -> tuple[str, ...] | None:
        try:
            found = [key_of(each).name for each in list(claims) if await self._belongs(each, observed, MAX_DEPTH)]
        except WorldError:
            return None
        return tuple(sorted(found)[:MAX_NAMED])

    async def _belongs(self, owned: Manifest, owner: Manifest, depth: int) -> bool:
        """Tells whether an object belongs to `owner`, also through others in between. Raises: WorldError."""
        references = mappings_at(owned, "metadata", "ownerReferences")
        if any(reference.get("uid") == owner["metadata"]["uid"] for reference in references):
            return True
        between = [await self._known(each, owned) for each in references] if depth else []
        return any([await self._belongs(each, owner, depth - 1) for each in between])

    async def _known(self, reference: Mapping[str, Any], owned: Manifest) -> Manifest:
        """Owners of an owner, which are the same for as long as it is there. Raises: WorldError."""
        uid = text_at(reference, "uid")
        if uid not in self._between:
            found = await self._find(reference, owned)
            references = mappings_at(found, "metadata", "ownerReferences") if found is not None else []
            metadata = {"namespace": key_of(owned).namespace, "name": reference["name"], "ownerReferences": references}
            self._between[uid] = {"metadata": metadata}
            keep_latest(self._between, MAX_OWNERS)
        return self._between[uid]

    async def _find(self, reference: Mapping[str, Any], owned: Manifest) -> Manifest | None:
        try:
            resource = await self._member.server.discovery.resource(reference["apiVersion"], reference["kind"])
            namespace = key_of(owned).namespace if resource.namespaced else ""
            return await self._member.server.client.get(resource, reference["name"], namespace)
        except NotServed:
            raise
        except (UnknownKind, NotFound):
            return None

    def _claim_changed(self, old: Manifest | None, new: Manifest | None) -> None:
        """Has the Works looked at whose object owns a claim that has come or gone."""
        claim = new or old
        if claim is not None and (old is None or new is None):
            for work in sorted(self._works_of(claim, key_of(claim).namespace, MAX_DEPTH)):
                self._look(work)

    def _works_of(self, owned: Manifest, namespace: str, depth: int) -> set[str]:
        """Works whose object owns another one, also through others in between. Where an owner is not known yet, all in
        its namespace: the look makes it known."""
        found = set[str]()
        for reference in mappings_at(owned, "metadata", "ownerReferences"):
            uid = text_at(reference, "uid")
            if (owner := self._owners.get(uid)) is not None:
                found.add(owner[0])
            elif uid not in self._between:
                found |= {work for work, space in self._owners.values() if space in ("", namespace)}
            elif depth:
                found |= self._works_of(self._between[uid], namespace, depth - 1)
        return found

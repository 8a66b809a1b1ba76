"""Contents of an object that others live in, in its member: what its deletion would take along.

    CustomResourceDefinition   its custom resources
    Namespace                  objects in it, but for those that clusters make in each, or that go with their owner
    PersistentVolumeClaim      Pods that mount it
    PersistentVolume           the claim that it is bound to

An order that was found may be as old as a backup, and nobody knows what has come since. Another place for an object is
no order about its contents. Such orders delete it only where it is empty, and no claim whose place has changed. Other
orders about what lives there are carried out before. Holds: S5, S12.
"""

from collections.abc import Callable, Sequence
from typing import Final

from controller_runtime import key_of
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from kubeapi.unstructured import list_at, mappings_at, text_at
from kubeclient import ApiError, NotFound, every
from leeward.api.work import Work
from leeward.controllers.owned_claims import CLAIMS
from leeward.core.execution.held_volumes import KEEPS_CLAIMS_ANNOTATION
from leeward.runtime.controller_context import Member
from leeward.runtime.discovery import Discovery
from leeward.runtime.member_works import MemberWorks

PODS: Final = Resource.of_manifests("v1", "pods", "Pod", True)
METHOD_NOT_ALLOWED = 405
OF_CLUSTERS = frozenset({"Endpoints", "EndpointSlice", "Event", "Lease", "PodMetrics"})
"""Kinds that a cluster writes itself about what is in a namespace."""
IN_EACH_NAMESPACE = frozenset({"default", "kube-root-ca.crt", "istio-ca-root-cert", "openshift-service-ca.crt"})
"""Names of ServiceAccounts and ConfigMaps that are in every namespace."""


class SharedContents:
    def __init__(self, member: Member, works: MemberWorks) -> None:
        self._member, self._works = member, works

    def goes_first(self, work: Work, shared: ReadOnlyManifest) -> bool:
        """Tells whether an order is under way for something that lives in the object."""
        going = (each for each in self._works.going() if each.name != work.name)
        return any(_is_in(manifest, shared) for each in going for manifest in each.objects)

    async def kept_by(self, work: Work, shared: ReadOnlyManifest, *, found: bool) -> str:
        """Says why the object stays; empty where it goes. Its place has changed where its Work says so, and the order
        was `found` otherwise. Raises: WorldError."""
        is_moved = KEEPS_CLAIMS_ANNOTATION in work.metadata.annotations
        if is_moved and shared["kind"] == CLAIMS.kind:
            return "its data would be lost"
        first = await self.first_of(shared) if is_moved or found else ""
        return f"{first} lives in it" if first else ""

    async def first_of(self, shared: ReadOnlyManifest) -> str:
        """Names something that lives in the object, or may; empty where nothing does. Raises: WorldError."""
        server = self._member.server
        places = await _content_places(server.discovery, shared)
        kinds = {(resource.api_version.rpartition("/")[0], resource.kind) for resource, _ in places}

        def goes_along(owner: ReadOnlyManifest) -> bool:
            return (text_at(owner, "apiVersion").rpartition("/")[0], text_at(owner, "kind")) in kinds

        for resource, namespace in places:
            try:
                async for each in every(server.client, resource, namespace):
                    if _lives_in(each, resource.kind, shared, goes_along):
                        return f"{resource.kind} {key_of(each)}"
            except NotFound:
                continue
            except ApiError as error:
                if error.code != METHOD_NOT_ALLOWED:
                    return f"{resource.plural} that cannot be listed: {error}"
        return ""


def _is_in(manifest: ReadOnlyManifest, shared: ReadOnlyManifest) -> bool:
    """Tells whether a manifest is of something that lives in the object; not of Pods, which end by themselves."""
    match shared["kind"]:
        case "Namespace":
            return text_at(manifest, "metadata", "namespace") == text_at(shared, "metadata", "name")
        case "CustomResourceDefinition":
            group = text_at(manifest, "apiVersion").rpartition("/")[0]
            named = text_at(shared, "spec", "group"), text_at(shared, "spec", "names", "kind")
            return (group, manifest["kind"]) == named
        case "PersistentVolume":
            return manifest["kind"] == CLAIMS.kind and _is_bound(shared, manifest)
        case _:
            return False


async def _content_places(discovery: Discovery, shared: ReadOnlyManifest) -> Sequence[tuple[Resource[Manifest], str]]:
    """Resources, and the namespace of each, among which contents of the object are. Raises: WorldError."""
    match shared["kind"]:
        case "Namespace":
            enablements = (await discovery.offer()).enablements
            kinds = {(each.group_version, resource.kind) for each in enablements for resource in each.resources}
            found = [await discovery.resource(*each) for each in sorted(kinds)]
            return [(each, text_at(shared, "metadata", "name")) for each in found if each.namespaced]
        case "CustomResourceDefinition":
            group, kind = text_at(shared, "spec", "group"), text_at(shared, "spec", "names", "kind")
            served = (each for each in mappings_at(shared, "spec", "versions") if each.get("served"))
            return [(await discovery.resource(f"{group}/{each['name']}", kind), "") for each in served][:1]
        case "PersistentVolume":
            return [(CLAIMS, text_at(shared, "spec", "claimRef", "namespace"))]
        case _:
            return [(PODS, text_at(shared, "metadata", "namespace"))]


def _lives_in(
    each: Manifest, kind: str, shared: ReadOnlyManifest, goes_along: Callable[[ReadOnlyManifest], bool]
) -> bool:
    if "deletionTimestamp" in each["metadata"]:
        return False
    match shared["kind"]:
        case "Namespace":
            is_of_cluster = kind in OF_CLUSTERS or key_of(each).name in IN_EACH_NAMESPACE
            is_token = text_at(each, "type") == "kubernetes.io/service-account-token"
            owners = mappings_at(each, "metadata", "ownerReferences")
            return not (is_of_cluster or is_token or any(map(goes_along, owners)))
        case "PersistentVolumeClaim":
            volumes = list_at(each, "spec", "volumes")
            return key_of(shared).name in [text_at(one, "persistentVolumeClaim", "claimName") for one in volumes]
        case "PersistentVolume":
            return _is_bound(shared, each)
        case _:
            return True


def _is_bound(volume: ReadOnlyManifest, claim: ReadOnlyManifest) -> bool:
    bound = (text_at(volume, "spec", "claimRef", field) for field in ("namespace", "name"))
    return tuple(bound) == key_of(claim)

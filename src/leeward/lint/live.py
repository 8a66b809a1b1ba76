"""Reads the templates of a control plane, with GETs only: of the kinds that policies select, and what is beside them.

Of ConfigMaps and Secrets only the metadata is asked for. What cannot be read is named, and never taken for absent.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from kubeapi.codec import decode_any
from kubeapi.errors import error_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from kubeclient import Client, Unreachable, WorldError
from leeward.answers.fleet_state import FleetState
from leeward.lint.objects import LintObject
from leeward.runtime.discovery import Discovery, UnknownKind

PAGE = 500
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
WITHOUT_CONTENTS = frozenset({("v1", "ConfigMap"), ("v1", "Secret")})
BESIDE = (
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy.karmada.io/v1alpha1", "OverridePolicy"),
    ("policy.karmada.io/v1alpha1", "ClusterOverridePolicy"),
    ("policy.karmada.io/v1alpha1", "FederatedResourceQuota"),
    ("config.karmada.io/v1alpha1", "ResourceInterpreterCustomization"),
    ("config.karmada.io/v1alpha1", "ResourceInterpreterWebhookConfiguration"),
)
"""Kinds that rules look at whether a policy selects them or not."""


async def read_objects(client: Client, state: FleetState) -> tuple[list[LintObject], list[str]]:
    """The objects, and what could not be read, with the reason. Raises: Unreachable where nobody answers any more."""
    discovery, found, unseen = Discovery(client), list[LintObject](), list[str]()
    for api_version, kind in sorted({*_selected_kinds(state), *BESIDE}):
        try:
            resource = await discovery.resource(api_version, kind)
            found += [_object(each, api_version, kind) for each in await _all(client, resource)]
        except UnknownKind:
            continue
        except Unreachable:
            raise
        except WorldError as error:
            unseen.append(f"objects of kind {kind}: {error}")
    return found, unseen


def _selected_kinds(state: FleetState) -> Iterator[tuple[str, str]]:
    policies = (*state.recorded.policies, *state.recorded.cluster_policies)
    for policy in policies:
        yield from ((selector.api_version, selector.kind) for selector in policy.spec.resource_selectors)


async def _all(client: Client, resource: Resource[Manifest]) -> Iterable[Manifest]:
    """Raises: WorldError."""
    found, token = list[Manifest](), ""
    is_partial = (resource.api_version, resource.kind) in WITHOUT_CONTENTS
    asking = partial(client.raw, "GET", resource.path(""), accept=METADATA if is_partial else "application/json")
    while True:
        response = await asking(query={"limit": str(PAGE), **({"continue": token} if token else {})})
        if response.code >= 400:
            raise error_of(response.code, response.body)
        page: Manifest = decode_any(response.body)
        found += mappings_in(page, "items")
        token = text_in(mapping_in(page, "metadata"), "continue")
        if not token:
            return found


def _object(manifest: Manifest, api_version: str, kind: str) -> LintObject:
    return LintObject(
        {**manifest, "apiVersion": api_version, "kind": kind}, has_contents=(api_version, kind) not in WITHOUT_CONTENTS
    )

"""Objects of a rendering: read from a control plane with GETs only, and from manifests that stand in for them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kubeapi.codec import from_wire
from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in, text_in
from kubeclient import Client, NotFound, all_of
from leeward.answers.fleet_state import BindingName
from leeward.answers.rendered_copies import Application
from leeward.answers.subjects import AskedOf, SubjectKind, no_binding
from leeward.api.cluster import Cluster
from leeward.api.names import binding_name, execution_space
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    OVERRIDE_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding, Work
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.overrides.override_rule import AnyOverridePolicy
from leeward.operations import OperationFailed
from leeward.runtime.discovery import Discovery, UnknownKind

T = TypeVar("T")

_TYPES: Mapping[
    tuple[str, str], type[Cluster | OverridePolicy | ClusterOverridePolicy | ResourceBinding | ClusterResourceBinding]
] = {
    ("cluster.karmada.io", "Cluster"): Cluster,
    ("policy.karmada.io", "OverridePolicy"): OverridePolicy,
    ("policy.karmada.io", "ClusterOverridePolicy"): ClusterOverridePolicy,
    ("work.karmada.io", "ResourceBinding"): ResourceBinding,
    ("work.karmada.io", "ClusterResourceBinding"): ClusterResourceBinding,
}
"""Kinds that a rendering reads, by group and kind. Manifests of any other kind are templates."""


@dataclass
class Given:
    """Manifests of files. Each stands in for the object of its name."""

    templates: dict[BindingName, Manifest] = field(default_factory=dict[BindingName, Manifest])
    """Templates by the name that their binding has or would have."""
    bindings: dict[BindingName, Binding] = field(default_factory=dict[BindingName, Binding])
    clusters: dict[str, Cluster] = field(default_factory=dict[str, Cluster])
    policies: dict[tuple[str, str], AnyOverridePolicy] = field(default_factory=dict[tuple[str, str], AnyOverridePolicy])
    """Override policies by namespace and name; ClusterOverridePolicies have no namespace."""


def given_in(manifests: Iterable[Manifest]) -> Given:
    """Raises: DecodeError that names the field."""
    given = Given()
    for manifest in manifests:
        group, kind = text_in(manifest, "apiVersion").rpartition("/")[0], text_in(manifest, "kind")
        metadata = mapping_in(manifest, "metadata")
        namespace, name = text_in(metadata, "namespace"), text_in(metadata, "name")
        read = from_wire(manifest, _TYPES[group, kind]) if (group, kind) in _TYPES else None
        match read:
            case Cluster() as cluster:
                given.clusters[name] = cluster
            case (OverridePolicy() | ClusterOverridePolicy()) as policy:
                given.policies[namespace, name] = policy
            case (ResourceBinding() | ClusterResourceBinding()) as binding:
                given.bindings[BindingName(namespace, name)] = binding
            case _:
                given.templates[BindingName(namespace, binding_name(kind, name))] = manifest
    return given


def application_of(given: Given, asked: AskedOf) -> Application:
    """The application in manifests alone. Raises: OperationFailed."""
    _require_application(asked)
    template = _of(given.templates, asked)
    if template is None:
        raise OperationFailed(f"{asked.text} is in none of the files (-n chooses another namespace)")
    return Application(template, given.clusters, _of(given.bindings, asked), _policies(given, {}, template))


async def read_application(client: Client, given: Given, asked: AskedOf) -> Application:
    """The application on a control plane, as if the manifests were applied to it.

    Raises: OperationFailed, WorldError."""
    _require_application(asked)
    binding = _of(given.bindings, asked) or await _binding(client, asked)
    template = _of(given.templates, asked)
    if template is None:
        if binding is None:
            raise no_binding(asked)
        template = await _template(client, binding)
    listed = {each.name: each for each in await all_of(client, CLUSTERS)}
    namespace = text_in(mapping_in(template, "metadata"), "namespace")
    policies: list[AnyOverridePolicy] = [*await all_of(client, CLUSTER_OVERRIDE_POLICIES)]
    if namespace:
        policies += await all_of(client, OVERRIDE_POLICIES, namespace)
    return Application(
        template,
        listed | given.clusters,
        binding,
        _policies(given, {(each.namespace, each.name): each for each in policies}, template),
        await _works(client, binding) if binding is not None else {},
    )


def _require_application(asked: AskedOf) -> None:
    """Raises: OperationFailed."""
    if asked.kind in (SubjectKind.CLUSTER, SubjectKind.WORK):
        raise OperationFailed(f"{asked.text} is rendered for no cluster: name an application, as deploy/web")


def _of(known: Mapping[BindingName, T], asked: AskedOf) -> T | None:
    return next((known[key] for key in asked.bindings if key in known), None)


def _policies(
    given: Given, present: Mapping[tuple[str, str], AnyOverridePolicy], template: Manifest
) -> tuple[AnyOverridePolicy, ...]:
    """Override policies of all namespaces that the template is in."""
    spaces = ("", text_in(mapping_in(template, "metadata"), "namespace"))
    return tuple(policy for (space, _), policy in sorted({**present, **given.policies}.items()) if space in spaces)


async def _binding(client: Client, asked: AskedOf) -> Binding | None:
    for key in asked.bindings:
        try:
            if key.namespace:
                return await client.get(RESOURCE_BINDINGS, key.name, key.namespace)
            return await client.get(CLUSTER_RESOURCE_BINDINGS, key.name)
        except NotFound:
            continue
    return None


async def _template(client: Client, binding: Binding) -> Manifest:
    """Raises: OperationFailed where it is not there."""
    of = binding.spec.resource
    try:
        resource = await Discovery(client).resource(of.api_version, of.kind)
        return await client.get(resource, of.name, of.namespace)
    except (UnknownKind, NotFound) as error:
        raise OperationFailed(f"the template of {binding.name} is not there: {error}") from error


async def _works(client: Client, binding: Binding) -> dict[str, Work]:
    found = dict[str, Work]()
    for cluster in replicas_by_cluster(binding.spec):
        try:
            found[cluster] = await client.get(WORKS, name_of_works(binding), execution_space(cluster))
        except NotFound:
            continue
    return found

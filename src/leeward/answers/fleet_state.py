"""FleetState: a frozen picture of a control plane, from which all answers follow; and its file.

It holds what decisions are made on, and what they have led to: clusters, policies, bindings, Works with what members
report, the brake, and who watches. Secrets, and what applications say of themselves, are left out (`redaction`).
`decode_state(encode_state(state))` is `state`.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import msgspec

from kubeapi.codec import decode, encode
from kubeapi.meta import Manifest, Object
from kubeapi.quantity import Quantity
from leeward.answers.expected_reports import has_waiting
from leeward.api.cluster import Cluster
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_BINDING_NAME_ANNOTATION,
    EXECUTION_SPACE_PREFIX,
    cluster_of_execution_space,
)
from leeward.api.outage import ClusterOutage
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding, ResourceBindingSpec, Work
from leeward.core.cluster_health.brake import Brake
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.dependencies.held_claims import dependants_of_claim, held_claims
from leeward.core.scheduling.claim_locality import HeldClaims
from leeward.core.settings_in_force import SettingsInForce

API_VERSION, KIND = "leeward.dev/v1alpha1", "FleetState"


class BindingName(NamedTuple):
    """The namespace is empty for a ClusterResourceBinding."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class TemplateMetadata(Object, frozen=True):
    """Part of a resource template that policies look at."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    labels: Mapping[str, str] = {}

    def as_manifest(self) -> Manifest:
        """The template as far as selectors see it."""
        metadata = {"name": self.name, "namespace": self.namespace, "labels": dict(self.labels)}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}


class NeededObject(Object, frozen=True):
    kind: str
    name: str
    namespace: str = ""


class TemplateNeeds(Object, frozen=True):
    """Objects that the template of a binding names: ConfigMaps, Secrets, claims and accounts, by name."""

    name: str
    namespace: str = ""
    objects: tuple[NeededObject, ...] = ()


class RecordedFleet(Object, frozen=True):
    """The file's layout. `unseen` says what could not be read, and why; an answer that needs it is not given.

    `unwatched_since`: since when nobody watches the clusters, so that what is told of them is of then.
    """

    api_version: str
    kind: str
    control_plane: str
    as_of: datetime
    clusters: tuple[Cluster, ...] = ()
    policies: tuple[PropagationPolicy, ...] = ()
    cluster_policies: tuple[ClusterPropagationPolicy, ...] = ()
    bindings: tuple[ResourceBinding, ...] = ()
    cluster_bindings: tuple[ClusterResourceBinding, ...] = ()
    works: tuple[Work, ...] = ()
    templates: tuple[TemplateMetadata, ...] = ()
    outages: tuple[ClusterOutage, ...] = ()
    needs: tuple[TemplateNeeds, ...] = ()
    brake: Brake = Brake()
    attention: Attention = UNKEPT
    unwatched_since: datetime | None = None
    settings: SettingsInForce = SettingsInForce()
    unseen: tuple[str, ...] = ()


class FleetState:
    """A picture at one instant, with ways to look things up in it. Never changes."""

    def __init__(self, recorded: RecordedFleet) -> None:
        self.recorded = recorded

    @property
    def control_plane(self) -> str:
        return self.recorded.control_plane

    @property
    def as_of(self) -> datetime:
        return self.recorded.as_of

    @property
    def settings(self) -> SettingsInForce:
        return self.recorded.settings

    @cached_property
    def clusters(self) -> Mapping[str, Cluster]:
        return {cluster.name: cluster for cluster in self.recorded.clusters}

    @cached_property
    def crowded(self) -> frozenset[str]:
        """Clusters in which Pods wait for a node, as far as their reports can be read."""
        return frozenset(name for name, cluster in self.clusters.items() if _is_crowded(cluster))

    @cached_property
    def bindings(self) -> Mapping[BindingName, Binding]:
        return {key_of_binding(binding): binding for binding in _all_bindings(self.recorded)}

    @cached_property
    def templates(self) -> Mapping[tuple[str, str, str, str], TemplateMetadata]:
        """Templates by apiVersion, kind, namespace and name."""
        return {(t.api_version, t.kind, t.namespace, t.name): t for t in self.recorded.templates}

    @cached_property
    def _works(self) -> Mapping[BindingName, Mapping[str, Work]]:
        works: dict[BindingName, dict[str, Work]] = defaultdict(dict)
        for work in self.recorded.works:
            key = binding_of_work(work)
            if key is not None:
                works[key][cluster_of_execution_space(work.namespace)] = work
        return works

    @cached_property
    def _keys(self) -> Mapping[str, Sequence[BindingName]]:
        keys: dict[str, list[BindingName]] = defaultdict(list)
        for key, binding in self.bindings.items():
            for name in dict.fromkeys(clusters_of(binding.spec)):
                keys[name].append(key)
        return keys

    def bindings_in(self, cluster: str) -> Sequence[BindingName]:
        """The bindings that are assigned to the cluster, or on their way out of it."""
        return self._keys.get(cluster, ())

    def requests_in(self, cluster: str) -> Iterator[Mapping[str, Quantity]]:
        """Requests of replicas that are assigned to the cluster; each request once."""
        asked = (self.bindings[key].spec.replica_requirements for key in self.bindings_in(cluster))
        found = {tuple(each.resource_request.items()): each.resource_request for each in asked if each is not None}
        yield from found.values()

    @cached_property
    def coming(self) -> Sequence[tuple[Binding, ResourceBindingSpec]]:
        """Bindings with copies that are on their way: placed, and not applied yet; and their specs without these.

        By their Works, or by what they say of them, where none was read."""
        found = ((binding, spec_there(binding, self.works_of(key))) for key, binding in self.bindings.items())
        return [(binding, there) for binding, there in found if there is not None]

    def works_of(self, key: BindingName) -> Mapping[str, Work]:
        """The Works of a binding, by cluster."""
        return self._works.get(key, {})

    def held_claims(self, binding: Binding) -> HeldClaims:
        """The clusters that hold each claim which its template names."""
        return held_claims(
            binding,
            lambda: self._claims.get((binding.namespace, binding.name), ()),
            lambda name: self.bindings.get(BindingName(binding.namespace, name)),
            lambda name: self.works_of(BindingName(binding.namespace, name)),
        )

    @cached_property
    def _claims(self) -> Mapping[tuple[str, str], Sequence[ResourceBinding]]:
        """Bindings of claims, by the binding that needs them."""
        found: dict[tuple[str, str], list[ResourceBinding]] = defaultdict(list)
        for claim in self.recorded.bindings:
            for dependant in dependants_of_claim(claim):
                found[dependant].append(claim)
        return found

    def template_of(self, binding: Binding) -> TemplateMetadata:
        """Template of the binding, without labels where it could not be seen."""
        found = binding.spec.resource
        key = found.api_version, found.kind, found.namespace, found.name
        return self.templates.get(key) or TemplateMetadata(
            api_version=found.api_version, kind=found.kind, name=found.name, namespace=found.namespace
        )


def spec_there(binding: Binding, works: Mapping[str, Work]) -> ResourceBindingSpec | None:
    """Spec of the binding without copies that are on their way, see `FleetState.coming`; None where there are none."""
    if not binding.spec.is_workload:
        return None
    items = {item.cluster_name: item.applied for item in binding.status.aggregated_status}
    told = {name: _is_applied(work) for name, work in works.items()} if works else items
    there = tuple(target for target in binding.spec.clusters if told.get(target.name))
    is_whole = len(there) == len(binding.spec.clusters)
    return None if is_whole else msgspec.structs.replace(binding.spec, clusters=there)


def _is_applied(work: Work | None) -> bool:
    applied = None if work is None else work.applied
    return applied is not None and applied.status == "True"


def key_of_binding(binding: Binding) -> BindingName:
    return BindingName(binding.namespace, binding.name)


def binding_of_work(work: Work) -> BindingName | None:
    """The binding that a Work belongs to; None for a Work of something else, or outside an execution space."""
    annotations = work.metadata.annotations
    if not work.namespace.startswith(EXECUTION_SPACE_PREFIX):
        return None
    if name := annotations.get(BINDING_NAME_ANNOTATION):
        return BindingName(annotations.get(BINDING_NAMESPACE_ANNOTATION, ""), name)
    name = annotations.get(CLUSTER_BINDING_NAME_ANNOTATION)
    return BindingName("", name) if name else None


def encode_state(state: FleetState) -> bytes:
    """Encodes the state as JSON with an object on each line or so, that can be compared."""
    return msgspec.json.format(encode(state.recorded), indent=1)


def decode_state(data: bytes) -> FleetState:
    """Raises: DecodeError where it is none; the message names the field."""
    recorded = decode(data, RecordedFleet)
    if (recorded.api_version, recorded.kind) != (API_VERSION, KIND):
        raise msgspec.ValidationError(
            f"the file has a {recorded.api_version} {recorded.kind}, not a {API_VERSION} {KIND}"
        )
    return FleetState(recorded)


def _is_crowded(cluster: Cluster) -> bool:
    summary = cluster.status.resource_summary
    with suppress(ValueError, ArithmeticError):
        return summary is not None and has_waiting(cluster, summary)
    return False


def _all_bindings(recorded: RecordedFleet) -> Iterator[Binding]:
    yield from recorded.bindings
    yield from recorded.cluster_bindings

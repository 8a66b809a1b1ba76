"""Changes that are only imagined: clusters that fail, are drained, or come back; policies and sizes that are others.

select_clusters    `fra-1,fra-2`, `region=eu`, `label:tier=edge` as names of clusters that are there
imagine_policies   the bindings of a picture as policies would have them that are not applied yet
imagine_scale      the same with another number of replicas
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in, text_in
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.defaulting import DefaultingSettings, apply_defaults
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.policy import AnyPropagationPolicy, ClusterPropagationPolicy, PropagationPolicy
from leeward.api.resource import PROPAGATION_POLICIES
from leeward.api.schema import schema_of
from leeward.api.spread_field import GROUP_FIELDS, rules_of_field
from leeward.api.unknown_fields import unknown_fields
from leeward.api.validation import validate, validate_types
from leeward.api.work import Binding
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.propagation.binding import claim
from leeward.core.propagation.matching import keep_or_find_policy
from leeward.core.settings_in_force import SettingsInForce
from leeward.operations import OperationFailed
from leeward.operations.drain import workload_of

LABEL = "label:"
POLICY_TYPES = {"PropagationPolicy": PropagationPolicy, "ClusterPropagationPolicy": ClusterPropagationPolicy}
POLICY_API_VERSION = PROPAGATION_POLICIES.api_version
FAILURE_THRESHOLD, EVICTION_TIMEOUT = "--cluster-failure-threshold", "--failover-eviction-timeout"


@dataclass(frozen=True, slots=True)
class ImaginedChange:
    """`fails` and `drained` are clusters; seconds count from the picture's instant, `recover_after` from the failure.

    `bindings` are those that are as no policy or template has them yet. `failure_threshold_seconds` and
    `eviction_timeout_seconds` are the clocks of an outage that a control plane would have; None is what it has.
    `releases_brake`: somebody releases the brake by hand.
    """

    fails: frozenset[str] = frozenset()
    drained: frozenset[str] = frozenset()
    at_seconds: float = 0
    recover_after_seconds: float | None = None
    bindings: Mapping[BindingName, Binding] = field(default_factory=dict[BindingName, Binding])
    failure_threshold_seconds: float | None = None
    eviction_timeout_seconds: float | None = None
    releases_brake: bool = False

    def about(self, clusters: Iterable[Cluster]) -> frozenset[str]:
        """Clusters whose applications are concerned: a release lets go in all that look dead."""
        dead = (each.name for each in clusters if self.releases_brake and looks_dead(each))
        return self.fails.union(self.drained, dead)

    @property
    def clocks(self) -> Mapping[str, float]:
        """Seconds of the clocks that are imagined, by the names of the flags."""
        clocks = {FAILURE_THRESHOLD: self.failure_threshold_seconds, EVICTION_TIMEOUT: self.eviction_timeout_seconds}
        return {flag: seconds for flag, seconds in clocks.items() if seconds is not None}

    def settings_of(self, settings: SettingsInForce) -> SettingsInForce:
        """Settings as they would be."""
        fields = {flag.removeprefix("--").replace("-", "_"): seconds for flag, seconds in self.clocks.items()}
        return msgspec.structs.replace(settings, **fields)


def select_clusters(state: FleetState, chosen: Sequence[str], option: str) -> frozenset[str]:
    """Raises: OperationFailed that names the option, for what names no cluster."""
    return frozenset(name for text in chosen for part in text.split(",") for name in _selected(state, part, option))


def _selected(state: FleetState, text: str, option: str) -> Iterator[str]:
    wanted, equals, value = text.strip().partition("=")
    if not equals:
        if wanted not in state.clusters:
            known = ", ".join(sorted(state.clusters)) or "none has joined"
            raise OperationFailed(f"{option} {text!r}: there is no such cluster; choose from {known}")
        yield wanted
        return
    if wanted not in GROUP_FIELDS and not wanted.startswith(LABEL):
        fields = ", ".join(f"{each}=" for each in GROUP_FIELDS)
        raise OperationFailed(f"{option} {text!r}: choose by {fields} or {LABEL}KEY=")
    found = [name for name, cluster in state.clusters.items() if value in group_values(cluster, wanted)]
    if not found:
        known = sorted({each for cluster in state.clusters.values() for each in group_values(cluster, wanted)})
        raise OperationFailed(f"{option} {text!r}: no cluster is so; there is {', '.join(known) or 'none with it'}")
    yield from found


def group_values(cluster: Cluster, by: str) -> tuple[str, ...]:
    """Values that the cluster has for `by`: a field, or `label:KEY`; nothing where it does not say."""
    field = next((each for each in GROUP_FIELDS if each == by), None)
    label = cluster.metadata.labels.get(by.removeprefix(LABEL), "")
    return tuple(value for value in ((label,) if field is None else rules_of_field(field).values(cluster)) if value)


def imagine_policies(state: FleetState, manifests: Sequence[Manifest]) -> Mapping[BindingName, Binding]:
    """The bindings that policies of these manifests would change; what is beside them is left out.

    Raises: OperationFailed that names the field, and where there is no policy.
    """
    policies = [manifest for manifest in manifests if not is_beside_policies(manifest)]
    parsed = [_policy_of(state, manifest) for manifest in policies or manifests]
    local: dict[tuple[str, str], PropagationPolicy] = {(p.namespace, p.name): p for p in state.recorded.policies}
    wide: dict[str, ClusterPropagationPolicy] = {p.name: p for p in state.recorded.cluster_policies}
    for policy in parsed:
        if isinstance(policy, PropagationPolicy):
            local[policy.namespace, policy.name] = policy
        else:
            wide[policy.name] = policy
    changed: dict[BindingName, Binding] = {}
    for key, binding in state.bindings.items():
        labels = binding.metadata.labels
        claimed = labels.get(POLICY_ID_LABEL) or labels.get(CLUSTER_POLICY_ID_LABEL) or ""
        near = [policy for (namespace, _), policy in local.items() if namespace == binding.spec.resource.namespace]
        found = keep_or_find_policy(state.template_of(binding).as_manifest(), claimed, near, wide.values())
        if found is not None and found in parsed:
            changed[key] = _under(binding, found)
    return changed


def is_beside_policies(manifest: Manifest) -> bool:
    """Tells whether it is of a kind that may be in one file with policies, as a template is."""
    api_version, kind = text_in(manifest, "apiVersion"), text_in(manifest, "kind")
    is_known = api_version.partition("/")[0] != POLICY_API_VERSION.partition("/")[0] or schema_of(api_version, kind)
    return bool(kind and is_known) and kind not in POLICY_TYPES


def imagine_scale(state: FleetState, key: BindingName, replicas: int) -> Mapping[BindingName, Binding]:
    """Raises: OperationFailed for what has no replicas."""
    binding = state.bindings[key]
    if not binding.spec.is_workload:
        raise OperationFailed(f"--scale: {workload_of(binding)} has no replicas to place")
    return {key: msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, replicas=replicas))}


def _policy_of(state: FleetState, manifest: Manifest) -> AnyPropagationPolicy:
    """Policy with the identity of the one that it replaces, and what admission fills in."""
    kind, metadata = manifest.get("kind", ""), mapping_in(manifest, "metadata")
    name = f"{kind} {metadata.get('name', '')}"
    if kind not in POLICY_TYPES:
        what = kind or "document without kind"
        raise OperationFailed(f"--apply: a {what} is no policy; give {' or '.join(POLICY_TYPES)}")
    if manifest.get("apiVersion") != POLICY_API_VERSION:
        raise OperationFailed(f"--apply {name}: its apiVersion is not {POLICY_API_VERSION}; correct it")
    is_local = kind == "PropagationPolicy"
    namespace = metadata.get("namespace", "default") if is_local else ""
    given = {**manifest, "metadata": {**metadata, **({"namespace": namespace} if is_local else {})}}
    if unknown := next(unknown_fields(given), None):
        field = ".".join(map(str, unknown))
        raise OperationFailed(f"--apply {name}: there is no field {field}; correct it, or take it out")
    filled = apply_defaults(given, DefaultingSettings(now=state.as_of, new_uid=lambda: "imagined"))
    problems = [*validate_types(filled), *validate(filled)]
    if problems:
        raise OperationFailed(f"--apply {name}: {'; '.join(map(str, problems))}")
    try:
        policy: AnyPropagationPolicy = from_wire(filled, POLICY_TYPES[kind])
    except DecodeError as error:
        raise OperationFailed(f"--apply {name}: {error}") from None
    present = [*state.recorded.policies] if is_local else [*state.recorded.cluster_policies]
    before = next((p for p in present if (p.namespace, p.name) == (policy.namespace, policy.name)), None)
    if before is None:
        return policy
    labels = {**policy.metadata.labels, **before.metadata.labels}
    return msgspec.structs.replace(policy, metadata=msgspec.structs.replace(policy.metadata, labels=labels))


def _under(binding: Binding, policy: AnyPropagationPolicy) -> Binding:
    """The binding as the detector would have it under the policy."""
    labels, annotations = claim(policy)
    metadata = msgspec.structs.replace(
        binding.metadata,
        labels={**binding.metadata.labels, **labels},
        annotations={**binding.metadata.annotations, **annotations},
    )
    spec = msgspec.structs.replace(
        binding.spec,
        placement=policy.spec.placement,
        propagate_deps=policy.spec.propagate_deps,
        scheduler_name=policy.spec.scheduler_name,
        failover=policy.spec.failover,
    )
    return msgspec.structs.replace(binding, metadata=metadata, spec=spec)

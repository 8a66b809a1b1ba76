"""Defaulting: what the control plane fills into Karmada's kinds before it stores them, beyond the schemas' own
defaults.

The model: one function per kind takes a manifest and gives back a changed copy. It works on manifests, not on structs,
so that fields which Leeward does not know survive; whatever has an unexpected shape is left for validation to refuse.

Karmada: pkg/webhook/*/mutating.go, pkg/registry/cluster; same, plus the cluster tolerations that version 1.4 gave to
every policy. Works' manifests are not touched here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from kubeapi.codec import copy_manifest
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, format_time
from kubeapi.untrusted import mapping_in, mappings_in
from leeward.api import names
from leeward.api.purge_mode import GRACE_PURGE_MODES, OLD_WORDS, word_of_today
from leeward.api.rules.texts import label_value_fault
from leeward.api.spread_field import SpreadField

GRACE_PERIOD_SECONDS = 600
_MAX_QUANTITY = str(2**63 - 1)
_CPU_GRADES = ("0", "1", "2", "4", "8", "16", "32", "64", "128", _MAX_QUANTITY)
_MEMORY_GRADES = ("0", "4Gi", "16Gi", "32Gi", "64Gi", "128Gi", "256Gi", "512Gi", "1Ti", _MAX_QUANTITY)


@dataclass(frozen=True, slots=True)
class DefaultingSettings:
    """`new_uid` gives a fresh UUID at each call. Negative toleration seconds switch that toleration off."""

    now: datetime
    new_uid: Callable[[], str]
    not_ready_toleration_seconds: int = 300
    unreachable_toleration_seconds: int = 300


def apply_defaults(manifest: Manifest, settings: DefaultingSettings, old: Manifest | None = None) -> Manifest:
    """`manifest` with defaults, as a copy where anything can change. `old` is what an update replaces.

    Other kinds than Karmada's come back as they are.
    """
    group = str(manifest.get("apiVersion", "")).partition("/")[0]
    default = _DEFAULTS.get((group, str(manifest.get("kind", ""))))
    return default(manifest, settings, old) if default else manifest


def _default_policy(
    manifest: Manifest, settings: DefaultingSettings, old: Manifest | None, *, id_label: str, finalizer: str
) -> Manifest:
    policy = copy_manifest(manifest)
    _default_propagation_spec(_child(policy, "spec"), settings)
    metadata = _child(policy, "metadata")
    _default_selector_namespaces(policy)
    if old is None:
        _child(metadata, "labels")[id_label] = settings.new_uid()
        finalizers = _list(metadata, "finalizers")
        if finalizer not in finalizers:
            finalizers.append(finalizer)
    return policy


def _default_propagation_spec(spec: Manifest, settings: DefaultingSettings) -> None:
    if any(_is_service_import(selector) for selector in mappings_in(spec, "resourceSelectors")):
        spec["propagateDeps"] = True
    placement = _child(spec, "placement")
    for constraint in mappings_in(placement, "spreadConstraints"):
        _default_spread_constraint(constraint)
    _default_replica_scheduling(mapping_in(placement, "replicaScheduling"))
    for holder in _purge_mode_holders(spec):
        _modernise_purge_mode(holder)
    _default_grace_period(mapping_in(mapping_in(spec, "failover"), "application"))
    _default_tolerations(placement, settings)
    if not placement:
        del spec["placement"]


def _is_service_import(selector: Manifest) -> bool:
    return (selector.get("apiVersion"), selector.get("kind")) == ("multicluster.x-k8s.io/v1alpha1", "ServiceImport")


def _default_spread_constraint(constraint: Manifest) -> None:
    if not constraint.get("spreadByField") and not constraint.get("spreadByLabel"):
        constraint["spreadByField"] = SpreadField.CLUSTER.value
    if not constraint.get("minGroups"):
        constraint["minGroups"] = 1


def _default_replica_scheduling(strategy: Manifest) -> None:
    if strategy.get("replicaSchedulingType") == "Divided" and not strategy.get("replicaDivisionPreference"):
        strategy["replicaDivisionPreference"] = "Weighted"


def _purge_mode_holders(spec: Manifest) -> Iterator[Manifest]:
    """Parts of a policy's or a binding's spec that may name a purge mode."""
    failover = mapping_in(spec, "failover")
    yield mapping_in(failover, "application")
    yield mapping_in(failover, "cluster")
    yield from mappings_in(spec, "gracefulEvictionTasks")


def _modernise_purge_mode(holder: Manifest) -> None:
    """Writes an old word as the one of today, which all definitions since Karmada 1.15 take."""
    if holder.get("purgeMode") in OLD_WORDS:
        holder["purgeMode"] = word_of_today(holder["purgeMode"])


def _default_grace_period(failover: Manifest) -> None:
    if failover.get("purgeMode") in GRACE_PURGE_MODES and failover.get("gracePeriodSeconds") is None:
        failover["gracePeriodSeconds"] = GRACE_PERIOD_SECONDS


def _default_tolerations(placement: Manifest, settings: DefaultingSettings) -> None:
    """Adds how long an application stays with a cluster that is not ready. Karmada 1.4 did so; later versions do
    not."""
    defaults = {
        names.NOT_READY_TAINT: settings.not_ready_toleration_seconds,
        names.UNREACHABLE_TAINT: settings.unreachable_toleration_seconds,
    }
    own = list(mappings_in(placement, "clusterTolerations"))
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for key, seconds in defaults.items()
        if seconds >= 0 and not any(_concerns(toleration, key) for toleration in own)
    ]
    if added:
        _list(placement, "clusterTolerations").extend(added)


def _concerns(toleration: Manifest, taint_key: str) -> bool:
    """Tells whether the toleration is about NoExecute taints of the key; an empty key or effect is about all."""
    return toleration.get("key", "") in ("", taint_key) and toleration.get("effect", "") in ("", "NoExecute")


def _default_override_policy(manifest: Manifest, settings: DefaultingSettings, old: Manifest | None) -> Manifest:
    policy = copy_manifest(manifest)
    _default_selector_namespaces(policy)
    return policy


def _default_selector_namespaces(policy: Manifest) -> None:
    """A namespaced policy selects in its own namespace."""
    if namespace := mapping_in(policy, "metadata").get("namespace"):
        for selector in mappings_in(mapping_in(policy, "spec"), "resourceSelectors"):
            selector["namespace"] = selector.get("namespace") or namespace


def _default_id(manifest: Manifest, settings: DefaultingSettings, old: Manifest | None, *, id_label: str) -> Manifest:
    metadata = mapping_in(manifest, "metadata")
    labels = mapping_in(metadata, "labels")
    if labels.get(id_label):
        return manifest
    return manifest | {"metadata": metadata | {"labels": labels | {id_label: settings.new_uid()}}}


def _default_binding(
    manifest: Manifest, settings: DefaultingSettings, old: Manifest | None, *, id_label: str
) -> Manifest:
    binding = _default_id(manifest, settings, old, id_label=id_label)
    if not any(holder.get("purgeMode") in OLD_WORDS for holder in _purge_mode_holders(mapping_in(binding, "spec"))):
        return binding
    binding = copy_manifest(binding)
    for holder in _purge_mode_holders(mapping_in(binding, "spec")):
        _modernise_purge_mode(holder)
    return binding


def _default_cluster(manifest: Manifest, settings: DefaultingSettings, old: Manifest | None) -> Manifest:
    cluster = copy_manifest(manifest)
    spec = _child(cluster, "spec")
    if spec.get("resourceModels"):
        _standardise_models(spec)
    elif old is None:
        spec["resourceModels"] = default_resource_models()
    _move_zone(spec)
    for taint in mappings_in(spec, "taints"):
        if taint.get("effect") == "NoExecute" and not taint.get("timeAdded"):
            taint["timeAdded"] = format_time(settings.now)
    return cluster


def _move_zone(spec: Manifest) -> None:
    """Moves the zone from the older field to the newer; a bad one stays where the user wrote it, for validation to name
    that field."""
    zone = spec.get("zone")
    if isinstance(zone, str) and zone and not spec.get("zones") and not label_value_fault(zone):
        spec["zones"] = [spec.pop("zone")]


def default_resource_models() -> list[Manifest]:
    """Nine grades of nodes by cpu and memory, from the smallest to those without limit."""
    return [
        {
            "grade": grade,
            "ranges": [
                {"name": name, "min": bounds[grade], "max": bounds[grade + 1]}
                for name, bounds in (("cpu", _CPU_GRADES), ("memory", _MEMORY_GRADES))
            ],
        }
        for grade in range(len(_CPU_GRADES) - 1)
    ]


def _standardise_models(spec: Manifest) -> None:
    """Brings the models into the order of their grades, from nothing to everything."""
    models = list(mappings_in(spec, "resourceModels"))
    if not is_equal(models, spec["resourceModels"]) or not all(isinstance(model.get("grade"), int) for model in models):
        return
    models.sort(key=lambda model: model["grade"])
    for model_range in mappings_in(models[0], "ranges"):
        model_range["min"] = "0"
    for model_range in mappings_in(models[-1], "ranges"):
        model_range["max"] = _MAX_QUANTITY
    spec["resourceModels"] = models


def _child(mapping: Manifest, key: str) -> Manifest:
    """The mapping at `key`, put there if it is missing."""
    if mapping.get(key) is None:
        mapping[key] = {}
    return mapping_in(mapping, key)


def _list(mapping: Manifest, key: str) -> list[Any]:
    """The list at `key`, put there if it is missing."""
    if mapping.get(key) is None:
        mapping[key] = []
    value = mapping[key]
    return cast("list[Any]", value) if isinstance(value, list) else []


_Default = Callable[[Manifest, DefaultingSettings, Manifest | None], Manifest]

_DEFAULTS: dict[tuple[str, str], _Default] = {
    ("cluster.karmada.io", "Cluster"): _default_cluster,
    ("policy.karmada.io", "PropagationPolicy"): partial(
        _default_policy, id_label=names.POLICY_ID_LABEL, finalizer=names.PROPAGATION_POLICY_CONTROLLER_FINALIZER
    ),
    ("policy.karmada.io", "ClusterPropagationPolicy"): partial(
        _default_policy,
        id_label=names.CLUSTER_POLICY_ID_LABEL,
        finalizer=names.CLUSTER_PROPAGATION_POLICY_CONTROLLER_FINALIZER,
    ),
    ("policy.karmada.io", "OverridePolicy"): _default_override_policy,
    ("work.karmada.io", "ResourceBinding"): partial(_default_binding, id_label=names.BINDING_ID_LABEL),
    ("work.karmada.io", "ClusterResourceBinding"): partial(_default_binding, id_label=names.CLUSTER_BINDING_ID_LABEL),
    ("work.karmada.io", "Work"): partial(_default_id, id_label=names.WORK_ID_LABEL),
}

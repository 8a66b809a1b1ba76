"""Merge keys of the lists of each built-in kind: the table that strategic merge patch is made of.

A `Schema` names only the fields that are not handled in the common way, which is: mappings are merged, and lists are
replaced. Source: the `patchStrategy` and `patchMergeKey` tags of Kubernetes' API types.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Keyed:
    """A list of mappings that are the same when they have the same `key`."""

    key: str
    items: "Schema" = field(default_factory=dict[str, "Rule"])


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A list of plain values that is merged as a set."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A mapping that is not merged."""


Rule: TypeAlias = Keyed | ValueSet | Replaced | Mapping[str, "Rule"]
Schema: TypeAlias = Mapping[str, Rule]

_METADATA: Schema = {"ownerReferences": Keyed("uid"), "finalizers": ValueSet()}
_CONDITIONS: Schema = {"conditions": Keyed("type")}

_CONTAINER: Schema = {
    "env": Keyed("name"),
    "ports": Keyed("containerPort"),
    "volumeDevices": Keyed("devicePath"),
    "volumeMounts": Keyed("mountPath"),
}

_POD_SPEC: Schema = {
    "containers": Keyed("name", _CONTAINER),
    "ephemeralContainers": Keyed("name", _CONTAINER),
    "hostAliases": Keyed("ip"),
    "imagePullSecrets": Keyed("name"),
    "initContainers": Keyed("name", _CONTAINER),
    "resourceClaims": Keyed("name"),
    "schedulingGates": Keyed("name"),
    "topologySpreadConstraints": Keyed("topologyKey"),
    "volumes": Keyed("name"),
}

_POD_STATUS: Schema = {
    "conditions": Keyed("type"),
    "hostIPs": Keyed("ip"),
    "podIPs": Keyed("ip"),
    "resourceClaimStatuses": Keyed("name"),
}

_POD_TEMPLATE: Schema = {"metadata": _METADATA, "spec": _POD_SPEC}
_WORKLOAD: Schema = {"metadata": _METADATA, "spec": {"template": _POD_TEMPLATE}, "status": _CONDITIONS}
_WITH_CONDITIONS: Schema = {"metadata": _METADATA, "status": _CONDITIONS}
_WEBHOOKS: Schema = {"metadata": _METADATA, "webhooks": Keyed("name", {"matchConditions": Keyed("name")})}
_COMMON: Schema = {"metadata": _METADATA}

_KINDS: Mapping[tuple[str, str], Schema] = {
    ("", "Namespace"): _WITH_CONDITIONS,
    ("", "Node"): {
        "metadata": _METADATA,
        "spec": {"podCIDRs": ValueSet()},
        "status": {"addresses": Keyed("type"), "conditions": Keyed("type")},
    },
    ("", "PersistentVolumeClaim"): _WITH_CONDITIONS,
    ("", "Pod"): {"metadata": _METADATA, "spec": _POD_SPEC, "status": _POD_STATUS},
    ("", "PodTemplate"): {"metadata": _METADATA, "template": _POD_TEMPLATE},
    ("", "ReplicationController"): _WORKLOAD,
    ("", "Service"): {"metadata": _METADATA, "spec": {"ports": Keyed("port")}, "status": _CONDITIONS},
    ("", "ServiceAccount"): {"metadata": _METADATA, "secrets": Keyed("name")},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("autoscaling", "HorizontalPodAutoscaler"): _WITH_CONDITIONS,
    ("batch", "CronJob"): {
        "metadata": _METADATA,
        "spec": {"jobTemplate": {"metadata": _METADATA, "spec": {"template": _POD_TEMPLATE}}},
    },
    ("batch", "Job"): _WORKLOAD,
    ("policy", "PodDisruptionBudget"): {
        "metadata": _METADATA,
        "spec": {"selector": Replaced()},
        "status": _CONDITIONS,
    },
}


def schema_of(api_version: str, kind: str) -> Schema:
    """The table of a built-in kind; what is common to all for one that has no lists of its own to merge."""
    group = api_version.rpartition("/")[0]
    return _KINDS.get((group, kind), _COMMON)

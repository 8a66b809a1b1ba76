"""Templates, rebuilt from what a picture says of them: it holds no contents of manifests.

What decisions are made on is the same: replicas, what each asks for, claims of a StatefulSet, labels, and the
ConfigMaps, Secrets, claims and accounts that are attached. All else is the least that the kind needs: one container
that becomes ready, no limits, no node selectors. Of kinds without rules here the metadata alone is rebuilt.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.unstructured import text_at
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.names import CLAIMS_ANNOTATION, CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.work import Binding
from leeward.operations.drain import workload_of

APP_LABEL = "leeward.dev/rehearsed"
REQUIRED = ("ConfigMap", "Secret", "PersistentVolumeClaim", "ServiceAccount")
NOT_REBUILT = ("CustomResourceDefinition", "PersistentVolume", "HorizontalPodAutoscaler", "APIService")
"""Kinds that do something of their own which their metadata does not say."""
COUNTED_FROM_ITS_SPEC = ("Deployment", "ReplicaSet", "StatefulSet", "Job", "Pod")
"""Kinds whose replicas are known by rules that what is rebuilt here follows."""

Needs = Mapping[BindingName, Sequence[tuple[str, str]]]
"""The kinds and names of what a binding's template names, by binding."""


@dataclass(frozen=True, slots=True)
class RebuiltTemplates:
    """`left_out` says of which bindings nothing is rebuilt, and why."""

    manifests: Mapping[BindingName, Manifest]
    left_out: Mapping[BindingName, str] = field(default_factory=dict[BindingName, str])


def rebuild_templates(state: FleetState) -> RebuiltTemplates:
    needs = _needs_of(state)
    manifests: dict[BindingName, Manifest] = {}
    left_out: dict[BindingName, str] = {}
    for key, binding in state.bindings.items():
        if reason := _hindrance(binding):
            left_out[key] = f"{workload_of(binding)}: {reason}"
        else:
            manifests[key] = _rebuilt(state, key, needs.get(key, ()))
    return RebuiltTemplates(manifests, left_out)


def app_label_of(binding: Binding) -> str:
    """Label that the Pods of its template have."""
    resource = binding.spec.resource
    return f"{resource.kind.lower()[:20]}-{resource.name[:41]}".rstrip("-.")


def _hindrance(binding: Binding) -> str:
    resource = binding.spec.resource
    if binding.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if resource.kind in NOT_REBUILT:
        return f"what a {resource.kind} does is not in a picture"
    if binding.spec.components:
        return "it has several kinds of Pods"
    if binding.spec.is_workload and resource.kind not in COUNTED_FROM_ITS_SPEC:
        return f"how many replicas a {resource.kind} has is known to an interpreter, which is not in a picture"
    return ""


def _needs_of(state: FleetState) -> Needs:
    needs: dict[BindingName, list[tuple[str, str]]] = defaultdict(list)
    for binding in state.bindings.values():
        resource = binding.spec.resource
        if resource.kind in REQUIRED:
            for owner in binding.spec.required_by:
                needs[BindingName(owner.namespace, owner.name)].append((resource.kind, resource.name))
    return needs


def _rebuilt(state: FleetState, key: BindingName, needs: Sequence[tuple[str, str]]) -> Manifest:
    binding = state.bindings[key]
    template = state.template_of(binding).as_manifest()
    metadata: Manifest = dict(template["metadata"])
    if not metadata["namespace"]:
        del metadata["namespace"]
    make = _SPECS.get(binding.spec.resource.kind)
    return {**template, "metadata": metadata, **(make(_Asked(state, key, binding, needs)) if make else {})}


@dataclass(frozen=True, slots=True)
class _Asked:
    state: FleetState
    key: BindingName
    binding: Binding
    needs: Sequence[tuple[str, str]]

    @property
    def labels(self) -> Manifest:
        return {APP_LABEL: app_label_of(self.binding)}

    @property
    def selector(self) -> Manifest:
        return {"matchLabels": self.labels}

    def pod_spec(self) -> Manifest:
        """Volumes and an account for what is needed; the requests of one replica."""
        asked = self.binding.spec.replica_requirements
        requests = dict(asked.resource_request) if asked is not None else {}
        container: Manifest = {"name": "main", "image": "rehearsed"}
        if requests:
            container["resources"] = {"requests": requests}
        volumes = [
            {"name": f"v{number}", **_SOURCES[kind](name)}
            for number, (kind, name) in enumerate(self.needs)
            if kind in _SOURCES
        ]
        account = next((name for kind, name in self.needs if kind == "ServiceAccount"), "")
        made: Manifest = {"containers": [container]}
        if volumes:
            made["volumes"] = volumes
        if account:
            made["serviceAccountName"] = account
        return made

    def pod_template(self, **more: Any) -> Manifest:
        return {"metadata": {"labels": self.labels}, "spec": {**self.pod_spec(), **more}}


_SOURCES: Mapping[str, Callable[[str], Manifest]] = {
    "ConfigMap": lambda name: {"configMap": {"name": name}},
    "Secret": lambda name: {"secret": {"secretName": name}},
    "PersistentVolumeClaim": lambda name: {"persistentVolumeClaim": {"claimName": name}},
}


def _replicated(asked: _Asked) -> Manifest:
    replicas = asked.binding.spec.replicas
    return {"spec": {"replicas": replicas, "selector": asked.selector, "template": asked.pod_template()}}


def _stateful_set(asked: _Asked) -> Manifest:
    made = _replicated(asked)
    said = asked.binding.metadata.annotations.get(CLAIMS_ANNOTATION, "volume").partition(" and ")[0]
    named = {name for kind, name in asked.needs if kind == "PersistentVolumeClaim"}
    claims = [{"metadata": {"name": name}, **_claim_spec()} for name in said.split(", ") if name and name not in named]
    made["spec"] |= {"serviceName": asked.binding.spec.resource.name, "volumeClaimTemplates": claims}
    return made


def _claim_spec() -> Manifest:
    return {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def _service(asked: _Asked) -> Manifest:
    works = asked.state.works_of(asked.key).values()
    manifests = [manifest for work in works for manifest in work.spec.workload.manifests]
    said = next((text_at(m, "spec", "type") for m in manifests if m.get("kind") == "Service"), "")
    return {"spec": {"type": said or "ClusterIP", "selector": asked.labels, "ports": [{"port": 80}]}}


def _ingress(asked: _Asked) -> Manifest:
    backend = {"service": {"name": asked.binding.spec.resource.name, "port": {"number": 80}}}
    return {"spec": {"defaultBackend": backend}}


def _role_binding(asked: _Asked) -> Manifest:
    return {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}}


def _job(asked: _Asked) -> Manifest:
    replicas = max(1, asked.binding.spec.replicas)
    template = asked.pod_template(restartPolicy="Never")
    return {"spec": {"parallelism": replicas, "completions": replicas, "template": template}}


_SPECS: Mapping[str, Callable[[_Asked], Manifest]] = {
    "Deployment": _replicated,
    "ReplicaSet": _replicated,
    "StatefulSet": _stateful_set,
    "DaemonSet": lambda asked: {"spec": {"selector": asked.selector, "template": asked.pod_template()}},
    "Job": _job,
    "CronJob": lambda asked: {"spec": {"schedule": "0 0 29 2 *", "jobTemplate": _job(asked)}},
    "Pod": lambda asked: {"spec": asked.pod_spec()},
    "Service": _service,
    "Ingress": _ingress,
    "PersistentVolumeClaim": lambda _: _claim_spec(),
    "PodDisruptionBudget": lambda asked: {"spec": {"minAvailable": 0, "selector": asked.selector}},
    "NetworkPolicy": lambda asked: {"spec": {"podSelector": asked.selector}},
    "RoleBinding": _role_binding,
    "ClusterRoleBinding": _role_binding,
    "Namespace": lambda _: {},
}


def namespaces_of(state: FleetState) -> set[str]:
    """Namespaces in which anything is that is copied."""
    policies = {policy.namespace for policy in state.recorded.policies}
    return {key.namespace for key in state.bindings if key.namespace} | policies


def priority_classes_of(state: FleetState) -> Mapping[str, int]:
    """The classes that policies name, with the priorities of the bindings that they have claimed."""
    classes: dict[str, str] = {}
    for policy in (*state.recorded.policies, *state.recorded.cluster_policies):
        asked, labels = policy.spec.schedule_priority, policy.metadata.labels
        if asked is not None:
            classes[labels.get(POLICY_ID_LABEL) or labels.get(CLUSTER_POLICY_ID_LABEL, "")] = asked.priority_class_name
    found = dict.fromkeys(classes.values(), 0)
    for binding in state.bindings.values():
        labels, priority = binding.metadata.labels, binding.spec.schedule_priority
        claimed = labels.get(POLICY_ID_LABEL) or labels.get(CLUSTER_POLICY_ID_LABEL, "")
        if priority is not None and claimed in classes:
            found[classes[claimed]] = priority.priority
    return found


def definition_of(group_version: str, kind: str, plural: str, *, namespaced: bool) -> Manifest:
    """A CustomResourceDefinition that takes every object of the kind."""
    group, _, version = group_version.rpartition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }

"""The scripted kind of histories: a custom resource like a Deployment, which only Lua scripts understand.

What works on it in members is an operator (`operators.py`), not the members' own controllers. A script that is in
trouble gives no answer: it fails, does not end, or answers with what is none.
"""

from collections.abc import Mapping, Sequence
from typing import get_args

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from simulator.histories.manifests import BATCHES
from simulator.histories.model import Question, Trouble

CUSTOMIZATIONS = Resource.of_manifests(
    "config.karmada.io/v1alpha1", "resourceinterpretercustomizations", "ResourceInterpreterCustomization", False
)
CUSTOMIZATION = "batches"
_FIELDS: Mapping[Question, tuple[str, str, str, str]] = {
    "replicas": (
        "replicaResource",
        "GetReplicas",
        "o",
        "return o.spec.replicas, kube.accuratePodRequirements(o.spec.template)",
    ),
    "revision": ("replicaRevision", "ReviseReplica", "o, n", "o.spec.replicas = n return o"),
    "status": (
        "statusReflection",
        "ReflectStatus",
        "o",
        "if o.status == nil then return nil end"
        " return {readyReplicas = o.status.readyReplicas, observedGeneration = o.status.observedGeneration}",
    ),
    "aggregation": (
        "statusAggregation",
        "AggregateStatus",
        "o, items",
        "local ready = 0 for _, item in ipairs(items) do"
        " if item.status ~= nil and item.status.readyReplicas ~= nil then ready = ready + item.status.readyReplicas end"
        " end o.status = {readyReplicas = ready} return o",
    ),
    "health": (
        "healthInterpretation",
        "InterpretHealth",
        "o",
        "return o.status ~= nil and o.status.observedGeneration == o.metadata.generation"
        " and o.status.readyReplicas == o.spec.replicas",
    ),
    "dependencies": (
        "dependencyInterpretation",
        "GetDependencies",
        "o",
        "local found = {} for _, volume in ipairs(o.spec.template.spec.volumes or {}) do local kind, name"
        " if volume.configMap ~= nil then kind, name = 'ConfigMap', volume.configMap.name"
        " elseif volume.secret ~= nil then kind, name = 'Secret', volume.secret.secretName"
        " else kind, name = 'PersistentVolumeClaim', volume.persistentVolumeClaim.claimName end"
        " table.insert(found, {apiVersion = 'v1', kind = kind, namespace = o.metadata.namespace, name = name})"
        " end return found",
    ),
}
"""Parts of a customization by question: the field of a customization, the function, its parameters, and what it
does."""
_TROUBLES: Mapping[Trouble, str] = {
    "fails": "error('out of order')",
    "endless": "while true do end",
    "absurd": "return 'plenty'",
}


def customization(version: int, question: Question | None = None, trouble: Trouble | None = None) -> Manifest:
    """The scripts, of which one is in trouble. A version differs from another one in nothing but its text."""
    scripts = {
        field: {"luaScript": f'-- {version}\nlocal kube = require("kube")\nfunction {name}({parameters}) {body} end'}
        for field, name, parameters, body in (_scripted(each, question, trouble) for each in get_args(Question))
    }
    target = {"apiVersion": BATCHES.api_version, "kind": BATCHES.kind}
    return {"metadata": {"name": CUSTOMIZATION}, "spec": {"target": target, "customizations": scripts}}


def _scripted(each: Question, question: Question | None, trouble: Trouble | None) -> tuple[str, str, str, str]:
    field, name, parameters, body = _FIELDS[each]
    return field, name, parameters, _TROUBLES[trouble] if trouble is not None and each == question else body


def troubles_in(manifest: ReadOnlyManifest) -> frozenset[Question]:
    """The questions that a customization gives no answer to."""
    scripts = manifest["spec"]["customizations"]
    return frozenset(
        question
        for question, (field, *_) in _FIELDS.items()
        if any(body in scripts[field]["luaScript"] for body in _TROUBLES.values())
    )


def definition(kind: Resource[Manifest]) -> Manifest:
    """The definition of a custom resource with a status, and without rules for anything."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version: Manifest = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    names = {"plural": kind.plural, "singular": kind.kind.lower(), "kind": kind.kind, "listKind": f"{kind.kind}List"}
    return {
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def policy_of_definition(kind: Resource[Manifest], clusters: Sequence[str]) -> Manifest:
    """Policy of the definition, which goes to all of them. It has the plural of the kind for a name."""
    defined = definition(kind)["metadata"]["name"]
    selector = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": defined}
    placement = {"clusterAffinity": {"clusterNames": list(clusters)}}
    return {"metadata": {"name": kind.plural}, "spec": {"resourceSelectors": [selector], "placement": placement}}

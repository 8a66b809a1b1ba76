"""Objects that are as large as they may be: one for each list, map and text of each kind that has a type here.

The fields are those of the types, so that a new one is in here. What admission asks of an element stands in `ELEMENTS`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api import resource
from leeward.api.names import execution_space
from leeward.api.openapi import structural_schema

MEMBER: Final = "member1"
INSTANT: Final = "2026-01-01T00:00:00Z"
_FREE: Final = "x-kubernetes-preserve-unknown-fields"
_SELECTOR: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app"}
_REFERENCE: Manifest = {**_SELECTOR, "namespace": "default"}
_ROLE: Manifest = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "view"}
_PLACEMENT: Manifest = {"clusterAffinity": {"clusterNames": [MEMBER, "member2"]}}
_POLICY: Manifest = {"spec": {"resourceSelectors": [_SELECTOR], "placement": _PLACEMENT}}
_OVERRIDE: Manifest = {"spec": {"resourceSelectors": [_SELECTOR], "overrideRules": [{"overriders": {}}]}}
_CONFIG_MAP: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "default"}}
_HOOK: Manifest = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://hook.example.com"},
    "interpreterContextVersions": ["v1alpha1"],
}
_SCRIPT: Final = "function GetReplicas(obj)\n  return 1, nil\nend\n"
BASES: Final[Mapping[Resource[Any], Manifest]] = {
    resource.CLUSTERS: {"spec": {"syncMode": "Pull"}},
    resource.PROPAGATION_POLICIES: _POLICY,
    resource.CLUSTER_PROPAGATION_POLICIES: _POLICY,
    resource.OVERRIDE_POLICIES: _OVERRIDE,
    resource.CLUSTER_OVERRIDE_POLICIES: _OVERRIDE,
    resource.CLUSTER_TAINT_POLICIES: {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}},
    resource.FEDERATED_RESOURCE_QUOTAS: {"spec": {"overall": {"cpu": "1000"}}},
    resource.RESOURCE_BINDINGS: {"spec": {"resource": _REFERENCE, "placement": _PLACEMENT, "replicas": 2}},
    resource.CLUSTER_RESOURCE_BINDINGS: {"spec": {"resource": _ROLE, "placement": _PLACEMENT}},
    resource.WORKS: {"spec": {"workload": {"manifests": [_CONFIG_MAP]}}},
    resource.WORKLOAD_REBALANCERS: {"spec": {"workloads": [_REFERENCE]}},
    resource.RESOURCE_INTERPRETER_CUSTOMIZATIONS: {
        "spec": {
            "target": {"apiVersion": "example.com/v1", "kind": "Widget"},
            "customizations": {"replicaResource": {"luaScript": _SCRIPT}},
        }
    },
    resource.RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS: {"webhooks": [_HOOK]},
    resource.OUTAGES: {"spec": {"cluster": MEMBER, "since": INSTANT}},
}
"""The smallest objects of each kind that mean something."""


def _of_one_field(number: int) -> Manifest:
    return {"fieldPath": "/metadata/annotations/json", "json": [_changed(number)]}


def _changed(number: int) -> Manifest:
    return {"subPath": f"/a{number}", "operator": "add", "value": number}


ELEMENTS: Final[Mapping[str, Callable[[int], Any]]] = {
    r"\.finalizers\[\]": lambda n: f"example.com/f{n}",
    r"\.ownerReferences\[\]": lambda n: {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": f"u{n}"},
    r"\.fieldSelector\.matchExpressions\[\]": lambda n: {"key": "region", "operator": "NotIn", "values": [f"v{n}"]},
    r"\.matchExpressions\[\]": lambda n: {"key": f"k{n}", "operator": "NotIn", "values": ["v"]},
    r"\.matchFields\[\]": lambda n: {"key": "metadata.name", "operator": "NotIn", "values": [f"v{n}"]},
    r"\.resourceSelectors\[\]": lambda n: {**_SELECTOR, "name": f"app{n or ''}"},
    r"olerations\[\]": lambda n: {"key": f"k{n}", "operator": "Exists"},
    r"\.clusterAffinities\[\]": lambda n: {"affinityName": f"t{n}", "clusterNames": [f"m{n}"]},
    r"\.overflowAffinities\[\]": lambda n: {"affinityName": f"o{n}", "clusterNames": [f"m{n}"]},
    r"\.spreadConstraints\[\]": lambda n: {"spreadByLabel": f"l{n}", "minGroups": 1},
    r"\.staticWeightList\[\]": lambda n: {"targetCluster": {"clusterNames": [f"member{n}"]}, "weight": 1},
    r"\.imageOverrider\[\]": lambda n: {"component": "Tag", "operator": "replace", "value": f"v{n}"},
    r"\.(command|args)Overrider\[\]": lambda n: {"containerName": "main", "operator": "add", "value": [f"v{n}"]},
    r"\.(labels|annotations)Overrider\[\]": lambda n: {"operator": "add", "value": {f"k{n}": "v"}},
    r"\.plaintext\[\]": lambda n: {"path": f"/metadata/annotations/a{n}", "operator": "add", "value": "v"},
    r"\.fieldOverrider\[\]": _of_one_field,
    r"\.fieldOverrider\[\]\.(yaml|json)\[\]": _changed,
    r"\.overrideRules\[\]": lambda n: {
        "targetCluster": {"clusterNames": [f"member{n}"]},
        "overriders": {"labelsOverrider": [{"operator": "add", "value": {"a": "b"}}]},
    },
    r"\.resourceModels\[\]": lambda n: {"grade": n, "ranges": [{"name": "cpu", "min": str(n), "max": str(n + 1)}]},
    r"\.taints\[\]": lambda n: {"key": f"k{n}", "effect": "NoSchedule"},
    r"\.status\.conditions\[\]": lambda n: {
        "type": f"T{n}",
        "status": "True",
        "reason": "R",
        "message": "m",
        "lastTransitionTime": INSTANT,
    },
    r"\.(add|remove)OnConditions\[\]": lambda n: {
        "conditionType": f"T{n}",
        "operator": "In",
        "statusValues": ["True"],
    },
    r"\.staticAssignments\[\]": lambda n: {"clusterName": f"m{n}", "hard": {"cpu": "1"}},
    r"\.workloads\[\]": lambda n: {**_REFERENCE, "name": f"app{n}"},
    r"\.webhooks\[\]\.rules\[\]": lambda n: {
        "operations": ["*"],
        "apiGroups": [f"g{n}.example.com"],
        "apiVersions": ["v1"],
        "kinds": ["Widget"],
    },
    r"\.operations\[\]": lambda n: "*",
    r"\.statePreservation\.rules\[\]": lambda n: {"aliasLabelName": f"a{n}", "jsonPath": "{ .replicas }"},
    r"\.webhooks\[\]": lambda n: {**_HOOK, "name": f"hook{n}.example.com"},
    r"\.interpreterContextVersions\[\]": lambda n: f"v{n}" if n else "v1alpha1",
    r"\.gracefulEvictionTasks\[\]": lambda n: {"fromCluster": f"m{n}", "reason": "TaintUntolerated", "producer": "p"},
    r"\.clusters\[\]": lambda n: {"name": f"m{n}", "replicas": 1},
    r"\.manifests\[\]": lambda n: {**_CONFIG_MAP, "metadata": {"name": f"made{n}", "namespace": "default"}},
}
"""Elements of lists by the end of their path, and by their number: the first that fits."""
TEXTS: Final[Mapping[str, Callable[[int], str]]] = {
    r"\.(path|fieldPath|subPath)": lambda size: "/" + "x" * size,
    r"\.luaScript": lambda size: f"--{'x' * size}\n{_SCRIPT}",
    r"\.(apiEndpoint|proxyURL|url)": lambda size: f"https://{'x' * size}.example.com",
    r"\.caBundle": lambda size: "A" * (4 * size),
}
"""Texts of some letters and of a form, by the end of their path."""
FIXED: Final = re.compile(
    r"\.(operator|effect|operations\[\])$|\.fieldSelector\.matchExpressions\[\]\.key$"
    r"|\.resource(Selectors\[\])?\.namespace$"
)
"""Texts of which there are a few, which admission knows."""
_KEYS: Final = {r"\.(overall|hard|used|overallUsed)$": "count/k{}.example.com"}
_PART: Final = re.compile(r"\.([^.\[{]+)|(\[\])|\{\}")


def fields_of(kind: Resource[Any]) -> Iterator[tuple[str, Manifest]]:
    """Paths and schemas of all lists, maps and texts of a kind."""
    yield from _fields(_schema_of(kind), "")


def with_field(kind: Resource[Any], path: str, size: int, name: str = "large") -> Manifest:
    """Object whose field has so many elements, or letters."""
    schema, manifest = _schema_of(kind), copy_manifest(BASES[kind])
    _make_room(manifest, path)
    if "customizations" in manifest.get("spec", {}):
        manifest["spec"]["target"]["kind"] = f"Widget{name}"
    root: Any = {"": {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **manifest}}
    holder: Any = root
    key: Any = ""
    here = ""
    for field, index in _PART.findall(path):
        part = f".{field}" if field else index or "{}"
        if _at(holder, key) is None:
            holder[key] = [] if schema.get("type") == "array" else {}
        holder, key, here = holder[key], field or (0 if index else _key(here, 0)), here + part
        schema = schema["properties"][field] if field else schema["items" if index else "additionalProperties"]
        if index and not holder:
            holder.append(_element(schema, here, 0))
        elif not index and key not in holder and here != path:
            holder[key] = _element(schema, here, 0)
    holder[key] = _grown(schema, path, size)
    if ".staticAssignments[].hard" in path:
        root[""]["spec"]["overall"] = root[""]["spec"]["staticAssignments"][0]["hard"]
    return root[""]


def _at(holder: Any, key: Any) -> Any:
    return holder[key] if key == 0 or key in holder else None


def namespace_of(kind: Resource[Any]) -> str:
    if not kind.namespaced:
        return ""
    return execution_space(MEMBER) if kind is resource.WORKS else "default"


def _fields(schema: Manifest, path: str) -> Iterator[tuple[str, Manifest]]:
    if "enum" in schema or schema.get("format") == "date-time":
        return
    type_ = schema.get("type")
    if type_ in ("array", "string") or "additionalProperties" in schema or _FREE in schema or "anyOf" in schema:
        yield path, schema
    for name, part in (("items", "[]"), ("additionalProperties", "{}")):
        if name in schema:
            yield from _fields(schema[name], path + part)
    for name, inner in schema.get("properties", {}).items():
        yield from _fields(inner, f"{path}.{name}")


def _schema_of(kind: Resource[Any]) -> Manifest:
    """Schema of the kind, with the metadata of which our types say nothing."""
    schema = structural_schema(kind.object_type)
    text: Manifest = {"type": "string"}
    texts: Manifest = {"type": "object", "additionalProperties": text}
    names = ("apiVersion", "kind", "name", "uid")
    owner: Manifest = {"type": "object", "required": [*names], "properties": dict.fromkeys(names, text)}
    metadata: Manifest = {
        "labels": texts,
        "annotations": texts,
        "finalizers": {"type": "array", "items": text},
        "ownerReferences": {"type": "array", "items": owner},
        "generateName": text,
    }
    own = {name: each for name, each in schema["properties"].items() if name not in ("apiVersion", "kind")}
    return {**schema, "properties": {**own, "metadata": {"type": "object", "properties": metadata}}}


def _make_room(manifest: Manifest, path: str) -> None:
    """Takes away or adds what the field does not go without or together with."""
    spec = manifest.get("spec", {})
    if ".clusterAffinities" in path:
        del spec["placement"]["clusterAffinity"]
    if path.startswith((".spec.overriders", ".spec.targetCluster")) and "overrideRules" in spec:
        del spec["overrideRules"]
        spec["overriders"] = {}
    if ".overflowAffinities" in path:
        weight = {"dynamicWeight": "AvailableReplicas"}
        spec["placement"]["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": weight,
        }
    if ".fieldOverrider[].yaml" in path:
        overriders = spec["overrideRules"][0]["overriders"] if "overrideRules" in spec else spec["overriders"]
        overriders["fieldOverrider"] = [{"fieldPath": "/metadata/annotations/yaml", "yaml": [_changed(0)]}]
    if ".failover" in path:
        spec["propagateDeps"] = True
    if ".clientConfig.service" in path:
        manifest["webhooks"][0]["clientConfig"] = {"service": {"namespace": "a", "name": "a"}}


def _element(schema: Manifest, path: str, number: int) -> Any:
    if path.endswith("[]"):
        make = _maker_of(path)
        if make is not None:
            return make(number)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            required = [name for name in schema.get("required", ()) if name in schema.get("properties", {})]
            return {name: _element(schema["properties"][name], f"{path}.{name}", number) for name in required}
        case "array":
            return [_element(schema["items"], f"{path}[]", number)]
        case "string":
            return INSTANT if schema.get("format") == "date-time" else _text(path, len(str(number)), f"x{number}")
        case "boolean":
            return True
        case "integer":
            return 1
        case _:
            return "1"


@cache
def _maker_of(path: str) -> Callable[[int], Any] | None:
    return next((make for pattern, make in ELEMENTS.items() if re.search(f"{pattern}$", path)), None)


def _grown(schema: Manifest, path: str, size: int) -> Any:
    if schema.get("type") == "array":
        return [_element(schema["items"], f"{path}[]", number) for number in range(size)]
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        return {_key(path, number): _element(inner, f"{path}{{}}", 1) for number in range(size)}
    if "anyOf" in schema:
        return "1" * size
    if _FREE in schema:
        made: Manifest = {**_CONFIG_MAP} if path.endswith(".manifests[]") else {}
        return {**made, **{f"k{number}": "v" for number in range(size)}}
    return _text(path, size, "x" * size)


def _key(path: str, number: int) -> str:
    return _key_form_of(path).format(number)


@cache
def _key_form_of(path: str) -> str:
    return next((key for pattern, key in _KEYS.items() if re.search(pattern, path)), "k{}")


def _text(path: str, size: int, plain: str) -> str:
    make = _text_maker_of(path)
    return make(size) if make is not None else plain


@cache
def _text_maker_of(path: str) -> Callable[[int], str] | None:
    return next((make for pattern, make in TEXTS.items() if re.search(f"{pattern}$", path)), None)

"""Values that versions of Karmada have taken and stored: what their definitions say of each field, by version.

`python -m tests.karmada_values CLONE` reads the definitions of every release from 1.3 on, and of the head, from a clone
of Karmada's repository with its tags, and writes `tests/data/karmada-values.json`: for each field of a kind, runs of
versions with the facts of its schema. The facts of Clusters stand below: an aggregated API server keeps them, without a
definition.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubeapi.codec import parse_yaml
from leeward.api.schema import CUSTOM_KINDS

TABLE = Path(__file__).parent / "data" / "karmada-values.json"
VERSIONS = tuple(f"1.{minor}" for minor in range(3, 20))
HEAD = VERSIONS[-1]
"""Version that was not released when the table was made: it stands for the head of August 2026."""
FACTS = (
    "type",
    "format",
    "enum",
    "default",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "required",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
)
_FOLDER = "charts/karmada/_crds/bases"
_NOTE = (
    "Facts of the definitions in charts/karmada/_crds/bases of github.com/karmada-io/karmada, tags v1.3.0 to v1.18.0 "
    "and the head of August 2026 as 1.19; Clusters by pkg/apis/cluster. Made by `python -m tests.karmada_values CLONE`."
)
_QUANTITY = {"x-kubernetes-int-or-string": True}
_STRING, _OBJECT, _LIST = {"type": "string"}, {"type": "object"}, {"type": "array"}
_CLUSTER: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "": ("1.3", {**_OBJECT, "required": ["spec"]}),
    ".spec": ("1.3", {**_OBJECT, "required": ["syncMode"]}),
    ".spec.syncMode": ("1.3", {**_STRING, "enum": ["Push", "Pull"]}),
    ".spec.id": ("1.3", _STRING),
    ".spec.provider": ("1.3", _STRING),
    ".spec.region": ("1.3", _STRING),
    ".spec.zone": ("1.3", _STRING),
    ".spec.zones": ("1.7", _LIST),
    ".spec.zones[]": ("1.7", _STRING),
    ".spec.proxyURL": ("1.3", _STRING),
    ".spec.taints": ("1.3", _LIST),
    ".spec.taints[]": ("1.3", {**_OBJECT, "required": ["key", "effect"]}),
    ".spec.taints[].key": ("1.3", _STRING),
    ".spec.taints[].value": ("1.3", _STRING),
    ".spec.taints[].effect": ("1.3", {**_STRING, "enum": ["NoSchedule", "NoExecute"]}),
    ".spec.taints[].timeAdded": ("1.3", {**_STRING, "format": "date-time"}),
    ".spec.resourceModels": ("1.3", _LIST),
    ".spec.resourceModels[]": ("1.3", {**_OBJECT, "required": ["grade", "ranges"]}),
    ".spec.resourceModels[].grade": ("1.3", {"type": "integer", "minimum": 0}),
    ".spec.resourceModels[].ranges": ("1.3", _LIST),
    ".spec.resourceModels[].ranges[]": ("1.3", {**_OBJECT, "required": ["name", "min", "max"]}),
    ".spec.resourceModels[].ranges[].name": ("1.3", _STRING),
    ".spec.resourceModels[].ranges[].min": ("1.3", _QUANTITY),
    ".spec.resourceModels[].ranges[].max": ("1.3", _QUANTITY),
    ".status": ("1.3", _OBJECT),
    ".status.kubernetesVersion": ("1.3", _STRING),
    ".status.remedyActions": ("1.10", _LIST),
    ".status.remedyActions[]": ("1.10", _STRING),
    ".status.nodeSummary": ("1.3", _OBJECT),
    ".status.nodeSummary.totalNum": ("1.3", {"type": "integer", "format": "int32"}),
}


def read_table() -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Runs by kind and version, and by field."""
    return json.loads(TABLE.read_text())["kinds"]


def fields_in(kind: Mapping[str, list[dict[str, Any]]], version: str) -> dict[str, dict[str, Any]]:
    """Facts of the fields that the kind had in the version."""
    at = VERSIONS.index(version)
    return {
        path: run["facts"]
        for path, runs in kind.items()
        for run in runs
        if VERSIONS.index(run["from"]) <= at <= VERSIONS.index(run["to"])
    }


def _walk(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, {fact: schema[fact] for fact in FACTS if fact in schema}
    for name, inner in schema.get("properties", {}).items():
        if path or name in ("spec", "status", "webhooks"):
            yield from _walk(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from _walk(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _walk(schema["additionalProperties"], path + "{}")


def _git(clone: str, *arguments: str) -> str:
    return subprocess.run(["git", "-C", clone, *arguments], capture_output=True, text=True, check=True).stdout


def _definitions(clone: str, tag: str) -> Iterator[dict[str, Any]]:
    for name in _git(clone, "ls-tree", "-r", "--name-only", tag, _FOLDER).split():
        if name.endswith(".yaml"):
            yield from parse_yaml(_git(clone, "show", f"{tag}:{name}"))


def make_table(clone: str) -> dict[str, dict[str, list[dict[str, Any]]]]:
    ours = {f"{each.resource.api_version}/{each.resource.kind}" for each in CUSTOM_KINDS}
    table: dict[str, dict[str, list[dict[str, Any]]]] = {
        "cluster.karmada.io/v1alpha1/Cluster": {
            path: [{"from": since, "to": HEAD, "facts": dict(facts)}] for path, (since, facts) in _CLUSTER.items()
        }
    }
    for version in VERSIONS:
        for definition in _definitions(clone, "HEAD" if version == HEAD else f"v{version}.0"):
            for served in definition["spec"]["versions"]:
                spec = definition["spec"]
                kind = f"{spec['group']}/{served['name']}/{spec['names']['kind']}"
                for path, facts in _walk(served["schema"]["openAPIV3Schema"], "") if kind in ours else ():
                    runs = table.setdefault(kind, {}).setdefault(path, [])
                    if runs and runs[-1]["facts"] == facts:
                        runs[-1]["to"] = version
                    else:
                        runs.append({"from": version, "to": version, "facts": facts})
    return table


def main(clone: str) -> None:
    lines = ["{", f'"note": {json.dumps(_NOTE)},', '"kinds": {']
    table = make_table(clone)
    for kind, fields in table.items():
        rows = ",\n".join(f"{json.dumps(path)}: {json.dumps(runs)}" for path, runs in fields.items())
        lines.append(f"{json.dumps(kind)}: {{\n{rows}\n}}" + ("," if kind != list(table)[-1] else ""))
    TABLE.write_text("\n".join([*lines, "}", "}"]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

"""Reads manifests from files, directories and standard input, with the lines on which their fields stand.

In a directory, files named *.yaml, *.yml and *.json are read, of all directories below that are not hidden; what holds
no manifests there (a Chart.yaml, values) is passed over and named. A file that is given by its name has to hold some.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from kubeapi.meta import Manifest
from kubeapi.untrusted import mapping_in
from kubeapi.yaml_lines import FieldPath, LocatedDocument, YamlFault, parse_located_yaml
from leeward.core.propagation.reach import CLUSTER_SCOPED
from leeward.lint.objects import LintObject

SUFFIXES = (".yaml", ".yml", ".json")
STANDARD_INPUT = "-"
MAX_FILE_BYTES = 5 * 1024 * 1024
MAX_FILES = 10_000
_CLUSTER_SCOPED = CLUSTER_SCOPED | {
    ("policy.karmada.io", "ClusterPropagationPolicy"),
    ("policy.karmada.io", "ClusterOverridePolicy"),
    ("policy.karmada.io", "ClusterTaintPolicy"),
    ("cluster.karmada.io", "Cluster"),
    ("work.karmada.io", "ClusterResourceBinding"),
    ("apps.karmada.io", "WorkloadRebalancer"),
    ("config.karmada.io", "ResourceInterpreterCustomization"),
    ("config.karmada.io", "ResourceInterpreterWebhookConfiguration"),
}


@dataclass
class ReadManifests:
    """`faults` are files that could not be read, and why; `passed_over` are those that hold no manifests."""

    objects: list[LintObject] = field(default_factory=list[LintObject])
    faults: list[str] = field(default_factory=list[str])
    passed_over: list[str] = field(default_factory=list[str])


def read_manifests(paths: Sequence[str], standard_input: bytes, namespace: str) -> ReadManifests:
    """`namespace` is that of objects which name none, as for kubectl."""
    found = ReadManifests()
    for path in paths:
        if path == STANDARD_INPUT:
            if len(standard_input) > MAX_FILE_BYTES:
                found.faults.append(f"<stdin>: more than {MAX_FILE_BYTES} bytes; split it")
                continue
            _take(found, standard_input, "<stdin>", is_named=True)
        elif Path(path).is_dir():
            for file in _files_below(Path(path), found):
                _read(found, file, is_named=False)
        else:
            _read(found, Path(path), is_named=True)
    found.objects = _in_their_namespaces(found.objects, namespace)
    return found


def _files_below(root: Path, found: ReadManifests) -> Iterator[Path]:
    number = 0
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            if not name.endswith(SUFFIXES) or name.startswith("."):
                continue
            number += 1
            if number > MAX_FILES:
                found.faults.append(f"{root}: more than {MAX_FILES} files; give the directories that are meant")
                return
            yield Path(folder) / name
    if number == 0:
        found.faults.append(f"{root}: no file named *.yaml, *.yml or *.json is in it")


def _read(found: ReadManifests, path: Path, *, is_named: bool) -> None:
    """Reads the manifests of a file. What is found in a directory must be a file: a link in it may lead to a device
    that never ends."""
    try:
        seen = path.stat()
        if not is_named and not stat.S_ISREG(seen.st_mode):
            found.faults.append(f"{path}: is no file; take it away, or give the files that are meant")
            return
        if seen.st_size > MAX_FILE_BYTES:
            found.faults.append(f"{path}: {seen.st_size} bytes, and {MAX_FILE_BYTES} at most are read; split it")
            return
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        found.faults.append(f"{path}: {error.strerror}")
        return
    if len(data) > MAX_FILE_BYTES:
        found.faults.append(f"{path}: more than {MAX_FILE_BYTES} bytes; split it")
        return
    _take(found, data, str(path), is_named=is_named)


def _take(found: ReadManifests, data: bytes, file: str, *, is_named: bool) -> None:
    """All objects of a file, or none."""
    try:
        documents = list(parse_located_yaml(data))
    except YamlFault as fault:
        hint = "; render templates first, with `helm template` for example" if b"{{" in data else ""
        line = f":{fault.line}" if fault.line else ""
        found.faults.append(f"{file}{line}: {fault}{hint}")
        return
    objects, faults = list[LintObject](), list[str]()
    for document in documents:
        for each in _flattened(document):
            path, fault = _fault_of(each.value)
            if fault:
                faults.append(f"{file}:{each.line_of(path)}: {fault}")
            else:
                objects.append(LintObject(each.value, file, each))
    if not objects and not is_named:
        found.passed_over.append(file)
        return
    found.objects += objects
    found.faults += faults
    if is_named and not objects and not faults:
        found.faults.append(f"{file}: it holds no manifest")


def _flattened(document: LocatedDocument) -> Iterator[LocatedDocument]:
    """A List as its items."""
    value: Any = document.value
    if not isinstance(value, dict) or not isinstance(cast(Manifest, value).get("items"), list):
        yield document
        return
    if not str(cast(Manifest, value).get("kind", "")).endswith("List"):
        yield document
        return
    for index in range(len(cast(Manifest, value)["items"])):
        part = document.part(("items", index))
        if part is not None:
            yield from _flattened(part)


def _fault_of(value: object) -> tuple[FieldPath, str]:
    """Place and reason for which a document is no manifest; no words where it is one."""
    if not isinstance(value, dict):
        return (), f"a manifest is a mapping, and this is a {type(value).__name__}"
    manifest = cast(Manifest, value)
    for name in ("apiVersion", "kind"):
        if not isinstance(manifest.get(name), str) or not manifest[name]:
            return (name,), f"a manifest has a text {name}, and this has none"
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return ("metadata",), f"a {manifest['kind']} has metadata, and this has none"
    return _fault_of_metadata(cast(Manifest, metadata))


def _fault_of_metadata(metadata: Manifest) -> tuple[FieldPath, str]:
    for name in ("name", "namespace"):
        if not isinstance(metadata.get(name, ""), str):
            return ("metadata", name), f"metadata.{name} is a text, and this is {metadata[name]!r}: put it in quotes"
    for name in ("labels", "annotations"):
        texts = metadata.get(name)
        if texts is None:
            continue
        if not isinstance(texts, dict):
            return ("metadata", name), f"metadata.{name} is a mapping, and this is a {type(texts).__name__}"
        for key, text in cast(dict[object, object], texts).items():
            if not isinstance(key, str) or not isinstance(text, str):
                said = f"metadata.{name} holds texts, and {key} is {text!r}: put it in quotes"
                return ("metadata", name, str(key)), said
    return (), ""


def _in_their_namespaces(objects: list[LintObject], namespace: str) -> list[LintObject]:
    """Objects with the namespace that kubectl would give to those that name none."""
    wide = _CLUSTER_SCOPED | {kind for each in objects if (kind := _wide_kind(each.manifest)) is not None}
    return [
        each
        if each.namespace or (each.group, each.kind) in wide
        else replace(each, manifest=_within(each.manifest, namespace))
        for each in objects
    ]


def _within(manifest: Manifest, namespace: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _wide_kind(manifest: Manifest) -> tuple[str, str] | None:
    """Group and kind that a CustomResourceDefinition defines, where that has no namespaces."""
    spec = mapping_in(manifest, "spec")
    if manifest.get("kind") != "CustomResourceDefinition" or spec.get("scope") != "Cluster":
        return None
    return str(spec.get("group", "")), str(mapping_in(spec, "names").get("kind", ""))

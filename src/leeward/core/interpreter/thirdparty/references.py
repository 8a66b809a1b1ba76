"""References of objects of other projects: what their pod templates need, and references of their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at, mappings_at, value_at
from leeward.api.interpreter_config import DependentObjectReference
from leeward.core.interpreter.dependencies import pod_dependencies
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.thirdparty.pod_templates import Path, pod_template


def namespace_of(manifest: ReadOnlyManifest) -> str:
    """Raises: InterpretationError when it is no text."""
    namespace = value_at(manifest, "metadata", "namespace")
    if namespace is not None and not isinstance(namespace, str):
        raise InterpretationError(f"metadata.namespace: {namespace!r} is no text")
    return namespace or ""


def template_dependencies(
    manifest: ReadOnlyManifest, paths: Iterable[Path], *, without_spec: bool = False
) -> list[DependentObjectReference]:
    """Objects that pods of these templates need. `without_spec`: a template without a spec needs none.

    Raises: InterpretationError."""
    namespace = namespace_of(manifest)
    templates = [pod_template(manifest, *path) for path in paths]
    if not without_spec and not all(mapping_at(template, "spec") for template in templates):
        raise InterpretationError("a pod template has no spec")
    return [each for template in templates for each in pod_dependencies(mapping_at(template, "spec"), namespace)]


def role_dependencies(manifest: ReadOnlyManifest, *field: str) -> list[DependentObjectReference]:
    """Objects that pods of all roles of a job need, those without a template aside. Raises: InterpretationError."""
    roles = [role for role, spec in mapping_at(manifest, *field).items() if mapping_at(spec, "template")]
    return template_dependencies(manifest, [(*field, role, "template") for role in roles], without_spec=True)


def named_dependencies(manifest: ReadOnlyManifest, kinds: Mapping[Path, str]) -> list[DependentObjectReference]:
    """The objects whose names stand at these paths of the spec. Raises: InterpretationError."""
    if not isinstance(manifest.get("spec"), dict):
        raise InterpretationError("spec is missing")
    namespace = namespace_of(manifest)
    found: list[DependentObjectReference] = []
    for path, kind in kinds.items():
        name = value_at(manifest, "spec", *path)
        is_absent = name is None and (len(path) == 1 or value_at(manifest, "spec", *path[:-1]) is None)
        if not is_absent and name != "":
            found.append(reference(kind, namespace, name, ".".join(("spec", *path))))
    return found


def reference(kind: str, namespace: str, name: Any, field: str) -> DependentObjectReference:
    """Raises: InterpretationError when the name is none."""
    if not isinstance(name, str) or not name:
        raise InterpretationError(f"{field} must be the name of a {kind}, not {name!r}")
    return DependentObjectReference(api_version="v1", kind=kind, namespace=namespace, name=name)


def values_dependencies(manifest: ReadOnlyManifest, *path: str) -> list[DependentObjectReference]:
    """ConfigMaps and Secrets of a list of references with kinds. Raises: InterpretationError."""
    namespace = namespace_of(manifest)
    return [
        reference(each["kind"], namespace, each.get("name"), f"{'.'.join(path)}.name")
        for each in mappings_at(manifest, *path)
        if each.get("kind") in ("ConfigMap", "Secret")
    ]

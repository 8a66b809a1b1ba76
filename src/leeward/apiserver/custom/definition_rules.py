"""Defaults and rules of CustomResourceDefinitions themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from leeward.api.jsonpath import compile_path
from leeward.api.meta import Manifest
from leeward.api.rules.node import Node
from leeward.api.status import Problem
from leeward.apiserver.cel import Unwritable, compile_program
from leeward.apiserver.custom.conversion_rules import conversion_problems, default_conversion
from leeward.apiserver.custom.definitions import first_status
from leeward.apiserver.custom.patterns import compile_pattern
from leeward.apiserver.kinds.names import dns_1035_label, dns_subdomain
from leeward.apiserver.values import entries, section, texts

_TYPES = ("array", "boolean", "integer", "number", "object", "string")


def default_definition(manifest: Manifest) -> None:
    spec = section(manifest, "spec")
    names = section(spec, "names")
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    if spec:
        default_conversion(spec)
    versions = entries(spec, "versions")
    if "status" not in manifest and all("storage" in version and "name" in version for version in versions):
        manifest["status"] = first_status(manifest) if versions else {}


def validate_definition(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = [*_name_problems(manifest, spec), *_version_problems(spec)]
    if spec.get("scope") not in ("Namespaced", "Cluster"):
        problems.append(Problem.not_supported("spec.scope", spec.get("scope", ""), ["Cluster", "Namespaced"]))
    problems += conversion_problems(Node("spec.conversion", spec.get("conversion")))
    if spec.get("preserveUnknownFields"):
        said = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        problems.append(Problem.invalid("spec.preserveUnknownFields", True, said))
    if old is not None:
        problems += _stored_problems(manifest)
        for field in ("group", "scope"):
            if spec.get(field) != old["spec"].get(field):
                problems.append(Problem.invalid(f"spec.{field}", spec.get(field), "field is immutable"))
    return problems


def _stored_problems(manifest: Manifest) -> list[Problem]:
    """A version that objects may be stored in stays, or nobody could read them any more."""
    known = [version.get("name") for version in entries(manifest["spec"], "versions")]
    return [
        Problem.invalid(
            f"status.storedVersions[{index}]",
            name,
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
            f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
            "status.storedVersions",
        )
        for index, name in enumerate(texts(section(manifest, "status"), "storedVersions"))
        if name not in known
    ]


def _name_problems(manifest: Manifest, spec: Mapping[str, Any]) -> list[Problem]:
    names = section(spec, "names")
    group, plural = spec.get("group", ""), names.get("plural", "")
    problems = [Problem.required(f"spec.names.{field}") for field in ("plural", "kind") if not names.get(field)]
    if not group:
        problems.append(Problem.required("spec.group"))
    elif said := dns_subdomain(group):
        problems.append(Problem.invalid("spec.group", group, said[0]))
    elif "." not in group:
        problems.append(Problem.invalid("spec.group", group, "should be a domain with at least one dot"))
    if plural and (said := dns_1035_label(plural)):
        problems.append(Problem.invalid("spec.names.plural", plural, said[0]))
    name = manifest["metadata"].get("name", "")
    if not problems and name != f"{plural}.{group}":
        problems.append(Problem.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    return problems


def _version_problems(spec: Mapping[str, Any]) -> list[Problem]:
    versions = entries(spec, "versions")
    problems: list[Problem] = []
    if sum(1 for version in versions if version.get("storage")) != 1:
        said = "must have exactly one version marked as storage version"
        problems.append(Problem.invalid("spec.versions", [v.get("name") for v in versions], said))
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        if said := dns_1035_label(version.get("name", "")):
            problems.append(Problem.invalid(f"{path}.name", version.get("name", ""), said[0]))
        schema = section(version, "schema").get("openAPIV3Schema")
        if schema is None:
            problems.append(Problem.required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
        else:
            problems += _schema_problems(schema, f"{path}.schema.openAPIV3Schema", root=True)
        problems += _column_problems(version.get("additionalPrinterColumns") or (), path)
    return problems


def _schema_problems(schema: Mapping[str, Any], path: str, *, root: bool = False) -> list[Problem]:
    """A structural schema names a type everywhere, and its patterns can be read."""
    problems: list[Problem] = []
    free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    kind = schema.get("type", "")
    if not kind and not free:
        problems.append(Problem.required(f"{path}.type", "must not be empty for specified object fields"))
    elif kind and kind not in _TYPES:
        problems.append(Problem.not_supported(f"{path}.type", kind, _TYPES))
    elif root and kind != "object":
        problems.append(Problem.invalid(f"{path}.type", kind, "must be object at the root"))
    problems += _rule_problems(schema, path)
    problems += _pattern_problems(schema.get("pattern"), path)
    for name, child in section(schema, "properties").items():
        if not (root and name in ("apiVersion", "kind", "metadata")):
            problems += _schema_problems(child, f"{path}.properties[{name}]")
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), dict):
            problems += _schema_problems(schema[part], f"{path}.{part}")
    return problems


def _pattern_problems(pattern: str | None, path: str) -> list[Problem]:
    try:
        if pattern:
            compile_pattern(pattern)
    except ValueError as error:
        return [Problem.invalid(f"{path}.pattern", pattern, str(error))]
    return []


def _rule_problems(schema: Mapping[str, Any], path: str) -> list[Problem]:
    """A rule that cannot be compiled could not be held, and is not taken."""
    problems: list[Problem] = []
    for index, rule in enumerate(entries(schema, "x-kubernetes-validations")):
        where = f"{path}.x-kubernetes-validations[{index}].rule"
        if not rule.get("rule"):
            problems.append(Problem.required(where, "rule is not specified"))
            continue
        try:
            compile_program(rule["rule"])
        except Unwritable as error:
            problems.append(Problem.invalid(where, rule["rule"], f"compilation failed: {error}"))
    return problems


def _column_problems(columns: Sequence[Mapping[str, Any]], path: str) -> list[Problem]:
    problems: list[Problem] = []
    for index, column in enumerate(columns):
        where = f"{path}.additionalPrinterColumns[{index}]"
        problems += [Problem.required(f"{where}.{f}") for f in ("name", "type", "jsonPath") if not column.get(f)]
        try:
            compile_path(column.get("jsonPath", ""))
        except ValueError as error:
            problems.append(Problem.invalid(f"{where}.jsonPath", column["jsonPath"], str(error)))
    return problems

"""Defaults and rules of CustomResourceDefinitions themselves.

names.py        what it is called, and who has to approve of that
versions.py     the versions, and what belongs to each
schemas.py      the schema of a version; structural.py, defaults.py, expressions.py: parts of that
bounds.py       how many expressions there may be
parts.py        printer columns, subresources, selectable fields
conversion.py   from one version to another
"""

from kubeapi.diff import is_equal
from kubeapi.field import Node, Problems
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.apiextensions.definition_rules.bounds import expression_bounds_problems
from kubeserver.apiextensions.definition_rules.conversion import conversion_problems, default_conversion
from kubeserver.apiextensions.definition_rules.names import (
    approval_problems,
    group_problems,
    name_problems,
    required_names,
    spec_name_problems,
)
from kubeserver.apiextensions.definition_rules.versions import (
    shared_problems,
    stored_problems,
    unschemed_problems,
    version_problems,
)
from kubeserver.apiextensions.definitions import first_status, is_established
from kubeserver.values import entries, section


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
    return list(_problems(Node("", manifest), Node("", old)))


def _problems(definition: Node, old: Node) -> Problems:
    spec, before = definition["spec"], old["spec"]
    if too_much := list(expression_bounds_problems(spec, before)):
        yield from too_much
        return
    if not old.is_set:
        yield from name_problems(definition)
    if not old.is_set or not is_equal(spec.value, before.value):
        yield from _spec_problems(spec)
    if old.is_set:
        yield from _unchangeable(spec, before, established=is_established(old.mapping))
    yield from stored_problems(definition)
    yield from approval_problems(definition, old)
    if spec["preserveUnknownFields"].value and not before["preserveUnknownFields"].value:
        yield spec["preserveUnknownFields"].invalid(
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )


def _spec_problems(spec: Node) -> Problems:
    yield from group_problems(spec["group"])
    scope = spec["scope"]
    if not scope.text:
        yield scope.required("")
    elif scope.text not in ("Cluster", "Namespaced"):
        yield scope.not_supported("Cluster", "Namespaced")
    yield from unschemed_problems(spec)
    yield from version_problems(spec)
    yield from required_names(spec["names"])
    yield from spec_name_problems(spec["names"])
    yield from shared_problems(spec)
    yield from conversion_problems(spec["conversion"])


def _unchangeable(spec: Node, before: Node, *, established: bool) -> Problems:
    """Problems of changes to what the objects that are stored, and the name of the definition, depend on."""
    fields = [("scope",), ("names", "kind")] if established else []
    for path in (*fields, ("group",), ("names", "plural")):
        new, old = spec, before
        for name in path:
            new, old = new[name], old[name]
        if not is_equal(new.value, old.value):
            yield new.invalid("field is immutable")

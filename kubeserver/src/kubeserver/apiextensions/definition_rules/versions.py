"""The versions of a definition.

What all of them have alike is said once: kube-apiserver keeps it beside the versions, and that is where its messages
look for it, `spec.validation` for the schema, `spec.subresources`, `spec.additionalPrinterColumns` and
`spec.selectableFields`.
"""

from typing import Any

from kubeapi.diff import is_equal
from kubeapi.field import Node, Problems
from kubeserver.apiextensions.definition_rules.parts import column_problems, selectable_problems, subresource_problems
from kubeserver.apiextensions.definition_rules.schemas import schema_problems
from kubeserver.names import dns_1035_label

_PARTS = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_MOST_WARNING = 256


def unschemed_problems(spec: Node) -> Problems:
    for version in spec["versions"].items():
        schema = version["schema"]["openAPIV3Schema"]
        if not schema.is_set:
            yield schema.required("schemas are required")


def version_problems(spec: Node) -> Problems:
    versions, shared = list(spec["versions"].items()), _shared(spec)
    for version in versions:
        yield from _label_problems(version["name"])
        yield from _warning_problems(version)
        yield from _part_problems(_without(version, shared))
    shown = [_shown(_without(version, shared)) for version in versions] if spec["versions"].is_set else None
    names = [version["name"].text for version in versions]
    if len(set(names)) < len(names):
        yield spec["versions"].invalid("must contain unique version names", shown)
    if sum(bool(version["storage"].value) for version in versions) != 1:
        yield Node(spec["versions"].path, shown).invalid("must have exactly one version marked as storage version")
    if names:
        yield from _label_problems(Node(spec["version"].path, names[0]))


def shared_problems(spec: Node) -> Problems:
    """Problems of what all versions have alike."""
    shared, first = _shared(spec), next(iter(spec["versions"].items()), spec["versions"])
    parts = {name: first[name].value for name in shared}
    both = Node(spec.path, {**parts, "validation": parts.pop("schema", None)})
    schema = both["validation"]["openAPIV3Schema"]
    if schema.is_set:
        yield from schema_problems(schema)
    yield from subresource_problems(both["subresources"])
    yield from column_problems(both["additionalPrinterColumns"])
    if schema.is_set:
        yield from selectable_problems(both["selectableFields"], schema)


def stored_problems(definition: Node) -> Problems:
    """A version that objects may be stored in stays, or nobody could read them any more."""
    stored, versions = definition["status"]["storedVersions"], definition["spec"]["versions"]
    if not stored.list:
        yield Node(stored.path, None).invalid("must have at least one stored version")
        return
    for version in versions.items():
        if version["storage"].value and version["name"].text not in stored.list:
            yield stored.invalid(f"must have the storage version {version['name'].text}")
    known = {version["name"].text for version in versions.items()}
    for name in stored.items():
        if name.text not in known:
            yield name.invalid(
                f"missing from spec.versions; {name.text} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name.text} and "
                f"removes {name.text} from status.storedVersions"
            )


def _shared(spec: Node) -> tuple[str, ...]:
    """The parts that are the same in all versions."""
    versions = list(spec["versions"].items())
    same = tuple(name for name in _PARTS if all(is_equal(v[name].value, versions[0][name].value) for v in versions))
    return same if "schema" in same else tuple(name for name in same if name != "selectableFields")


def _without(version: Node, parts: tuple[str, ...]) -> Node:
    return Node(version.path, {key: value for key, value in version.mapping.items() if key not in parts})


def _part_problems(version: Node) -> Problems:
    schema = version["schema"]["openAPIV3Schema"]
    if schema.is_set:
        yield from schema_problems(schema)
    yield from subresource_problems(version["subresources"])
    yield from column_problems(version["additionalPrinterColumns"])
    yield from selectable_problems(version["selectableFields"], schema)


def _label_problems(name: Node) -> Problems:
    if said := dns_1035_label(name.text):
        yield name.invalid(",".join(said), name.text)


def _warning_problems(version: Node) -> Problems:
    warning = version["deprecationWarning"]
    if not warning.is_set:
        return
    if not version["deprecated"].value:
        yield warning.invalid("can only be set for deprecated versions")
        return
    if len(warning.text.encode()) > _MOST_WARNING:
        yield warning.invalid(f"must be <= {_MOST_WARNING} characters long")
    if not warning.text:
        yield warning.invalid("must not be an empty string", "")
    broken = next((index for index, letter in enumerate(warning.text) if not letter.isprintable()), None)
    if broken is not None:
        said = "must only contain printable UTF-8 characters; non-printable character found at index"
        yield warning.invalid(f"{said} {broken}")


def _shown(version: Node) -> dict[str, Any]:
    """A version, as kube-apiserver writes it in messages; the parts that it has of its own are left out."""
    return {
        "Name": version["name"].text,
        "Served": bool(version["served"].value),
        "Storage": bool(version["storage"].value),
        "Deprecated": bool(version["deprecated"].value),
        "DeprecationWarning": version["deprecationWarning"].value,
        "Schema": None,
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }

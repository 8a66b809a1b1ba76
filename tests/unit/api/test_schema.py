"""The rendered definitions, held field by field against the recorded field table of Karmada's API."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leeward.api.openapi import ANY_OBJECT, descriptions
from leeward.api.schema import custom_resource_definitions

DATA = Path(__file__).parents[2] / "data"
TABLE: dict[str, Any] = json.loads((DATA / "api-fields.json").read_text())
DEFINITIONS = {
    f"{d['spec']['group']}/{v['name']}/{d['spec']['names']['kind']}": (d["spec"], v)
    for d in custom_resource_definitions()
    for v in d["spec"]["versions"]
}
LEFT_OUT = {
    "work.karmada.io/v1alpha1/ResourceBinding": "an older form that nothing stores; only v1alpha2 is served",
    "work.karmada.io/v1alpha1/ClusterResourceBinding": "an older form that nothing stores; only v1alpha2 is served",
}
SERVED = sorted(set(TABLE) - set(LEFT_OUT))
ENTRY = re.compile(r"(?P<type>\S+)(?P<rest>.*)")


def flatten(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
    required = schema.get("required", [])
    for name, child in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if here in ("apiVersion", "kind", "metadata"):
            continue
        yield here, child, name in required
        yield from flatten(child, here)
        if child.get("type") == "array":
            yield from flatten(child["items"], f"{here}[]")


def type_text(schema: dict[str, Any]) -> str:
    match schema.get("type"):
        case "array":
            return "[]" + type_text(schema["items"])
        case "object" if "additionalProperties" in schema:
            return "map[string]" + type_text(schema["additionalProperties"])
        case "object" | None if schema.get("x-kubernetes-preserve-unknown-fields"):
            return "object(raw)"
        case None if schema.get("x-kubernetes-int-or-string"):
            return "int-or-string"
        case type_:
            return f"{type_}({schema['format']})" if "format" in schema else str(type_)


def facts_of(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    names = ("default", "enum", "minimum", "minItems", "minLength", "maxLength", "pattern")
    facts: dict[str, Any] = {name: schema[name] for name in names if name in schema and "anyOf" not in schema}
    if "enum" in facts:
        facts["enum"] = sorted(facts["enum"])
    if "x-kubernetes-list-type" in schema:
        facts["list-type"] = schema["x-kubernetes-list-type"]
    return facts | {"type": type_text(schema), "required": required}


def facts_in(entry: str) -> dict[str, Any]:
    match = ENTRY.match(entry)
    assert match
    facts: dict[str, Any] = {"type": match["type"].replace("quantity", "int-or-string")}
    rest = re.sub(r"\((?:core|meta|deprecated|inclusive|exclusive)[^)]*\)", "", match["rest"])
    facts["required"] = bool(re.match(r"\s*required\b", rest))
    for name, value in re.findall(r'([A-Za-z-]+)=(\[.*?\](?= |$)|"(?:\\.|[^"\\])*"|\S+)', rest):
        facts[name] = json.loads(value)
    if "enum" in facts:
        facts["enum"] = sorted(facts["enum"])
    return facts


@pytest.mark.parametrize("kind", SERVED)
def test_every_field_is_as_in_the_table(kind: str) -> None:
    schema = DEFINITIONS[kind][1]["schema"]["openAPIV3Schema"]
    rendered = {path: facts_of(child, required) for path, child, required in flatten(schema)}
    recorded = {path: facts_in(entry) for path, entry in TABLE[kind]["fields"].items()}
    if kind.endswith("/Cluster"):
        # The table only names the type of a Cluster's conditions; every other kind spells the same type out.
        rendered = {path: facts for path, facts in rendered.items() if not path.startswith("status.conditions[]")}
    assert set(rendered) == set(recorded)
    wrong = {path: (rendered[path], facts) for path, facts in recorded.items() if rendered[path] != facts}
    assert wrong == {}


@pytest.mark.parametrize("kind", SERVED)
def test_names_scope_and_subresources_are_as_in_the_table(kind: str) -> None:
    spec, version = DEFINITIONS[kind]
    recorded = TABLE[kind]
    names = {name: value for name, value in spec["names"].items() if name not in ("kind", "listKind")}
    assert names == recorded["names"]
    assert spec["scope"] == recorded["scope"]
    assert version["storage"] == recorded["storage"]
    assert list(version.get("subresources", {})) == [s for s in recorded["subresources"] if s != "proxy"]


OURS = {
    "cluster.karmada.io/v1alpha1/Cluster": ("SINCE", "LOSS-COVERED"),
    "work.karmada.io/v1alpha2/ResourceBinding": ("HELD", "LEAVING", "LEAVES-AT"),
    "work.karmada.io/v1alpha2/ClusterResourceBinding": ("HELD", "LEAVING", "LEAVES-AT"),
}
"""Columns of ours, shown with `-o wide` only, behind Karmada's."""
PLAIN = {"work.karmada.io/v1alpha1/Work": ("LEAVING",)}
"""Columns of ours that are always shown, behind Karmada's."""


@pytest.mark.parametrize("kind", SERVED)
def test_printer_columns_are_as_in_the_table(kind: str) -> None:
    rendered = DEFINITIONS[kind][1].get("additionalPrinterColumns", [])
    columns = [(c["name"], c["jsonPath"], c.get("priority", 0)) for c in rendered]
    known = [(c["name"], c["jsonPath"], int(c.get("wide", False))) for c in TABLE[kind]["printerColumns"]]
    assert columns[: len(known)] == known
    assert [(name, wide) for name, _, wide in columns[len(known) :]] == [
        *((name, 0) for name in PLAIN.get(kind, ())),
        *((name, 1) for name in OURS.get(kind, ())),
    ]


def test_all_kinds_of_the_table_are_defined_but_the_older_bindings() -> None:
    assert set(DEFINITIONS) == {*SERVED, "leeward.dev/v1alpha1/Outage"}


def test_outages_are_listed_with_what_people_ask_first() -> None:
    spec, version = DEFINITIONS["leeward.dev/v1alpha1/Outage"]
    columns = [column["name"] for column in version["additionalPrinterColumns"] if not column.get("priority")]
    assert columns == ["CLUSTER", "SINCE", "FOR", "MOVED", "HELD", "WORST"]
    assert (spec["scope"], spec["names"]["shortNames"]) == ("Cluster", ["outg"])
    assert "subresources" not in version, "it is made in one write"


def test_metadata_is_only_an_object() -> None:
    for _, version in DEFINITIONS.values():
        assert version["schema"]["openAPIV3Schema"]["properties"]["metadata"] == {"type": "object"}


def test_embedded_manifests_keep_what_is_in_them() -> None:
    schema = DEFINITIONS["work.karmada.io/v1alpha1/Work"][1]["schema"]["openAPIV3Schema"]
    manifests = schema["properties"]["spec"]["properties"]["workload"]["properties"]["manifests"]
    assert manifests["items"] == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def test_an_override_value_may_be_any_json() -> None:
    schema = DEFINITIONS["policy.karmada.io/v1alpha1/OverridePolicy"][1]["schema"]["openAPIV3Schema"]
    overriders = schema["properties"]["spec"]["properties"]["overriders"]["properties"]
    value = overriders["plaintext"]["items"]["properties"]["value"]
    assert {**value, "description": ""} == {"x-kubernetes-preserve-unknown-fields": True, "description": ""}


def test_schemas_are_structural_without_references() -> None:
    assert "$ref" not in json.dumps(custom_resource_definitions())


def every_field(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Fields that `kubectl explain` shows, also inside of lists and maps."""
    for name, child in schema.get("properties", {}).items():
        yield f"{path}.{name}", child
        yield from every_field(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from every_field(schema[inner], path)


@pytest.mark.parametrize("kind", sorted(DEFINITIONS))
def test_every_field_is_explained(kind: str) -> None:
    schema = DEFINITIONS[kind][1]["schema"]["openAPIV3Schema"]
    fields = list(every_field(schema))
    assert len(fields) > 10
    wordless = [path for path, field in fields if not field.get("description") and path != ".metadata"]
    assert wordless == []
    unclear = [path for path, field in fields if not 3 < len(field.get("description", "None.")) <= 160]
    assert unclear == [], "short, and no more than a line or two"
    assert all(field["description"].endswith(".") for path, field in fields if path != ".metadata")
    assert schema["description"]


def test_each_explanation_is_of_a_field_that_there_is() -> None:
    schemas = [version["schema"]["openAPIV3Schema"] for _, version in DEFINITIONS.values()]
    shown = {field.get("description") for schema in schemas for _, field in every_field(schema)}
    of_structs = {name: text for name, text in descriptions().items() if not name.startswith(f"{ANY_OBJECT}.")}
    unused = [name for name, text in of_structs.items() if text not in shown]
    assert unused == []


def test_a_definition_fits_into_an_annotation() -> None:
    """`kubectl apply` keeps what it has applied in one, of at most 256 KiB for all annotations."""
    sizes = {kind: len(json.dumps(spec)) for kind, (spec, _) in DEFINITIONS.items()}
    assert max(sizes.values()) < 65_536, sizes


def test_conditions_of_a_cluster_are_taken_as_others_report_them() -> None:
    """Karmada's aggregated API validates no status of a Cluster; of Works and bindings it requires every field."""

    def condition_of(kind: str) -> dict[str, Any]:
        schema = DEFINITIONS[kind][1]["schema"]["openAPIV3Schema"]
        return schema["properties"]["status"]["properties"]["conditions"]["items"]

    reported, checked = (
        condition_of("cluster.karmada.io/v1alpha1/Cluster"),
        condition_of("work.karmada.io/v1alpha1/Work"),
    )
    assert "required" not in reported
    assert reported["properties"]["reason"]["type"] == "string"
    assert "minLength" not in reported["properties"]["reason"]
    assert "enum" not in reported["properties"]["status"]
    assert set(checked["required"]) == {"type", "status", "reason", "message", "lastTransitionTime"}

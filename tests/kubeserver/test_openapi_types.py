"""Documents about kinds: deep, closed, and true to the structures that the server reads by."""

from collections.abc import Iterator
from typing import Any

import pytest

from kubeserver.builtin_kinds import BUILT_IN
from kubeserver.discovery.openapi_types import V2, V3, definition_name, definitions
from tests.kubeserver.api_world import ApiWorld, tell


def resolved(schemas: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    for reference in (schema.get("$ref"), *(part.get("$ref") for part in schema.get("allOf", ()))):
        if reference:
            return schemas[reference.rpartition("/")[2]]
    return schema


def field(schemas: dict[str, Any], kind: str, path: str) -> dict[str, Any]:
    """The schema at a dotted path; lists are looked into."""
    schema = schemas[kind]
    for part in path.split("."):
        schema = resolved(schemas, schema["properties"][part])
        schema = resolved(schemas, schema["items"]) if "items" in schema else schema
    return schema


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            if key == "$ref":
                yield str(item)  # pyright: ignore[reportUnknownArgumentType]
            yield from references(item)
    elif isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from references(item)


def test_a_built_in_kind_is_described_to_the_last_field():
    async def story(world: ApiWorld) -> None:
        document = (await world.get("/openapi/v3/apis/apps/v1")).body
        schemas = document["components"]["schemas"]
        deployment = "io.k8s.api.apps.v1.Deployment"
        containers = field(schemas, deployment, "spec.template.spec.containers")
        assert containers["required"] == ["name"]
        assert containers["properties"]["ports"]["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
        replicas = field(schemas, deployment, "spec.replicas")
        assert (replicas["type"], replicas["format"]) == ("integer", "int32")
        assert replicas["description"].startswith("Number of desired pods.")
        port = field(schemas, deployment, "spec.template.spec.containers.livenessProbe.httpGet.port")
        assert port == {"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"}
        assert field(schemas, deployment, "metadata.labels")["additionalProperties"] == {"type": "string"}
        assert field(schemas, deployment, "spec")["required"] == ["selector", "template"]
        spec = schemas[deployment]["properties"]["spec"]
        assert spec["description"] == "Specification of the desired behavior of the Deployment."
        assert schemas[deployment]["description"].startswith("Deployment enables declarative updates")

    tell(story)


@pytest.mark.parametrize("prefix", [V2, V3])
def test_every_reference_leads_somewhere_and_every_kind_has_fields(prefix: str):
    found = definitions(BUILT_IN, prefix)
    assert {reference.removeprefix(prefix) for reference in references(found)} <= set(found)
    for kind in BUILT_IN:
        assert {"apiVersion", "kind", "metadata"} <= set(found[definition_name(kind)]["properties"])
    assert all(found.values())

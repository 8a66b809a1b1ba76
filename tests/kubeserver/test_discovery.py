"""Requests of kubectl before it does anything: discovery, OpenAPI, tables."""

from typing import Any

import pytest

from kubeapi import codec
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    TABLE,
    ApiWorld,
    config_map,
    deployment,
    pod,
    tell,
    widgets,
)

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def _named(entries: list[dict[str, Any]], key: str, name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry[key] == name)


def test_plain_discovery_lists_groups_and_resources():
    async def story(world: ApiWorld) -> None:
        assert (await world.get("/api")).body["versions"] == ["v1"]
        groups = [group["name"] for group in (await world.get("/apis")).body["groups"]]
        assert {"apps", "example.com", "apiextensions.k8s.io"} <= set(groups)
        resources = (await world.get("/apis/apps/v1")).body["resources"]
        deployments = _named(resources, "name", "deployments")
        assert (deployments["shortNames"], deployments["categories"]) == (["deploy"], ["all"])
        assert _named(resources, "name", "deployments/scale")["kind"] == "Scale"
        assert (await world.get("/apis/example.com")).body["preferredVersion"]["version"] == "v1"

    tell(story, [widgets()])


def test_aggregated_discovery_says_the_same_in_one_answer():
    async def story(world: ApiWorld) -> None:
        answer = await world.call("GET", "/apis", accept=AGGREGATED)
        assert answer.headers["content-type"] == "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        group = next(item for item in answer.body["items"] if item["metadata"]["name"] == "example.com")
        assert [version["version"] for version in group["versions"]] == ["v1", "v1beta1"]
        (resource,) = group["versions"][0]["resources"]
        assert resource["responseKind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
        assert [sub["subresource"] for sub in resource["subresources"]] == ["status", "scale"]

    tell(story, [widgets()])


def test_the_old_aggregated_version_falls_back_to_the_plain_form():
    async def story(world: ApiWorld) -> None:
        accept = AGGREGATED.replace("v=v2;", "v=v2beta1;")
        assert (await world.call("GET", "/apis", accept=accept)).body["kind"] == "APIGroupList"

    tell(story)


def test_open_api_describes_custom_kinds_to_the_last_field():
    async def story(world: ApiWorld) -> None:
        index = codec.decode_manifest((await world.get("/openapi/v3")).body.encode())["paths"]
        assert {"api", "apis", "apis/apps", "version"} < index.keys()
        assert (await world.get("/openapi/v3/apis/apps")).body["paths"].keys() == {"/apis/apps/"}
        assert index["apis/example.com/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/example.com/v1?hash=")
        document = (await world.get("/openapi/v3/apis/example.com/v1")).body
        schema = document["components"]["schemas"]["com.example.v1.Widget"]
        assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 100
        patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
        assert {"fieldValidation", "dryRun"} <= {parameter["name"] for parameter in patch["parameters"]}
        assert patch["x-kubernetes-group-version-kind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}

    tell(story, [widgets()])


def test_discovery_comes_in_the_form_that_is_asked_for():
    async def story(world: ApiWorld) -> None:
        written = await world.call("GET", "/apis/apps/v1", accept="application/yaml")
        assert (written.code, "kind: APIResourceList" in written.body) == (200, True)
        refused = await world.call("GET", "/apis/apps", accept="text/html")
        assert refused.body["message"].startswith("406: Not Acceptable")
        custom = await world.call("GET", "/apis/example.com/v1", accept="text/html")
        assert custom.body["message"].startswith("only the following media types are accepted")

    tell(story, [widgets()])


async def _openapi_documents(world: ApiWorld) -> set[str]:
    index = await world.get("/openapi/v3")
    assert index.headers["content-type"].startswith("text/plain")
    return set(codec.decode_manifest(index.body.encode())["paths"])


def test_open_api_is_new_when_a_definition_is():
    async def story(world: ApiWorld) -> None:
        before = await _openapi_documents(world)
        await world.create(DEFINITIONS, widgets())
        after = await _openapi_documents(world)
        assert after - before == {"apis/example.com/v1", "apis/example.com/v1beta1"}

    tell(story)


def test_open_api_version_two_is_asked_for_as_protobuf_or_as_json():
    async def story(world: ApiWorld) -> None:
        wanted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
        assert (await world.call("GET", "/openapi/v2", accept=wanted)).code == 200
        assert (await world.call("GET", "/openapi/v2", accept="text/html")).code == 406
        document = (await world.get("/openapi/v2")).body
        assert document["swagger"] == "2.0"
        patch = document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
        assert {"name": "dryRun", "in": "query", "type": "string", "uniqueItems": True} in patch["parameters"]

    tell(story)


async def _row(world: ApiWorld, path: str) -> dict[str, Any]:
    table = (await world.call("GET", path, accept=TABLE)).body
    assert table["kind"] == "Table"
    return dict(zip((c["name"] for c in table["columnDefinitions"]), table["rows"][0]["cells"], strict=True))


def test_tables_show_what_kubectl_prints():
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("web", 3))
        await world.create(PODS, pod("a", nodeName="node1"))
        await world.create(CONFIG_MAPS, config_map("a", x="1", y="2"))
        web = await _row(world, DEPLOYMENTS)
        assert (web["Name"], web["Ready"], web["Images"], web["Selector"]) == ("web", "0/3", "image:1", "app=web")
        assert (await _row(world, CONFIG_MAPS))["Data"] == 2
        a = await _row(world, PODS)
        assert (a["Ready"], a["Status"], a["Restarts"], a["Node"], a["Age"]) == ("0/1", "Pending", "0", "node1", "0s")

    tell(story)


@pytest.mark.parametrize(
    ("include", "kind"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", "ConfigMap")]
)
def test_a_row_carries_as_much_of_its_object_as_is_asked_for(include: str, kind: str | None):
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        answer = await world.call("GET", CONFIG_MAPS, accept=TABLE, query={"includeObject": include})
        carried = answer.body["rows"][0]["object"]
        assert (carried and carried["kind"]) == kind

    tell(story)


def test_metadata_alone_can_be_listed():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a", k="v"))
        accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
        page = (await world.call("GET", CONFIG_MAPS, accept=accept)).body
        assert page["kind"] == "PartialObjectMetadataList"
        assert set(page["items"][0]) == {"kind", "apiVersion", "metadata"}

    tell(story)


def test_every_path_that_the_root_lists_is_answered():
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        paths = (await world.get("/")).body["paths"]
        assert {"/api/v1", "/apis/apiregistration.k8s.io/v1", "/apis/example.com/v1", "/readyz/etcd"} <= set(paths)
        assert {path: (await world.get(path)).code for path in paths} == dict.fromkeys(paths, 200)
        assert paths == sorted(paths)

    tell(story)

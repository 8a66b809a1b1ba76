"""Objects that are created, updated and patched: identity, versions, generations, and what is refused."""

import asyncio
from typing import Any

import pytest

from kubeapi.meta import Manifest
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    MERGE,
    PODS,
    STRATEGIC,
    WIDGETS,
    ApiWorld,
    config_map,
    deployment,
    tell,
    widget,
    widgets,
)

JSON_PATCH = "application/json-patch+json"


def test_a_new_object_gets_its_identity_from_the_server():
    async def story(world: ApiWorld) -> None:
        created = await world.create(CONFIG_MAPS, {**config_map("a", k="v"), "metadata": {"name": "a", "uid": "mine"}})
        assert created.code == 201
        metadata = created.body["metadata"]
        assert metadata["uid"] != "mine"
        assert metadata["namespace"] == "default"
        assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert (await world.get(f"{CONFIG_MAPS}/a")).body == created.body

    tell(story)


def test_generate_name_appends_a_suffix_to_the_prefix():
    async def story(world: ApiWorld) -> None:
        body: Manifest = {"metadata": {"generateName": "job-"}}
        first, second = await world.create(CONFIG_MAPS, body), await world.create(CONFIG_MAPS, body)
        assert first.name.startswith("job-")
        assert first.name != second.name

    tell(story)


def test_the_same_name_twice_is_a_conflict():
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        again = await world.create(CONFIG_MAPS, config_map("a"))
        assert (again.code, again.body["reason"]) == (409, "AlreadyExists")

    tell(story)


def test_a_new_object_has_to_be_right_before_its_name_is_looked_for() -> None:
    services = "/api/v1/namespaces/default/services"

    def service(name: str, address: str) -> Manifest:
        return {"metadata": {"name": name}, "spec": {"clusterIP": address, "ports": [{"port": 80}]}}

    async def story(world: ApiWorld) -> None:
        for _ in range(2):
            assert (await world.create(CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"a": "/"}}})).code == 422
            await world.create(CONFIG_MAPS, config_map("a"))
        for name, address, code in (
            ("a", "10.96.0.20", 201),
            ("a", "10.96.0.20", 422),
            ("a", "10.96.0.21", 409),
            ("b", "10.96.0.21", 201),
        ):
            assert (await world.create(services, service(name, address))).code == code, (name, address)

    tell(story)


def test_a_body_of_null_is_an_object_that_says_nothing() -> None:
    async def story(world: ApiWorld) -> None:
        answer = await world.create(CONFIG_MAPS, b"null")
        assert (answer.code, "metadata.name: Required value" in answer.body["message"]) == (422, True)

    tell(story)


def test_an_update_of_an_old_version_is_refused_and_one_without_a_version_is_not():
    async def story(world: ApiWorld) -> None:
        first = await world.create(CONFIG_MAPS, config_map("a", k="1"))
        await world.patch(f"{CONFIG_MAPS}/a", {"data": {"k": "2"}})
        stale = await world.update(f"{CONFIG_MAPS}/a", first.body)
        assert (stale.code, stale.body["reason"]) == (409, "Conflict")
        assert stale.body["message"].endswith("please apply your changes to the latest version and try again")
        assert (await world.update(f"{CONFIG_MAPS}/a", config_map("a", k="3"))).body["data"] == {"k": "3"}

    tell(story)


def test_an_update_that_changes_nothing_is_not_written():
    async def story(world: ApiWorld) -> None:
        created = await world.create(DEPLOYMENTS, deployment("web"))
        revision = world.store.revision
        assert (await world.update(f"{DEPLOYMENTS}/web", deployment("web"))).version == created.version
        assert world.store.revision == revision

    tell(story)


@pytest.mark.parametrize("size", [1, 200_000], ids=["small", "large"])
def test_concurrent_patches_of_one_object_are_all_applied(size: int):
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a", text="x" * size))
        patches = [world.patch(f"{CONFIG_MAPS}/a", {"data": {f"k{n}": "v"}}) for n in range(20)]
        assert {answer.code for answer in await asyncio.gather(*patches)} == {200}
        assert len((await world.get(f"{CONFIG_MAPS}/a")).body["data"]) == 21

    tell(story)


def test_only_one_of_two_creates_at_once_wins():
    async def story(world: ApiWorld) -> None:
        answers = await asyncio.gather(*(world.create(CONFIG_MAPS, config_map("a", by=str(n))) for n in range(5)))
        assert sorted(answer.code for answer in answers) == [201, 409, 409, 409, 409]

    tell(story)


def test_the_generation_counts_changes_of_the_spec_only():
    async def story(world: ApiWorld) -> None:
        path = f"{DEPLOYMENTS}/web"
        assert (await world.create(DEPLOYMENTS, deployment("web"))).body["metadata"]["generation"] == 1
        assert (await world.patch(path, {"metadata": {"labels": {"a": "b"}}})).body["metadata"]["generation"] == 1
        assert (await world.patch(f"{path}/status", {"status": {"replicas": 1}})).body["metadata"]["generation"] == 1
        assert (await world.patch(path, {"spec": {"replicas": 2}})).body["metadata"]["generation"] == 2

    tell(story)


def test_status_and_spec_are_written_separately():
    async def story(world: ApiWorld) -> None:
        path = f"{DEPLOYMENTS}/web"
        await world.create(DEPLOYMENTS, {**deployment("web"), "status": {"replicas": 9}})
        assert (await world.patch(path, {"status": {"replicas": 9}})).body["status"] == {}
        both = await world.patch(f"{path}/status", {"status": {"replicas": 1}, "spec": {"replicas": 9}})
        assert (both.body["spec"]["replicas"], both.body["status"]) == (1, {"replicas": 1})

    tell(story)


@pytest.mark.parametrize(
    ("content_type", "patch"),
    [
        ("application/merge-patch+json", {"data": {"a": None, "c": "3"}}),
        (STRATEGIC, {"data": {"a": None, "c": "3"}}),
        (JSON_PATCH, [{"op": "remove", "path": "/data/a"}, {"op": "add", "path": "/data/c", "value": "3"}]),
    ],
)
def test_three_kinds_of_patches_are_understood(content_type: str, patch: object):
    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a", a="1", b="2"))
        assert (await world.patch(f"{CONFIG_MAPS}/a", patch, content_type)).body["data"] == {"b": "2", "c": "3"}

    tell(story)


TYPES: list[tuple[str, str, Any, int]] = [
    (CONFIG_MAPS, STRATEGIC, {"kind": "Secret", "apiVersion": "v2"}, 200),
    (CONFIG_MAPS, STRATEGIC, {"kind": 1}, 422),
    (CONFIG_MAPS, MERGE, {"kind": None, "apiVersion": None}, 200),
    (CONFIG_MAPS, MERGE, {"kind": "Secret"}, 422),
    (CONFIG_MAPS, JSON_PATCH, [{"op": "remove", "path": "/kind"}], 200),
    (CONFIG_MAPS, JSON_PATCH, [{"op": "replace", "path": "", "value": "x"}], 422),
    (CONFIG_MAPS, JSON_PATCH, [{"op": "add", "path": "", "value": None}], 422),
    (WIDGETS, MERGE, {"kind": None}, 422),
    (WIDGETS, MERGE, {"kind": 1}, 422),
]


@pytest.mark.parametrize(("path", "content_type", "patch", "code"), TYPES)
def test_a_patch_need_not_say_what_it_makes_but_of_a_custom_object(
    path: str, content_type: str, patch: Any, code: int
) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        await asyncio.sleep(1)
        made = await world.create(path, config_map("a") if path == CONFIG_MAPS else widget("a", size=1))
        assert made.code == 201
        answer = await world.patch(f"{path}/a", patch, content_type)
        assert answer.code == code, answer.body
        assert (await world.get(f"{path}/a")).body["kind"] == made.body["kind"]

    tell(story)


@pytest.mark.parametrize(
    ("name", "why"), [(".", "may not be '.'"), ("..", "may not be '..'"), ("a%b", "may not contain '%'")]
)
def test_a_name_that_no_path_can_carry_is_refused(name: str, why: str) -> None:
    async def story(world: ApiWorld) -> None:
        for method in ("GET", "DELETE", "PATCH"):
            answer = await world.call(method, f"{CONFIG_MAPS}/{name}", {}, content_type=MERGE)
            assert (answer.code, answer.body["message"]) == (400, f'Name parameter invalid: "{name}": {why}')

    tell(story)


def test_a_dry_run_answers_as_the_real_one_and_stores_nothing():
    async def story(world: ApiWorld) -> None:
        tried = await world.create(CONFIG_MAPS, config_map("a", k="v"), dryRun="All")
        assert (tried.code, tried.body["data"]) == (201, {"k": "v"})
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 404
        await world.create(CONFIG_MAPS, config_map("a", k="v"))
        assert (await world.delete(f"{CONFIG_MAPS}/a", dryRun="All")).code == 200
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 200

    tell(story)


LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize(("path", "kind", "code"), [(LEASES, "Lease", 201), (CONFIG_MAPS, "ConfigMap", 404)])
def test_some_kinds_are_created_by_replacing_what_is_not_there(path: str, kind: str, code: int):
    async def story(world: ApiWorld) -> None:
        answer = await world.update(f"{path}/a", {"kind": kind, "metadata": {"name": "a"}})
        assert answer.code == code
        assert (await world.get(f"{path}/a")).code == (200 if code == 201 else 404)

    tell(story)


def test_lists_and_maps_without_anything_in_them_are_not_kept():
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"

    async def story(world: ApiWorld) -> None:
        made = await world.create(roles, {"kind": "Role", "metadata": {"name": "a"}, "rules": []})
        assert made.body["rules"] is None
        made = await world.create(CONFIG_MAPS, {**config_map("a"), "binaryData": {}})
        assert "binaryData" not in made.body

    tell(story)


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}


@pytest.mark.parametrize(
    ("scale", "code", "said"),
    [
        ({"metadata": {"name": "b"}}, 400, "the name of the object (b) does not match the name on the URL (a)"),
        ({"metadata": {}}, 400, "name must be provided"),
        ({"spec": {"replicas": "x"}}, 400, "Go struct field ScaleSpec.spec.replicas of type int32"),
        ({"spec": {"replicas": -1}}, 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        ({"metadata": {"name": "a", "uid": "x"}}, 409, "Precondition failed: UID in precondition: x"),
        (deployment("a"), 400, "converting (v1.Deployment) to (autoscaling.Scale): unknown conversion"),
    ],
)
def test_a_scale_is_read_as_any_object_is(scale: dict[str, object], code: int, said: str):
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("a"))
        refused = await world.update(f"{DEPLOYMENTS}/a/scale", {**SCALE, **scale})
        assert (refused.code, said in refused.body["message"]) == (code, True)

    tell(story)


def test_scale_is_a_view_of_the_replicas():
    async def story(world: ApiWorld) -> None:
        path = f"{DEPLOYMENTS}/web/scale"
        await world.create(DEPLOYMENTS, deployment("web", 2))
        scale = await world.get(path)
        assert (scale.body["spec"], scale.body["status"]["selector"]) == ({"replicas": 2}, "app=web")
        await world.update(path, {**scale.body, "spec": {"replicas": 5}})
        assert (await world.get(f"{DEPLOYMENTS}/web")).body["spec"]["replicas"] == 5
        assert (await world.patch(path, {"spec": {"replicas": -1}})).code == 422

    tell(story)


@pytest.mark.parametrize(
    ("path", "body", "code", "said"),
    [
        (CONFIG_MAPS, config_map("Bad_"), 422, 'metadata.name: Invalid value: "Bad_"'),
        (CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "other"}}, 400, "does not match the namespace"),
        (CONFIG_MAPS, {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "a"}}, 400, "as a ConfigMap"),
        (CONFIG_MAPS, {"metadata": {"name": "a", "labels": {"x": 1}}}, 400, "metadata.labels"),
        (CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": 1}}, 400, "data"),
        (CONFIG_MAPS, b"{", 400, "unexpected end of JSON input"),
        (DEPLOYMENTS, deployment("x", -1), 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (DEPLOYMENTS, {"metadata": {"name": "x"}}, 422, "spec.selector: Required value"),
        (PODS, {"metadata": {"name": "x"}, "spec": {"containers": "none"}}, 400, "spec.containers"),
        ("/api/v1/namespaces/nowhere/configmaps", config_map("a"), 404, 'namespaces "nowhere" not found'),
    ],
)
def test_bad_input_names_the_field(path: str, body: object, code: int, said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(path, body)
        assert (refused.code, refused.body["kind"]) == (code, "Status")
        assert said in refused.body["message"]

    tell(story)


def test_a_selector_is_immutable():
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("web"))
        labels = {"app": "web", "x": "y"}
        change = {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}}
        refused = await world.patch(f"{DEPLOYMENTS}/web", change)
        assert "spec.selector" in refused.body["message"]
        assert refused.body["message"].endswith("field is immutable")

    tell(story)


@pytest.mark.parametrize(
    ("method", "content_type"), [("PUT", "application/yaml"), ("PATCH", "application/apply-patch+yaml")]
)
def test_yaml_is_read_as_kubernetes_reads_it(method: str, content_type: str):
    """Words as sigs.k8s.io/yaml 1.6 of Kubernetes 1.36 reads them: `=` is a text, `08` a number, a tag is ignored."""
    text = (
        b"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec:\n  size: 08\n"
        b"  free: {match: =, many: 1e3, octal: 0o17, half: -.5, yes: n, tag: !Unknown x}\n"
    )

    async def story(world: ApiWorld) -> None:
        created = await world.create(WIDGETS, widget("a", size=3))
        version = created.body["metadata"]["resourceVersion"].encode()
        sent = text.replace(b"{name: a}", b'{name: a, resourceVersion: "%s"}' % version) if method == "PUT" else text
        query = {"fieldManager": "me", "force": "true"} if method == "PATCH" else {}
        answer = await world.call(method, f"{WIDGETS}/a", sent, query=query, content_type=content_type)
        assert answer.code == 200, answer.body
        free = {"match": "=", "many": 1000, "octal": 15, "half": -0.5, "true": False, "tag": "x"}
        assert (answer.body["spec"]["size"], answer.body["spec"]["free"]) == (8, free)

    tell(story, [widgets()])


@pytest.mark.parametrize(("validation", "code"), [("Strict", 400), ("Warn", 200), ("Ignore", 200)])
def test_fields_that_are_written_twice_in_yaml_are_refused_or_warned_of(validation: str, code: int):
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\ndata: {a: one}\ndata: {a: two}\n"

    async def story(world: ApiWorld) -> None:
        path = f"{CONFIG_MAPS}/cm"
        await world.create(CONFIG_MAPS, config_map("cm"))
        query = {"fieldValidation": validation, "fieldManager": "me"}
        forms = (("PUT", "application/yaml"), ("PATCH", "application/apply-patch+yaml"))
        for method, content_type in forms:
            answer = await world.call(method, path, text, query=query, content_type=content_type)
            assert answer.code == code, answer.body
            said = answer.headers.get("warning", "") if code == 200 else answer.body["message"]
            assert ("duplicate field" in said) == (validation != "Ignore")

    tell(story)

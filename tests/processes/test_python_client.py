"""The Python client `kubernetes` on a real API server: typed and dynamic, pages, patches, apply, and its watch."""

import threading
from collections.abc import Generator, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.processes.lone_server import LoneServer, lone_server

pytestmark = pytest.mark.processes

kubernetes: Any = import_module("kubernetes")
dynamic: Any = import_module("kubernetes.dynamic")
ApiException: type[Exception] = kubernetes.client.ApiException
NAMESPACE = "python"
WATCH_SECONDS = 30


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[LoneServer]:
    with lone_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def api(server: LoneServer) -> Iterator[Any]:
    kubeconfig = server.directory / "kubeconfig"
    server.write_kubeconfig(kubeconfig, NAMESPACE)
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as client:
        kubernetes.client.CoreV1Api(client).create_namespace({"metadata": {"name": NAMESPACE}})
        yield client


@pytest.fixture
def core(api: Any) -> Any:
    return kubernetes.client.CoreV1Api(api)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"made-by": "python"}}, "data": data}


def code_of(caught: pytest.ExceptionInfo[Exception]) -> int:
    status: Any = caught.value
    return status.status


def test_objects_are_created_read_replaced_and_deleted(core: Any) -> None:
    made = core.create_namespaced_config_map(NAMESPACE, config_map("crud", a="1"))
    assert (made.metadata.name, made.data) == ("crud", {"a": "1"})
    with pytest.raises(ApiException) as again:
        core.create_namespaced_config_map(NAMESPACE, config_map("crud"))
    assert code_of(again) == 409
    made.data = {"a": "2"}
    replaced = core.replace_namespaced_config_map("crud", NAMESPACE, made)
    assert core.read_namespaced_config_map("crud", NAMESPACE).data == {"a": "2"}
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("crud", NAMESPACE, made)
    assert code_of(stale) == 409
    assert core.delete_namespaced_config_map("crud", NAMESPACE)["status"] == "Success"
    with pytest.raises(ApiException) as gone:
        core.read_namespaced_config_map("crud", NAMESPACE)
    assert code_of(gone) == 404


def test_a_deployment_is_typed_through_and_through_and_scaled(api: Any) -> None:
    apps, models = kubernetes.client.AppsV1Api(api), kubernetes.client
    labels = {"app": "web"}
    container = models.V1Container(name="c", image="nginx", ports=[models.V1ContainerPort(container_port=80)])
    template = models.V1PodTemplateSpec(
        metadata=models.V1ObjectMeta(labels=labels), spec=models.V1PodSpec(containers=[container])
    )
    spec = models.V1DeploymentSpec(selector=models.V1LabelSelector(match_labels=labels), template=template, replicas=2)
    deployment = models.V1Deployment(metadata=models.V1ObjectMeta(name="web"), spec=spec)
    made = apps.create_namespaced_deployment(NAMESPACE, deployment)
    assert made.spec.strategy.rolling_update.max_surge == "25%", "defaults are filled in"
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 5}})
    assert apps.read_namespaced_deployment_scale("web", NAMESPACE).spec.replicas == 5
    status = {"status": {"replicas": 5, "readyReplicas": 3}}
    assert apps.patch_namespaced_deployment_status("web", NAMESPACE, status).status.ready_replicas == 3
    with pytest.raises(ApiException) as refused:
        apps.patch_namespaced_deployment("web", NAMESPACE, {"spec": {"replicas": -1}})
    assert code_of(refused) == 422


def test_patches_are_merged_as_their_form_says(core: Any) -> None:
    core.create_namespaced_config_map(NAMESPACE, config_map("patched", a="1", b="1"))
    merged = core.patch_namespaced_config_map("patched", NAMESPACE, {"data": {"a": None, "c": "1"}})
    assert merged.data == {"b": "1", "c": "1"}
    operations = [{"op": "replace", "path": "/data/b", "value": "2"}]
    assert core.patch_namespaced_config_map("patched", NAMESPACE, operations).data == {"b": "2", "c": "1"}


def test_a_list_comes_in_pages_of_one_revision(core: Any) -> None:
    for number in range(5):
        core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{number}") | {"immutable": True})
    names: list[str] = []
    revisions: set[str] = set()
    token = None
    while token != "":
        page = core.list_namespaced_config_map(
            NAMESPACE, label_selector="made-by=python", limit=2, _continue=token or None
        )
        names += [item.metadata.name for item in page.items]
        revisions.add(page.metadata.resource_version)
        token = page.metadata._continue or ""
        if len(names) == 2:
            core.create_namespaced_config_map(NAMESPACE, config_map("page-late"))
    assert [name for name in names if name.startswith("page-")] == [f"page-{number}" for number in range(5)]
    assert len(revisions) == 1


def test_a_watch_tells_what_happens_and_goes_on_where_it_was(core: Any) -> None:
    begin = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    options = {"label_selector": "watched", "resource_version": begin, "timeout_seconds": WATCH_SECONDS}
    labelled = {"metadata": {"name": "watched", "labels": {"watched": "yes"}}}

    def act() -> None:
        core.create_namespaced_config_map(NAMESPACE, labelled)
        core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"a": "1"}})
        core.delete_namespaced_config_map("watched", NAMESPACE)

    threading.Timer(0.3, act).start()
    watch = kubernetes.watch.Watch()
    events: list[tuple[str, Any]] = []
    for event in watch.stream(core.list_namespaced_config_map, NAMESPACE, **options):
        events.append((event["type"], event["object"]))
        if len(events) == 3:
            watch.stop()
    assert [kind for kind, _ in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert events[1][1].data == {"a": "1"}

    after_first = events[0][1].metadata.resource_version
    again = kubernetes.watch.Watch()
    resumed = list(
        again.stream(
            core.list_namespaced_config_map,
            NAMESPACE,
            **options | {"resource_version": after_first, "timeout_seconds": 1},
        )
    )
    assert [event["type"] for event in resumed] == ["MODIFIED", "DELETED"], "it ends by its own time-out"


def test_the_dynamic_client_finds_kinds_by_discovery_and_applies(api: Any) -> None:
    client = dynamic.DynamicClient(api)
    maps = client.resources.get(api_version="v1", kind="ConfigMap")
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"a": "1"}}
    maps.server_side_apply(body=applied, namespace=NAMESPACE, field_manager="first")
    with pytest.raises(Exception, match=r"conflict with \\\"first\\\"") as caught:
        maps.server_side_apply(
            body={**applied, "data": {"a": "2"}}, name="applied", namespace=NAMESPACE, field_manager="second"
        )
    assert code_of(caught) == 409
    forced = maps.server_side_apply(
        body={**applied, "data": {"a": "2"}},
        name="applied",
        namespace=NAMESPACE,
        field_manager="second",
        force_conflicts=True,
    )
    assert forced.data.a == "2"
    assert [item.metadata.name for item in maps.get(namespace=NAMESPACE, field_selector="metadata.name=applied").items]
    deployments = client.resources.get(api_version="apps/v1", kind="Deployment")
    assert "scale" in deployments.subresources
    maps.delete(name="applied", namespace=NAMESPACE)


def test_a_custom_kind_is_defined_and_used(api: Any) -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.python.example.com"},
        "spec": {
            "group": "python.example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    kubernetes.client.ApiextensionsV1Api(api).create_custom_resource_definition(definition)
    custom = kubernetes.client.CustomObjectsApi(api)
    where = ("python.example.com", "v1", NAMESPACE, "widgets")
    widget = {"apiVersion": "python.example.com/v1", "kind": "Widget", "metadata": {"name": "one"}, "spec": {"n": 1}}
    custom.create_namespaced_custom_object(*where, widget)
    assert custom.list_namespaced_custom_object(*where)["items"][0]["spec"] == {"n": 1}
    with pytest.raises(ApiException) as refused:
        custom.create_namespaced_custom_object(*where, {**widget, "metadata": {"name": "two"}, "spec": {"n": "x"}})
    assert code_of(refused) == 422


def test_events_leases_and_reviews_are_typed_too(api: Any, core: Any) -> None:
    lease = {"metadata": {"name": "lease"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}}
    made = kubernetes.client.CoordinationV1Api(api).create_namespaced_lease(NAMESPACE, lease)
    assert made.spec.holder_identity == "me"
    review = {"spec": {"user": "bob", "resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert kubernetes.client.AuthorizationV1Api(api).create_subject_access_review(review).status.allowed is False
    core.create_namespaced_service_account(NAMESPACE, {"metadata": {"name": "robot"}})
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, {"spec": {"expirationSeconds": 600}})
    assert token.status.token.count(".") == 2
    assert kubernetes.client.VersionApi(api).get_code().git_version.startswith("v1.")


def test_the_server_is_not_trusted_without_its_authority(server: LoneServer, tmp_path: Path) -> None:
    configuration = kubernetes.client.Configuration()
    configuration.host = server.url
    configuration.retries = False
    with kubernetes.client.ApiClient(configuration) as stranger, pytest.raises(Exception, match="CERTIFICATE_VERIFY"):
        kubernetes.client.VersionApi(stranger).get_code()

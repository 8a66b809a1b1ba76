"""The fixture of `kubeserver.testing`, as somebody uses it who knows nothing of how it is made."""

import time
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config

from kubeserver.testing import RunningServer, running_server, server

__all__ = ["server"]

DEADLINE_SECONDS = 30.0
WIDGETS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}


def api_of(server: RunningServer) -> Any:
    config: Any = kubernetes_config
    return config.new_client_from_config(str(server.kubeconfig))


def test_another_client_writes_and_reads_what_it_wrote(server: RunningServer) -> None:
    with api_of(server) as api:
        core: Any = kubernetes_client.CoreV1Api(api)
        core.create_namespaced_config_map("default", {"metadata": {"name": "colors"}, "data": {"sky": "blue"}})
        assert core.read_namespaced_config_map("colors", "default").data == {"sky": "blue"}


def test_a_namespace_that_ends_is_emptied_and_goes(server: RunningServer) -> None:
    with api_of(server) as api:
        core: Any = kubernetes_client.CoreV1Api(api)
        core.create_namespace({"metadata": {"name": "shop"}})
        core.create_namespaced_config_map("shop", {"metadata": {"name": "colors"}})
        core.delete_namespace("shop")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while any(each.metadata.name == "shop" for each in core.list_namespace().items):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_two_servers_know_nothing_of_each_other(server: RunningServer, tmp_path: Path) -> None:
    with running_server(tmp_path / "other", [WIDGETS]) as other, api_of(server) as here, api_of(other) as there:
        assert other.url != server.url
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
        objects: Any = kubernetes_client.CustomObjectsApi(there)
        objects.create_namespaced_custom_object("example.com", "v1", "default", "widgets", widget)
        strangers: Any = kubernetes_client.CustomObjectsApi(here)
        with pytest.raises(kubernetes_client.ApiException) as refused:
            strangers.list_namespaced_custom_object("example.com", "v1", "default", "widgets")
        assert "Reason: Not Found" in str(refused.value)


def test_what_it_cannot_start_for_is_told_where_it_is_started(tmp_path: Path) -> None:
    broken = {**WIDGETS, "spec": {**WIDGETS["spec"], "group": ""}}
    with pytest.raises(Exception, match="group"), running_server(tmp_path / "broken", [broken]):
        pass

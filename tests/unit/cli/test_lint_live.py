"""`leeward lint` against an API server that only keeps objects: what it says, and what it could not see."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import Layout
from tests.json_server import JsonServer, serve_json
from tests.ports import free_port
from tests.verbs import call_verb, issued

POLICIES = "/apis/policy.karmada.io/v1alpha1/propagationpolicies"
CORE: dict[str, Any] = {
    "kind": "APIResourceList",
    "groupVersion": "v1",
    "resources": [{"name": "secrets", "kind": "Secret", "namespaced": True, "verbs": ["list"]}],
}
POLICY: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "shop"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "v1", "kind": "Secret", "name": "token"}],
        "placement": {"clusterAffinity": {"clusterNames": ["a"]}},
    },
}
FILE = Path(__file__).parents[2] / "data/lint/LW001-near.yaml"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return issued(tmp_path_factory.mktemp("fleet"), LocalFleet(free_port()))


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        issued(layout.root, LocalFleet(server.port))
        server.objects["/version"] = {"gitVersion": "v1.31.0"}
        for name in ("a", "b"):
            cluster = {"metadata": {"name": name}, "spec": {"syncMode": "Push"}}
            server.objects[f"/apis/cluster.karmada.io/v1alpha1/clusters/{name}"] = cluster
        server.objects["/api/v1"] = CORE
        server.objects[f"{POLICIES}/p"] = POLICY
        yield server


def asked(layout: Layout, capsys: pytest.CaptureFixture[str], *more: object) -> tuple[int, Any]:
    code, out, _ = call_verb(capsys, "lint", *more, "--kubeconfig", layout.kubeconfig, "-o", "json")
    return code, json.loads(out)


def test_a_control_plane_is_looked_at_without_files(
    layout: Layout, server: JsonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = asked(layout, capsys)
    found = [(finding["rule"], finding["about"], finding["file"], finding["line"]) for finding in told["findings"]]
    assert (code, told["unseen"]) == (1, [])
    assert found == [("LW003", "PropagationPolicy shop/p", "", 0), ("LW015", "PropagationPolicy shop/p", "", 0)]
    server.objects["/api/v1/secrets/token"] = {"metadata": {"name": "token", "namespace": "shop"}}
    assert [finding["rule"] for finding in asked(layout, capsys)[1]["findings"]] == ["LW003"]


def test_what_could_not_be_read_is_named_and_is_not_taken_for_absent(
    layout: Layout, server: JsonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refusals["/api/v1/secrets"] = 403, b'{"kind": "Status", "message": "no right", "code": 403}'
    code, told = asked(layout, capsys)
    assert (code, [unseen.partition(":")[0] for unseen in told["unseen"]]) == (2, ["objects of kind Secret"])
    assert [finding["rule"] for finding in told["findings"]] == ["LW003"], "it may select something"


def test_files_are_looked_at_as_if_they_were_applied_there(
    layout: Layout, server: JsonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = asked(layout, capsys, FILE)
    assert (code, told["objects"]) == (1, 2)
    assert [finding["rule"] for finding in told["findings"]] == ["LW006"], "no cluster offers Deployments"


def test_a_server_that_is_no_control_plane_is_said_to_be_none(
    layout: Layout, server: JsonServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.refusals["/apis/cluster.karmada.io/v1alpha1/clusters"] = 404, b'{"kind": "Status", "code": 404}'
    code, out, err = call_verb(capsys, "lint", "--kubeconfig", layout.kubeconfig)
    assert (code, out) == (2, "")
    assert err.startswith("leeward: ")

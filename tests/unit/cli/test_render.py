"""`leeward render` as a user calls it: of files alone, and of a control plane with files that stand in for objects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeapi.yaml_reading import load_documents
from leeward.api.names import work_name
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import Layout
from tests.json_server import JsonServer, serve_json
from tests.ports import free_port
from tests.verbs import call_verb, issued

WORKLOAD: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "uid": "1", "labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "registry.example/web:1"}]},
        },
    },
}
OVERRIDE: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "OverridePolicy",
    "metadata": {"name": "tag", "namespace": "shop"},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
        "overrideRules": [
            {
                "targetCluster": {"clusterNames": ["a"]},
                "overriders": {"imageOverrider": [{"component": "Tag", "operator": "replace", "value": "2"}]},
            }
        ],
    },
}
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.karmada.io/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "a"},
    "spec": {"syncMode": "Push"},
}
SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "shop"},
    "data": {"key": "dmFsdWU="},
}


WORK = work_name("Deployment", "web", "shop")


def file_of(folder: Path, *manifests: dict[str, Any]) -> Path:
    """A file with these manifests."""
    path = folder / "manifests.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    return path


def image_of(manifest: dict[str, Any]) -> str:
    return manifest["spec"]["template"]["spec"]["containers"][0]["image"]


def rendered(out: str) -> dict[str, dict[str, Any]]:
    """The manifests of an answer, by cluster."""
    return {part.split("\n")[0].split()[1].rstrip(","): next(load_documents(part)) for part in out.split("---\n")}


def test_files_alone_are_rendered_for_the_clusters_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, WORKLOAD, OVERRIDE)
    asked = ("render", "deploy/web", "-n", "shop", "--offline", "-f", file, "--cluster", "a", "--cluster", "b")
    code, out, err = call_verb(capsys, *asked)
    assert code == 0
    assert "no policy has claimed the template" in err
    assert {cluster: image_of(each) for cluster, each in rendered(out).items()} == {
        "a": "registry.example/web:2",
        "b": "registry.example/web:1",
    }
    assert out.startswith("# a, overridden by OverridePolicy/tag\n")
    assert all(each["spec"]["replicas"] == 3 for each in rendered(out).values())


def test_values_of_a_secret_are_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("render", "secret/token", "-n", "shop", "--offline", "-f", file_of(tmp_path, SECRET), "--cluster", "a")
    code, out, _ = call_verb(capsys, *asked)
    assert code == 0
    assert rendered(out)["a"]["data"] == {"key": "***"}
    assert "dmFsdWU" not in out


@pytest.mark.parametrize("nasty", ["\x1b[2J", "a\n---\n# b", "\u202eforged"])
@pytest.mark.parametrize("form", [(), ("-o", "json"), ("--diff",)])
def test_texts_of_a_manifest_act_on_no_terminal_and_begin_no_document(
    nasty: str, form: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = {**WORKLOAD, "metadata": {**WORKLOAD["metadata"], "annotations": {"note": nasty}}}
    asked = ("render", "deploy/web", "-n", "shop", "--offline", "-f", file_of(tmp_path, marked), "--cluster", "a")
    out = call_verb(capsys, *asked, *form)[1]
    assert not {"\x1b", "\u202e"} & {*out}
    assert "\n# b" not in out


def test_an_override_that_fails_is_told_and_renders_nothing_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plaintext = [{"path": "/metadata/name", "operator": "replace", "value": "other"}]
    bad = {**OVERRIDE, "spec": {**OVERRIDE["spec"], "overrideRules": [{"overriders": {"plaintext": plaintext}}]}}
    file = file_of(tmp_path, WORKLOAD, bad)
    code, out, err = call_verb(
        capsys, "render", "deploy/web", "-n", "shop", "--offline", "-f", file, "--cluster", "a", "-o", "json"
    )
    (copy,) = json.loads(out)
    assert (code, copy["wanted"]) == (1, None)
    assert "OverridePolicy/tag: an override cannot change apiVersion" in copy["failure"]
    assert "leeward: a: not rendered: OverridePolicy/tag" in err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("deploy/web", "--offline"), "--offline takes everything from files"),
        (("deploy/none", "--offline", "-f", "FILE"), "deploy/none is in none of the files"),
        (("cluster/a", "--offline", "-f", "FILE"), "name an application, as deploy/web"),
        (("deploy/web", "--offline", "-f", "FILE"), "name one with --cluster"),
        (("deploy/web", "--offline", "-f", "/nowhere.yaml"), "/nowhere.yaml"),
        (("deploy/web", "--offline", "-f", "FILE", "-f", "CLUSTER", "--cluster", "z"), "no cluster 'z': choose from a"),
    ],
)
def test_what_was_asked_wrongly_says_the_way_out(
    more: tuple[str, ...], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more").mkdir()
    words = {"FILE": str(file_of(tmp_path, WORKLOAD)), "CLUSTER": str(file_of(tmp_path / "more", CLUSTER))}
    code, out, err = call_verb(capsys, "render", *(words.get(word, word) for word in more), "-n", "shop")
    assert (code, out) == (2, "")
    assert told in err


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
        deployments = {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get"]}
        server.objects["/apis/apps/v1"] = {
            "kind": "APIResourceList",
            "groupVersion": "apps/v1",
            "resources": [deployments],
        }
        server.objects["/apis/apps/v1/namespaces/shop/deployments/web"] = WORKLOAD
        server.objects["/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/web-deployment"] = {
            "metadata": {"name": "web-deployment", "namespace": "shop"},
            "spec": {
                "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "web"},
                "replicas": 3,
                "clusters": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 2}],
            },
        }
        yield server


def test_a_control_plane_is_asked_and_a_file_changes_one_cluster(
    layout: Layout, server: JsonServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("render", "deploy/web", "-n", "shop", "--kubeconfig", layout.kubeconfig)
    code, out, err = call_verb(capsys, *asked)
    before = rendered(out)
    assert (code, err) == (0, "")
    assert {cluster: each["spec"]["replicas"] for cluster, each in before.items()} == {"a": 1, "b": 2}
    for cluster, manifest in before.items():
        path = f"/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-{cluster}/works/{WORK}"
        server.objects[path] = {
            "metadata": {"name": WORK, "namespace": f"karmada-es-{cluster}"},
            "spec": {"workload": {"manifests": [manifest]}},
        }
    assert call_verb(capsys, *asked, "--diff") == (0, "", "")
    code, out, err = call_verb(capsys, *asked, "--cluster", "a", "--cluster", "NOPE")
    assert (code, out) == (2, "")
    assert "there is no cluster 'NOPE': choose from a, b" in err
    code, out, _ = call_verb(capsys, *asked, "--diff", "-f", file_of(tmp_path, OVERRIDE))
    assert code == 1
    assert [line for line in out.split("\n") if line[:1] in ("-", "+")] == [
        "--- a now",
        "+++ a then",
        "-      - image: registry.example/web:1",
        "+      - image: registry.example/web:2",
    ]

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER
from leeward.app.local import registration
from leeward.app.local.api import AdminClient, NoAnswer, Refused
from leeward.app.local.credentials import issue_credentials, read_token
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet, Member
from leeward.app.local.layout import Layout
from leeward.app.local.ports import pick_port
from leeward.app.local.registration import join_push_member, leave, wait_ready_clusters
from tests.json_server import JsonServer, serve_json

READY: Manifest = {"type": "Ready", "status": "True"}
MEMBER = Member("member1", "push", 20_001)
CLUSTERS = "/apis/cluster.karmada.io/v1alpha1/clusters"
CLUSTER = f"{CLUSTERS}/member1"
SECRET = "/api/v1/namespaces/karmada-cluster/secrets/member1"
WORK = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-member1/works/nginx"


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    layout = Layout(tmp_path_factory.mktemp("fleet"))
    issue_credentials(layout, LocalFleet(20_000, (MEMBER,)), Randomness(1))
    return layout


@pytest.fixture
def server(layout: Layout) -> Iterator[JsonServer]:
    with serve_json(layout) as server:
        yield server


@pytest.fixture
def api(layout: Layout, server: JsonServer) -> Iterator[AdminClient]:
    api = AdminClient(layout, server.port)
    yield api
    api.close()


def test_a_push_member_is_joined_with_its_token_and_authority(
    layout: Layout, server: JsonServer, api: AdminClient
) -> None:
    join_push_member(api, layout, MEMBER, "id-1")
    secret = {key: base64.b64decode(value) for key, value in server.objects[SECRET]["data"].items()}
    assert secret["token"].decode() == read_token(layout.tokens("member1"))
    assert secret["caBundle"] == (layout.pki / "ca.crt").read_bytes()
    spec = server.objects[CLUSTER]["spec"]
    assert spec["syncMode"] == "Push"
    assert spec["apiEndpoint"] == "https://127.0.0.1:20001"
    assert spec["secretRef"] == {"namespace": "karmada-cluster", "name": "member1"}
    assert spec["id"]


def test_the_administrator_shows_its_certificate(layout: Layout, server: JsonServer, api: AdminClient) -> None:
    api.list(CLUSTERS)
    assert any("system:masters" in user for user in server.users)


def test_joining_again_brings_a_changed_endpoint_up_to_date(
    layout: Layout, server: JsonServer, api: AdminClient
) -> None:
    join_push_member(api, layout, MEMBER, "id-1")
    join_push_member(api, layout, Member("member1", "push", 29_999), "id-1")
    assert server.objects[CLUSTER]["spec"]["apiEndpoint"] == "https://127.0.0.1:29999"


def test_a_member_that_left_leaves_no_secret(layout: Layout, server: JsonServer, api: AdminClient) -> None:
    join_push_member(api, layout, MEMBER, "id-1")
    leave(api, MEMBER)
    assert CLUSTER not in server.objects
    assert SECRET not in server.objects


def test_a_member_that_cannot_leave_says_how_to_go_on(
    layout: Layout, server: JsonServer, api: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "REMOVE_SECONDS", 0)
    join_push_member(api, layout, MEMBER, "id-1")
    server.objects[CLUSTER]["metadata"]["finalizers"] = ["karmada.io/cluster-controller"]
    with pytest.raises(FleetError, match=r"does not leave: .*Bring it back .*--force"):
        leave(api, MEMBER)
    assert SECRET in server.objects


def work(*finalizers: str) -> Manifest:
    metadata = {"name": "nginx", "uid": "u1", "resourceVersion": "7", "finalizers": [*finalizers]}
    return {"metadata": metadata}


def test_force_gives_up_the_works_of_a_dead_member(layout: Layout, server: JsonServer, api: AdminClient) -> None:
    join_push_member(api, layout, MEMBER, "id-1")
    server.objects[WORK] = work(EXECUTION_CONTROLLER_FINALIZER)
    leave(api, MEMBER, force=True)
    assert WORK not in server.objects


def test_force_leaves_the_finalizers_of_others_on_the_works(
    layout: Layout, server: JsonServer, api: AdminClient
) -> None:
    join_push_member(api, layout, MEMBER, "id-1")
    server.objects[WORK] = work("example.com/audit", EXECUTION_CONTROLLER_FINALIZER)
    leave(api, MEMBER, force=True)
    assert server.objects[WORK]["metadata"]["finalizers"] == ["example.com/audit"]
    assert CLUSTER not in server.objects


@pytest.mark.parametrize("changed", [{"uid": "u2"}, {"resourceVersion": "8"}])
def test_a_work_that_changed_while_it_was_given_up_is_looked_at_again(
    server: JsonServer, api: AdminClient, monkeypatch: pytest.MonkeyPatch, changed: Manifest
) -> None:
    server.objects[WORK] = work(EXECUTION_CONTROLLER_FINALIZER)
    merge = api.merge

    def late(path: str, patch: Manifest) -> Manifest:
        server.objects[path]["metadata"] |= changed
        return merge(path, patch)

    with monkeypatch.context() as patched:
        patched.setattr(api, "merge", late)
        leave(api, MEMBER, force=True)
    assert WORK in server.objects
    leave(api, MEMBER, force=True)
    assert WORK not in server.objects


def test_clusters_that_are_not_ready_in_time_are_named(
    server: JsonServer, api: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "READY_SECONDS", 0)
    for name, status in (("member1", "True"), ("member2", "False")):
        conditions = [{"type": "Ready", "status": status}]
        server.objects[f"{CLUSTERS}/{name}"] = {"metadata": {"name": name}, "status": {"conditions": conditions}}
    assert wait_ready_clusters(api, {"member1", "member2", "member3"}) == {"member2", "member3"}


def test_a_control_plane_that_answers_late_is_asked_again_until_its_clusters_are_ready(
    layout: Layout, server: JsonServer, api: AdminClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`leeward up` ended all processes where one answer was late: with large objects, it came up no more."""
    server.objects[CLUSTER] = {"metadata": {"name": "member1"}, "status": {"conditions": [READY]}}
    answer, late = api.list, iter((True, True, False))

    def sometimes(path: str) -> list[Manifest]:
        if next(late):
            raise NoAnswer("no answer in time")
        return answer(path)

    monkeypatch.setattr(api, "list", sometimes)
    assert wait_ready_clusters(api, {"member1"}) == set()
    assert next(late, None) is None


def test_a_refusal_is_passed_on_with_its_message(server: JsonServer, api: AdminClient) -> None:
    server.refusals[CLUSTERS] = (422, b'{"message": "spec.syncMode: Required value"}')
    with pytest.raises(Refused, match=r"spec\.syncMode: Required value"):
        api.list(CLUSTERS)


def test_an_answer_that_is_no_json_is_quoted(server: JsonServer, api: AdminClient) -> None:
    server.refusals[CLUSTERS] = (502, b"bad gateway")
    with pytest.raises(Refused, match="bad gateway"):
        api.list(CLUSTERS)


def test_a_server_that_is_not_there_does_not_answer(layout: Layout) -> None:
    with pytest.raises(NoAnswer, match=r"does not answer: .*refused"):
        AdminClient(layout, pick_port(Randomness())).list(CLUSTERS)


def test_a_missing_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(FleetError, match=r"the certificates in .* cannot be used"):
        AdminClient(Layout(tmp_path), 20_000)

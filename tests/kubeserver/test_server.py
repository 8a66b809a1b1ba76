"""The API server over all its layers: paths, health, reviews, admission, forms, and what is there after a restart."""

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeapi.transport import Request
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.handler import ANONYMOUS
from kubeserver.inprocess import InProcessTransport
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import ANSWER_SECONDS, CONFIG_MAPS, TABLE, ApiWorld, api_world, config_map, tell


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/nopes", 404),
        ("/apis/nowhere.example.com/v1/things", 404),
        ("/nowhere", 404),
        (f"{CONFIG_MAPS}/a/status", 404),
        ("/api/v1/configmaps/a", 404),
        ("/api/v1//namespaces/default/configmaps", 404),
        ("//api/v1/namespaces/default/configmaps", 404),
    ],
)
def test_unknown_paths_are_not_found(path: str, code: int):
    async def story(world: ApiWorld) -> None:
        assert (await world.get(path)).code == code

    tell(story)


def test_without_a_credential_only_health_and_version_answer():
    async def story(world: ApiWorld) -> None:
        answers = {
            path: (await world.call("GET", path, user=ANONYMOUS)).code
            for path in ("/healthz", "/readyz", "/livez", "/version", "/api", "/metrics", CONFIG_MAPS)
        }
        assert {path for path, code in answers.items() if code == 200} == {"/healthz", "/readyz", "/livez", "/version"}
        assert {code for code in answers.values() if code != 200} == {403}

    tell(story)


def test_a_server_that_is_made_unready_says_why_to_who_may_ask():
    async def story(world: ApiWorld) -> None:
        world.server.health.ready = False
        readyz = await world.call("GET", "/readyz", user=ANONYMOUS)
        assert (readyz.code, readyz.body.splitlines()[2:]) == (
            500,
            ["[-]ready failed: reason withheld", "readyz check failed"],
        )
        assert (await world.call("GET", "/readyz/ready", user=ANONYMOUS)).code == 403
        asked = await world.get("/readyz/ready")
        assert (asked.code, asked.body) == (500, "internal server error: made unready\n")
        assert (await world.get("/livez")).body == "ok"
        assert "[+]ping ok" in (await world.get("/livez", verbose="")).body

    tell(story)


def test_a_store_that_has_failed_is_named_to_everybody_and_explained_to_who_may_ask():
    medium = MemoryMedium()

    async def story() -> None:
        async with api_world(medium) as world:
            medium.break_down("input/output error")
            await world.call("POST", "/api/v1/namespaces", body={"metadata": {"name": "lost"}})
            for probe in ("/readyz", "/livez", "/healthz"):
                told = await world.call("GET", probe, user=ANONYMOUS)
                assert told.code == 500
                assert "[-]etcd failed: the store has failed: see the log of the server" in told.body
            assert (await world.call("GET", "/readyz/etcd", user=ANONYMOUS)).code == 403
            assert "input/output error" in (await world.get("/readyz/etcd")).body

    run_virtual(story())


def test_checks_can_be_left_out_of_a_probe():
    async def story(world: ApiWorld) -> None:
        world.server.health.ready = False
        assert (await world.get("/readyz", exclude="ready")).body == "ok"
        request = Request(
            "GET", "/readyz", {"exclude": "ready", "verbose": ""}, {}, b"", "exclude=ready&exclude=x&verbose"
        )
        told = await InProcessTransport(world.server).send(request, timeout_seconds=ANSWER_SECONDS)
        assert told.body.decode().splitlines() == [
            "[+]ping ok",
            "[+]etcd ok",
            "[+]ready excluded: ok",
            'warn: some health checks cannot be excluded: no matches for "x"',
            "readyz check passed",
        ]

    tell(story)


def test_reviews_are_answered_and_not_stored():
    async def story(world: ApiWorld) -> None:
        asked = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        assert (await world.create(path, asked)).body["status"] == {"allowed": True}
        assert (await world.get(path)).code == 405

    tell(story)


class _Gatekeeper:
    """Labels ConfigMaps, and refuses those named `bad` and the deletion of those named `kept`."""

    def admit(self, review: AdmissionReview) -> Manifest:
        name = review.object["metadata"].get("name")
        if review.resource.kind != "ConfigMap":
            return review.object
        if name == "bad":
            raise Rejected(problems=[Problem.invalid("data", "x", "is bad")])
        if review.operation == "DELETE" and name == "kept":
            raise Rejected("it is needed")
        return {**review.object, "metadata": {**review.object["metadata"], "labels": {"admitted": "yes"}}}


def test_admission_changes_and_refuses_objects():
    async def play() -> None:
        async with api_world(admission=[_Gatekeeper()]) as world:
            admitted = await world.create(CONFIG_MAPS, config_map("kept"))
            assert admitted.body["metadata"]["labels"] == {"admitted": "yes"}
            assert (await world.create(CONFIG_MAPS, config_map("bad"))).code == 422
            refused = await world.delete(f"{CONFIG_MAPS}/kept")
            assert (refused.code, refused.body["reason"]) == (403, "Forbidden")
            assert "it is needed" in refused.body["message"]

    run_virtual(play())


def test_everything_is_there_after_a_restart():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            created = await world.create(CONFIG_MAPS, config_map("a", k="v"))
        async with api_world(medium) as world:
            assert (await world.get(f"{CONFIG_MAPS}/a")).body == created.body
            assert (await world.get("/api/v1/namespaces")).names == [
                "default",
                "kube-node-lease",
                "kube-public",
                "kube-system",
            ]

    run_virtual(play())


def test_yaml_goes_in_and_comes_out():
    async def story(world: ApiWorld) -> None:
        body = b"metadata:\n  name: a\ndata:\n  k: v\n"
        assert (await world.call("POST", CONFIG_MAPS, body, content_type="application/yaml")).code == 201
        shown = await world.call("GET", f"{CONFIG_MAPS}/a", accept="application/yaml")
        assert "  name: a\n" in shown.body

    tell(story)


def test_what_cannot_be_accepted_is_406():
    async def story(world: ApiWorld) -> None:
        assert (await world.call("GET", CONFIG_MAPS, accept="application/xml")).code == 406
        assert (await world.call("GET", CONFIG_MAPS, accept=f"application/xml, {TABLE}")).body["kind"] == "Table"

    tell(story)

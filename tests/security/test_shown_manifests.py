"""Manifests on the page: read with the user's own rights, and without the values of Secrets, wherever these lie."""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Response
from kubeclient import Client, Request
from kubecluster.network import Answering, Link, LinkedTransport
from kubeserver.handler import StreamResponse
from leeward.dashboard import asked_as_user
from leeward.dashboard.asked_as_user import HIDDEN, LABELS_SECONDS, MOST_LETTERS, AskedAsUser, without_secrets
from leeward.dashboard.context import SESSION_HEADER, DashboardContext
from leeward.dashboard.user_shares import TooManyAtOnce
from leeward.sim.world import ADMIN, World
from tests.recorded_views import context_of
from tests.security.worlds import namespaces, user_with
from tests.world.stories import POLICIES, apply, by_weight, deployment, play, policy

CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
VALUE = "correct-horse-battery"
ENCODED = base64.b64encode(VALUE.encode()).decode()
LABELLED = {"route": "/api/labelled", "asked": "/api/labelled?selector=app%3Dshop"}
LAST = "kubectl.kubernetes.io/last-applied-configuration"
SECRET: Manifest = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "db", "annotations": {LAST: json.dumps({"data": {"password": ENCODED}})}},
    "data": {"password": ENCODED},
}


async def shown(
    context: DashboardContext, client: Client, user: str, route: str, asked: str, **found: str
) -> tuple[int, Any]:
    """The status and the answer that a user gets."""
    session = await context.sessions.begin(user, client, is_own=False)
    await context.look_at_rights(session)
    (handler,) = (each.handler for each in AskedAsUser(context).routes() if each.path == route)
    request = make_mocked_request("GET", asked, {SESSION_HEADER: session.id}, match_info=found)
    answer: Any = await handler(request)  # pyright: ignore
    return answer.status, json.loads(answer.body)


def manifests_of(namespace: str, kind: str, name: str) -> Mapping[str, str]:
    where = {"namespace": namespace, "kind": kind, "name": name}
    return {"route": "/api/manifests/{namespace}/{kind}/{name}", "asked": "/api/manifests/x", **where}


def test_values_of_a_secret_are_hidden_in_its_template_and_in_its_works() -> None:
    async def story(world: World) -> None:
        await world.client.create(SECRETS, SECRET, "default")
        await world.client.create(POLICIES, policy("db", by_weight({"member1": 1}), "Secret", "v1"), "default")
        await world.until(lambda: "member1" in world.assigned("db-secret"), 60)
        async with Supervisor("page") as supervisor:
            context = context_of(world, supervisor)
            asked = manifests_of("default", "Secret", "db")
            status, told = await shown(context, world.client, "admin", **asked)
        assert status == 200
        parts = {each["part"]: each["yaml"] for each in told["manifests"]}
        assert set(parts) == {"Template", "Policy", "Binding", "Work in member1"}
        text = json.dumps(told)
        assert VALUE not in text
        assert ENCODED not in text
        assert f"password: {HIDDEN}" in parts["Template"]
        assert f"password: {HIDDEN}" in parts["Work in member1"]

    play(story)


def test_a_user_reads_with_their_own_rights_and_no_more() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "open", "closed")
        for namespace in ("open", "closed"):
            await apply(
                world.client, deployment("shop", 2), policy("shop", by_weight({"member1": 1})), namespace=namespace
            )
        await world.until(lambda: bool(world.assigned("shop-deployment", "closed")), 60)
        jo = await user_with(world, "jo", "open", "work.karmada.io", "resourcebindings")
        async with Supervisor("page") as supervisor:
            context = context_of(world, supervisor)
            context.follower.start()
            await world.sleep(5)
            status, told = await shown(context, jo, "jo", **manifests_of("closed", "Deployment", "shop"))
            assert (status, "may not list resourcebindings" in told["error"]) == (403, True)
            status, told = await shown(context, jo, "jo", **manifests_of("open", "Deployment", "shop"))
            parts = {each["part"]: (bool(each["yaml"]), each["problem"]) for each in told["manifests"]}
            assert parts["Template"] == (False, "jo may not get deployments")
            assert parts["Work in member1"] == (False, "jo may not get works")
            status, told = await shown(context, jo, "jo", **LABELLED)
            assert (status, told["keys"]) == (200, [])
            assert told["problems"][0].startswith("Deployment: ")
            status, told = await shown(context, world.client, "admin", **LABELLED)
            assert told == {"keys": ["closed/Deployment/shop", "open/Deployment/shop"], "problems": []}

    play(story)


def test_an_object_that_is_too_large_is_not_rendered() -> None:
    async def story(world: World) -> None:
        large: Manifest = {"metadata": {"name": "large"}, "data": {"a": "b\n" * MOST_LETTERS}}
        await world.client.create(CONFIG_MAPS, large, "default")
        await world.client.create(POLICIES, policy("large", by_weight({"member1": 1}), "ConfigMap", "v1"), "default")
        await world.until(lambda: "member1" in world.assigned("large-configmap"), 60)
        async with Supervisor("page") as supervisor:
            asked = manifests_of("default", "ConfigMap", "large")
            _, told = await shown(context_of(world, supervisor), world.client, "admin", **asked)
        parts = {each["part"]: (each["yaml"], each["problem"]) for each in told["manifests"]}
        assert parts["Template"] == ("", "it has more than 200000 letters: kubectl shows it")
        assert "kind: PropagationPolicy" in parts["Policy"][0]

    play(story)


def test_a_question_about_labels_ends_at_its_deadline_and_with_the_next_one() -> None:
    async def story(world: World) -> None:
        small: Manifest = {"metadata": {"name": "small", "labels": {"app": "shop"}}}
        await world.client.create(CONFIG_MAPS, small, "default")
        await world.client.create(POLICIES, policy("small", by_weight({"member1": 1}), "ConfigMap", "v1"), "default")
        await apply(world.client, deployment("shop", 2), policy("shop", by_weight({"member1": 1})))
        await world.until(lambda: bool(world.assigned("shop-deployment") and world.assigned("small-configmap")), 60)
        slow = Link()
        client = Client(LinkedTransport(world.place, ADMIN, slow))
        async with Supervisor("page") as supervisor:
            context = context_of(world, supervisor)
            context.follower.start()
            await world.sleep(5)
            session = await context.sessions.begin("admin", client, is_own=False)
            await context.look_at_rights(session)
            labelled = next(each.handler for each in AskedAsUser(context).routes() if each.path == LABELLED["route"])

            async def ask() -> Any:
                request = make_mocked_request("GET", LABELLED["asked"], {SESSION_HEADER: session.id})
                answer: Any = await labelled(request)  # pyright: ignore
                return json.loads(answer.body)

            both = ["default/ConfigMap/small", "default/Deployment/shop"]
            assert await ask() == {"keys": both, "problems": []}
            slow.latency_seconds = LABELS_SECONDS * 0.4
            begun = world.clock.monotonic()
            earlier = asyncio.ensure_future(ask())
            await world.sleep(1)
            told = await ask()
            assert told == {"keys": both[1:], "problems": ["ConfigMap: not read within 20 seconds"]}
            assert world.clock.monotonic() - begun <= LABELS_SECONDS + 2
            with pytest.raises(TooManyAtOnce, match="another question"):
                await earlier
            slow.latency_seconds = 0
            assert await ask() == {"keys": both, "problems": []}

    play(story)


def test_labels_are_asked_for_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asked_as_user, "PAGE", 1)

    async def story(world: World) -> None:
        for name in ("shop", "till"):
            template = deployment(name, 1)
            template["metadata"]["labels"] = {"app": "shop"}
            await apply(world.client, template, policy(name, by_weight({"member1": 1})))
        await world.until(lambda: bool(world.assigned("till-deployment") and world.assigned("shop-deployment")), 60)
        async with Supervisor("page") as supervisor:
            context = context_of(world, supervisor)
            context.follower.start()
            await world.sleep(5)
            limits = list[str]()

            async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
                if request.path.endswith("/deployments") and "labelSelector" in request.query:
                    limits.append(request.query.get("limit", ""))
                return await answer()

            world.place.audit = audit
            _, told = await shown(context, world.client, "admin", **LABELLED)
        assert told == {"keys": ["default/Deployment/shop", "default/Deployment/till"], "problems": []}
        assert limits == ["1", "1"]

    play(story)


def test_what_holds_a_secret_hides_it_at_any_depth() -> None:
    work: Manifest = {
        "kind": "Work",
        "metadata": {
            "name": "w",
            "managedFields": [{"manager": VALUE}],
            "annotations": {"policy.karmada.io/applied-overrides": VALUE},
        },
        "spec": {"workload": {"manifests": [{**SECRET, "stringData": {"password": VALUE}}]}},
    }
    listed: Manifest = {"kind": "List", "metadata": {}, "items": [SECRET]}
    for each in (work, listed, {"kind": "Config", "spec": {"template": SECRET}, "metadata": {}}):
        text = json.dumps(without_secrets(each))
        assert VALUE not in text
        assert ENCODED not in text
    plain: Manifest = {"kind": "ConfigMap", "metadata": {"annotations": {"a": "b"}}, "data": {"key": "value"}}
    assert without_secrets(plain) == plain

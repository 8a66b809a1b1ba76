"""Manifests on the page: read with the user's own rights, and without the values of Secrets, wherever these lie."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from aiohttp.test_utils import make_mocked_request

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.client import Client
from leeward.dashboard.asked_as_user import HIDDEN, AskedAsUser, without_secrets
from leeward.dashboard.context import SESSION_HEADER, DashboardContext
from leeward.sim.world import World
from tests.recorded_views import context_of
from tests.security.worlds import namespaces, user_with
from tests.world.stories import POLICIES, apply, by_weight, deployment, play, policy

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
VALUE = "correct-horse-battery"
ENCODED = base64.b64encode(VALUE.encode()).decode()
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
            labelled = {"route": "/api/labelled", "asked": "/api/labelled?selector=app%3Dshop"}
            status, told = await shown(context, jo, "jo", **labelled)
            assert (status, told["keys"]) == (200, [])
            assert told["problems"][0].startswith("Deployment: ")
            status, told = await shown(context, world.client, "admin", **labelled)
            assert told == {"keys": ["closed/Deployment/shop", "open/Deployment/shop"], "problems": []}

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

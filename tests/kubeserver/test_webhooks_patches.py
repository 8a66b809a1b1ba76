"""Admission webhooks: what they may change of an object, and what they may not."""

from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    PODS,
    ApiWorld,
    config_map,
    deployment,
    pod,
    tell,
)
from tests.kubeserver.webhooks import (
    MUTATING,
    VALIDATING,
    InProcessWebhooks,
    allow,
    label,
    mutating,
    patch,
    rule,
    validating,
    webhook,
)


def test_a_mutating_webhook_changes_the_object_before_it_is_stored_and_before_others_judge_it():
    hooks = InProcessWebhooks(change=label("seen", "yes"), judge=allow)

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge")))
        await world.create(MUTATING, mutating("b", webhook("change")))
        created = await world.create(CONFIG_MAPS, config_map("cm"))
        assert created.code == 201
        assert created.body["metadata"]["labels"] == {"seen": "yes"}
        assert hooks.requests["judge"][0]["object"]["metadata"]["labels"] == {"seen": "yes"}
        assert (await world.get(f"{CONFIG_MAPS}/cm")).body["metadata"]["labels"] == {"seen": "yes"}

    tell(story, webhook_client=hooks)


def test_what_a_patch_brings_is_defaulted_and_checked_like_anything_else():
    sidecar = {"op": "add", "path": "/spec/containers/-", "value": {"name": "proxy", "image": "proxy:1"}}
    nameless = {"op": "add", "path": "/spec/containers/-", "value": {"image": "proxy:1"}}
    hooks = InProcessWebhooks(sidecar=patch(sidecar), broken=patch(nameless))

    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("a", webhook("sidecar", rule("pods"))))
        created = await world.create(PODS, pod("one"))
        assert created.body["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"
        await world.create(MUTATING, mutating("b", webhook("broken", rule("pods"))))
        refused = await world.create(PODS, pod("two"))
        assert refused.code == 422
        assert "spec.containers[2].name" in refused.body["message"]

    tell(story, webhook_client=hooks)


def test_a_patch_can_change_neither_who_an_object_is_nor_what_the_request_may_not():
    forged = [
        {"op": "replace", "path": "/metadata/uid", "value": "forged"},
        {"op": "replace", "path": "/metadata/name", "value": "forged"},
        {"op": "add", "path": "/status", "value": {"replicas": 7}},
        {"op": "replace", "path": "/spec/replicas", "value": 3},
    ]
    hooks = InProcessWebhooks(change=patch(*forged))

    async def story(world: ApiWorld) -> None:
        deployments = webhook("change", rule("deployments", "apps"))
        await world.create(MUTATING, mutating("a", deployments))
        created = (await world.create(DEPLOYMENTS, deployment("d"))).body
        assert created["metadata"]["name"] == "d"
        assert created["metadata"]["uid"] != "forged"
        assert created["spec"]["replicas"] == 3
        assert "replicas" not in created.get("status", {})
        assert created["metadata"]["generation"] == 1

    tell(story, webhook_client=hooks)


def test_a_webhook_on_the_status_cannot_change_the_spec():
    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("d"))
        await world.create(MUTATING, mutating("a", webhook("change", rule("deployments/status", "apps"))))
        status = {"status": {"replicas": 1}}
        written = (await world.patch(f"{DEPLOYMENTS}/d/status", status)).body
        assert written["spec"]["replicas"] == 1
        assert written["status"]["replicas"] == 2

    operations = (
        {"op": "replace", "path": "/spec/replicas", "value": 9},
        {"op": "replace", "path": "/status/replicas", "value": 2},
    )
    tell(story, webhook_client=InProcessWebhooks(change=patch(*operations)))


def test_a_patch_that_cannot_be_applied_refuses_the_request_whatever_the_policy():
    odd = patch({"op": "remove", "path": "/data/nothing"})

    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("a", webhook("odd", failurePolicy="Ignore")))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert "returned a patch that cannot be applied: operation 0 (remove /data/nothing)" in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks(odd=odd))

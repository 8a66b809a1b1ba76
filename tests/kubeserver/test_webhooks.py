"""Admission webhooks: what they are shown and what they say, in which order, and what comes of it."""

import asyncio
from typing import Any

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Request
from kubeserver.handler import User
from kubeserver.handlers.audit import Audit
from kubeserver.inprocess import ADMIN
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    ApiWorld,
    api_world,
    config_map,
    tell,
)
from tests.kubeserver.webhooks import (
    MUTATING,
    VALIDATING,
    InProcessWebhooks,
    allow,
    deny,
    label,
    mutating,
    rule,
    validating,
    webhook,
)


def test_a_validating_webhook_sees_the_write_and_its_refusal_is_the_answer():
    hooks = InProcessWebhooks(judge=deny("not on Fridays"))

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge")))
        alice = User("alice", ("system:masters",), "7", (("team", ("blue", "red")),))
        refused = await world.call("POST", CONFIG_MAPS, config_map("cm", key="value"), user=alice)
        assert refused.code == 403
        assert refused.body["message"] == 'admission webhook "judge.example.com" denied the request: not on Fridays'
        assert (await world.get(f"{CONFIG_MAPS}/cm")).code == 404
        [request] = hooks.requests["judge"]
        core = {"group": "", "version": "v1"}
        assert request["kind"] == request["requestKind"] == {**core, "kind": "ConfigMap"}
        assert request["resource"] == request["requestResource"] == {**core, "resource": "configmaps"}
        assert (request["name"], request["namespace"], request["operation"]) == ("cm", "default", "CREATE")
        assert request["userInfo"] == {
            "username": "alice",
            "uid": "7",
            "groups": ["system:masters"],
            "extra": {"team": ["blue", "red"]},
        }
        assert request["object"]["data"] == {"key": "value"}
        assert request["oldObject"] is None
        assert request["dryRun"] is False
        assert request["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}

    tell(story, webhook_client=hooks)


def test_a_refusal_without_words_still_is_one():
    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge")))
        refused = await world.create(CONFIG_MAPS, config_map("cm"))
        assert refused.code == 400
        said = 'admission webhook "judge.example.com" denied the request without explanation'
        assert refused.body["message"] == said

    tell(story, webhook_client=InProcessWebhooks(judge=lambda request: {"allowed": False}))


def test_a_webhook_cannot_protect_its_own_configuration():
    everything = {**rule("*", "*", "*"), "scope": "*"}

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", everything)))
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 403
        assert (await world.delete(f"{VALIDATING}/a")).code == 200
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201

    tell(story, webhook_client=InProcessWebhooks(judge=deny("never")))


def test_a_dry_run_says_so_and_stores_nothing():
    hooks = InProcessWebhooks(judge=allow)

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", sideEffects="NoneOnDryRun")))
        assert (await world.create(CONFIG_MAPS, config_map("a"), dryRun="All")).code == 201
        assert hooks.requests["judge"][0]["dryRun"] is True
        assert (await world.get(f"{CONFIG_MAPS}/a")).code == 404

    tell(story, webhook_client=hooks)


def test_warnings_reach_the_client_whether_the_request_is_allowed_or_not():
    def careful(request: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": request["name"] != "b", "warnings": ["old field", 'say "please"']}

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge")))
        for name, code in (("a", 201), ("b", 400)):
            answer = await world.create(CONFIG_MAPS, config_map(name))
            assert answer.code == code
            assert answer.headers["warning"] == '299 - "old field", 299 - "say \\"please\\""'

    tell(story, webhook_client=InProcessWebhooks(judge=careful))


def test_annotations_of_a_webhook_are_in_the_audit_log():
    lines: list[bytes] = []
    hooks = InProcessWebhooks(judge=lambda request: {"auditAnnotations": {"reason": "looks fine"}})

    async def main() -> None:
        async with api_world(webhook_client=hooks) as world:
            await world.create(VALIDATING, validating("a", webhook("judge")))
            await world.create(MUTATING, mutating("open", webhook("gone", failurePolicy="Ignore")))
            audit = Audit(world.server, lines.append, VirtualClock(), Randomness(1))
            body = b'{"metadata":{"name":"cm"}}'
            await audit.handle(Request("POST", CONFIG_MAPS, {}, {}, body), ADMIN)

    run_virtual(main())
    assert b'"judge.example.com/reason":"looks fine"' in lines[0]
    assert b'"failed-open.mutating.webhook.admission.k8s.io/round_0_index_0":"gone.example.com"' in lines[0]


def test_webhooks_are_asked_in_the_order_of_their_configurations_names():
    seen: list[str] = []

    def noted(name: str) -> Any:
        def answer(request: dict[str, Any]) -> dict[str, Any]:
            seen.append(name)
            return {}

        return answer

    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("z", webhook("last")))
        await world.create(MUTATING, mutating("a", webhook("second"), webhook("first")))
        await world.create(CONFIG_MAPS, config_map("cm"))
        assert seen == ["second", "first", "last"]

    hooks = InProcessWebhooks(first=noted("first"), second=noted("second"), last=noted("last"))
    tell(story, webhook_client=hooks)


def test_a_webhook_sees_again_what_another_changed_after_it_if_it_wants_to():
    hooks = InProcessWebhooks(early=allow, never=allow, change=label("seen", "yes"))

    async def story(world: ApiWorld) -> None:
        early = webhook("early", reinvocationPolicy="IfNeeded")
        change = webhook("change", reinvocationPolicy="IfNeeded")
        await world.create(MUTATING, mutating("a", early, webhook("never"), change))
        await world.create(CONFIG_MAPS, config_map("cm"))
        shown = [request["object"]["metadata"].get("labels") for request in hooks.requests["early"]]
        assert shown == [None, {"seen": "yes"}]
        assert len(hooks.requests["never"]) == len(hooks.requests["change"]) == 1

    tell(story, webhook_client=hooks)


def test_a_write_that_comes_while_a_webhook_thinks_is_not_lost():
    hooks = InProcessWebhooks(judge=allow)
    hooks.delay_seconds = 2.0

    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("cm"))
        await world.create(VALIDATING, validating("a", webhook("judge")))
        patches = ({"data": {"one": "1"}}, {"data": {"two": "2"}})
        await asyncio.gather(*(world.patch(f"{CONFIG_MAPS}/cm", patch) for patch in patches))
        assert (await world.get(f"{CONFIG_MAPS}/cm")).body["data"] == {"one": "1", "two": "2"}
        assert len(hooks.requests["judge"]) == 3

    tell(story, webhook_client=hooks)


def test_nothing_is_created_in_a_namespace_that_ended_while_a_webhook_thought():
    hooks = InProcessWebhooks(judge=allow)
    hooks.delay_seconds = 2.0

    async def story(world: ApiWorld) -> None:
        namespaces = "/api/v1/namespaces"
        await world.create(namespaces, {"metadata": {"name": "short"}})
        await world.create(VALIDATING, validating("a", webhook("judge")))
        creation = asyncio.create_task(world.create(f"{namespaces}/short/configmaps", config_map("cm")))
        await asyncio.sleep(1)
        await world.delete(f"{namespaces}/short")
        assert (await creation).code == 404
        assert (await world.get("/api/v1/configmaps")).names == []

    tell(story, webhook_client=hooks)

"""Admission webhooks: whom they see, what they may change, and what happens when they fail."""

import asyncio
from typing import Any

import pytest

from leeward.api.meta import Manifest
from leeward.apiserver.audit import Audit
from leeward.apiserver.connecting import ConnectRequest
from leeward.apiserver.handler import User
from leeward.apiserver.inprocess import ADMIN
from leeward.client.transport import Request, Response
from leeward.loop.clock import VirtualClock
from leeward.loop.randomness import Randomness
from leeward.loop.virtual import run_virtual
from tests.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    WIDGETS,
    ApiWorld,
    api_world,
    config_map,
    deployment,
    pod,
    tell,
    widget,
    widgets,
)
from tests.webhooks import (
    MUTATING,
    VALIDATING,
    InProcessWebhooks,
    allow,
    deny,
    label,
    mutating,
    patch,
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


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        (rule("configmaps"), True),
        (rule("*"), True),
        (rule("*/*"), True),
        (rule("configmaps/*"), True),
        (rule("secrets"), False),
        (rule("configmaps", "apps"), False),
        (rule("configmaps", "*", "*"), True),
        (rule("configmaps", "", "v2"), False),
        (rule("configmaps", "", "v1", "UPDATE", "DELETE"), False),
        (rule("configmaps/status"), False),
        ({**rule("configmaps"), "scope": "Namespaced"}, True),
        ({**rule("configmaps"), "scope": "Cluster"}, False),
    ],
)
def test_rules_say_which_requests_a_webhook_sees(written: Manifest, seen: bool):
    hooks = InProcessWebhooks(judge=allow)

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", written)))
        await world.create(CONFIG_MAPS, config_map("cm"))
        assert len(hooks.requests["judge"]) == seen

    tell(story, webhook_client=hooks)


RIGHTS = "authorizer.requestResource"
ROBOT = "authorizer.serviceAccount('default', 'robot').group('').resource('configmaps')"


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"namespaceSelector": {"matchLabels": {"env": "prod"}}}, False),
        ({"namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]}}, True),
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, True),
        ({"objectSelector": {"matchLabels": {"app": "db"}}}, False),
        ({"matchConditions": [{"name": "big", "expression": "size(object.data) > 1"}]}, False),
        ({"matchConditions": [{"name": "admin", "expression": "request.userInfo.username == 'admin'"}]}, True),
        ({"matchConditions": [{"name": "create", "expression": "oldObject == null"}]}, True),
        ({"matchConditions": [{"name": "may", "expression": f"{RIGHTS}.check('delete').allowed()"}]}, True),
        ({"matchConditions": [{"name": "robot", "expression": f"{ROBOT}.check('delete').allowed()"}]}, False),
    ],
)
def test_selectors_and_conditions_narrow_what_a_webhook_sees(fields: dict[str, Any], seen: bool):
    hooks = InProcessWebhooks(judge=allow)

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", **fields)))
        labelled = config_map("cm", key="value")
        labelled["metadata"]["labels"] = {"app": "web"}
        await world.create(CONFIG_MAPS, labelled)
        assert len(hooks.requests["judge"]) == seen

    tell(story, webhook_client=hooks)


def test_an_object_that_loses_the_selected_label_is_still_seen():
    hooks = InProcessWebhooks(judge=allow)

    async def story(world: ApiWorld) -> None:
        labelled = config_map("cm")
        labelled["metadata"]["labels"] = {"app": "web"}
        await world.create(CONFIG_MAPS, labelled)
        selected = webhook("judge", objectSelector={"matchLabels": {"app": "web"}})
        await world.create(VALIDATING, validating("a", selected))
        await world.patch(f"{CONFIG_MAPS}/cm", {"metadata": {"labels": None}})
        await world.patch(f"{CONFIG_MAPS}/cm", {"data": {"key": "value"}})
        assert [request["operation"] for request in hooks.requests["judge"]] == ["UPDATE"]

    tell(story, webhook_client=hooks)


def test_a_namespace_is_selected_by_its_own_labels():
    hooks = InProcessWebhooks(judge=deny("no"))

    async def story(world: ApiWorld) -> None:
        selected = webhook("judge", rule("namespaces"), namespaceSelector={"matchLabels": {"env": "prod"}})
        await world.create(VALIDATING, validating("a", selected))
        namespace: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "free"}}
        assert (await world.create("/api/v1/namespaces", namespace)).code == 201
        namespace["metadata"] = {"name": "held", "labels": {"env": "prod"}}
        assert (await world.create("/api/v1/namespaces", namespace)).code == 403

    tell(story, webhook_client=hooks)


def test_an_equivalent_webhook_sees_another_version_as_the_one_that_it_knows():
    spec = {"op": "replace", "path": "/spec/size", "value": 9}
    hooks = InProcessWebhooks(change=patch(spec), exact=deny("not this version"))

    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        old = rule("widgets", "example.com", "v1beta1")
        await world.create(MUTATING, mutating("a", webhook("change", old)))
        await world.create(VALIDATING, validating("a", webhook("exact", old, matchPolicy="Exact")))
        created = await world.create(WIDGETS, widget("w", size=3))
        assert created.code == 201
        assert (created.body["apiVersion"], created.body["spec"]["size"]) == ("example.com/v1", 9)
        [request] = hooks.requests["change"]
        assert request["kind"]["version"] == request["resource"]["version"] == "v1beta1"
        assert request["object"]["apiVersion"] == "example.com/v1beta1"
        assert request["requestKind"]["version"] == request["requestResource"]["version"] == "v1"

    tell(story, webhook_client=hooks)


def test_deletions_show_what_goes_and_can_be_refused():
    hooks = InProcessWebhooks(judge=deny("it is needed"))

    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("cm", key="value"))
        await world.create(VALIDATING, validating("a", webhook("judge", rule("configmaps", "", "v1", "DELETE"))))
        assert (await world.delete(f"{CONFIG_MAPS}/cm")).code == 403
        assert (await world.delete(CONFIG_MAPS)).code == 403
        assert (await world.get(f"{CONFIG_MAPS}/cm")).code == 200
        request = hooks.requests["judge"][0]
        assert (request["operation"], request["object"]) == ("DELETE", None)
        assert request["oldObject"]["data"] == {"key": "value"}
        assert request["options"]["kind"] == "DeleteOptions"

    tell(story, webhook_client=hooks)


def test_the_scale_of_an_object_is_shown_as_a_scale():
    most = patch({"op": "replace", "path": "/spec/replicas", "value": 4})
    hooks = InProcessWebhooks(change=most, whole=deny("not asked for"))

    async def story(world: ApiWorld) -> None:
        await world.create(DEPLOYMENTS, deployment("d"))
        await world.create(MUTATING, mutating("a", webhook("change", rule("deployments/scale", "apps"))))
        await world.create(VALIDATING, validating("a", webhook("whole", rule("deployments", "apps"))))
        scaled = await world.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 100}})
        assert scaled.body["spec"]["replicas"] == 4
        [request] = hooks.requests["change"]
        assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        assert (request["resource"]["resource"], request["subResource"]) == ("deployments", "scale")
        assert request["object"]["spec"]["replicas"] == 100
        assert request["oldObject"]["spec"]["replicas"] == 1

    tell(story, webhook_client=hooks)


def test_evictions_and_connections_can_be_refused():
    hooks = InProcessWebhooks(judge=deny("leave it alone"))

    async def story(world: ApiWorld) -> None:
        await world.create(PODS, pod("p"))
        await world.create(VALIDATING, validating("a", webhook("judge", rule("pods/*", "", "v1", "CREATE", "CONNECT"))))
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        assert (await world.create(f"{PODS}/p/eviction", eviction)).code == 403
        assert (await world.create(f"{PODS}/p/exec", None)).code == 403
        assert (await world.get(f"{PODS}/p")).code == 200
        evicted, connected = hooks.requests["judge"]
        assert (evicted["kind"]["kind"], evicted["subResource"], evicted["name"]) == ("Eviction", "eviction", "p")
        assert (connected["operation"], connected["kind"]["kind"]) == ("CONNECT", "PodExecOptions")
        assert (connected["subResource"], connected["name"]) == ("exec", "p")

    tell(story, webhook_client=hooks)


def test_tokens_and_reviews_can_be_refused_and_changed_like_anything_that_is_created():
    hooks = InProcessWebhooks(judge=deny("no tokens"), change=patch({"op": "add", "path": "/spec/extra", "value": 1}))
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    async def story(world: ApiWorld) -> None:
        await world.create(accounts, {"metadata": {"name": "a"}})
        await world.create(
            VALIDATING, validating("a", webhook("judge", rule("serviceaccounts/token", "", "v1", "CREATE")))
        )
        refused = await world.create(f"{accounts}/a/token", {"spec": {"audiences": ["x"]}})
        assert (refused.code, "no tokens" in refused.body["message"]) == (403, True)
        [asked] = hooks.requests["judge"]
        assert (asked["kind"]["kind"], asked["subResource"], asked["name"]) == ("TokenRequest", "token", "a")
        changing = webhook("change", rule("selfsubjectaccessreviews", "authorization.k8s.io", "v1", "CREATE"))
        await world.create(MUTATING, mutating("b", changing))
        body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        answer = await world.create(review, body)
        assert (answer.code, answer.body["spec"]["extra"]) == (201, 1)

    tell(story, webhook_client=hooks)


def test_what_leads_out_of_the_server_can_be_refused():
    hooks = InProcessWebhooks(judge=deny("stay here"))

    async def nowhere(asked: ConnectRequest) -> Response:
        raise AssertionError(asked)

    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        world.server.connect("example.com", "widgets", "proxy", nowhere)
        await world.create(VALIDATING, validating("a", webhook("judge", rule("*/proxy", "*", "*", "CONNECT"))))
        refused = await world.get("/apis/example.com/v1/widgets/a/proxy/version")
        assert (refused.code, "stay here" in refused.body["message"]) == (403, True)
        [asked] = hooks.requests["judge"]
        assert asked["object"] == {"kind": "WidgetProxyOptions", "apiVersion": "example.com/v1", "path": "/version"}

    tell(story, webhook_client=hooks)


def test_a_webhook_that_fails_refuses_the_request_or_is_passed_over_as_its_policy_says():
    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("open", webhook("gone", failurePolicy="Ignore")))
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201
        await world.create(VALIDATING, validating("closed", webhook("gone")))
        refused = await world.create(CONFIG_MAPS, config_map("b"))
        assert refused.code == 500
        assert 'failed calling webhook "gone.example.com"' in refused.body["message"]
        assert "nobody listens at https://webhooks.example/gone" in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks())


def test_a_webhook_has_its_time_and_no_more():
    hooks = InProcessWebhooks(judge=allow)
    hooks.delay_seconds = 3.0

    async def story(world: ApiWorld) -> None:
        await world.create(VALIDATING, validating("a", webhook("judge", timeoutSeconds=2)))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert "https://webhooks.example/judge: no answer within 2 s" in refused.body["message"]
        await world.patch(f"{VALIDATING}/a", {"webhooks": [webhook("judge", timeoutSeconds=4)]})
        assert (await world.create(CONFIG_MAPS, config_map("a"))).code == 201

    tell(story, webhook_client=hooks)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"uid": "another"}, "expected response.uid="),
        ({"patchType": "JSONPatch"}, "patchType but not response.patch"),
        ({"patch": "e30=", "patchType": "MergePatch"}, 'patchType="MergePatch"'),
        ({"patch": "***", "patchType": "JSONPatch"}, "no JSON in base64"),
        ({"allowed": "yes"}, "no AdmissionReview"),
    ],
)
def test_an_answer_that_is_none_is_a_failure(fields: dict[str, Any], why: str):
    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("a", webhook("odd")))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert why in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks(odd=lambda request: fields))


def test_a_patch_that_cannot_be_applied_refuses_the_request_whatever_the_policy():
    odd = patch({"op": "remove", "path": "/data/nothing"})

    async def story(world: ApiWorld) -> None:
        await world.create(MUTATING, mutating("a", webhook("odd", failurePolicy="Ignore")))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert refused.code == 500
        assert "returned a patch that cannot be applied: operation 0 (remove /data/nothing)" in refused.body["message"]

    tell(story, webhook_client=InProcessWebhooks(odd=odd))


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


def test_a_service_leads_to_its_ready_endpoints_or_its_external_name():
    hooks = InProcessWebhooks()
    services = "/api/v1/namespaces/default/services"
    slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"

    async def story(world: ApiWorld) -> None:
        reference = {"namespace": "default", "name": "hook", "path": "/judge"}
        judge = webhook("judge", clientConfig={"service": reference, "caBundle": ""})
        await world.create(VALIDATING, validating("a", judge))
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert 'service "hook" not found in the namespace "default"' in refused.body["message"]
        service: Manifest = {"metadata": {"name": "hook"}, "spec": {"ports": [{"name": "tls", "port": 443}]}}
        await world.create(services, service)
        refused = await world.create(CONFIG_MAPS, config_map("a"))
        assert 'no endpoints available for service "hook"' in refused.body["message"]
        endpoints = [
            {"addresses": ["10.0.0.1"], "conditions": {"ready": False}},
            {"addresses": ["10.0.0.2"], "conditions": {"ready": True}},
        ]
        metadata = {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}}
        port = {"name": "tls", "port": 8443}
        found = {"metadata": metadata, "addressType": "IPv4", "endpoints": endpoints, "ports": [port]}
        assert (await world.create(slices, found)).code == 201
        await world.create(CONFIG_MAPS, config_map("a"))
        last = hooks.addresses[-1]
        assert (last.url, last.server_name) == ("https://10.0.0.2:8443/judge", "hook.default.svc")
        external = {"spec": {"type": "ExternalName", "externalName": "hooks.example"}}
        assert (await world.patch(f"{services}/hook", external)).code == 200
        await world.create(CONFIG_MAPS, config_map("a"))
        assert hooks.addresses[-1].url == "https://hooks.example:443/judge"

    tell(story, webhook_client=hooks)


def test_a_configuration_is_defaulted_and_a_wrong_one_is_refused_field_by_field():
    wrong = {
        "name": "short",
        "clientConfig": {"url": "http://plain.example"},
        "rules": [{**rule("pods"), "operations": ["READ"]}],
        "timeoutSeconds": 31,
        "admissionReviewVersions": ["v1beta1"],
        "matchConditions": [{"name": "odd", "expression": "object."}],
    }

    async def story(world: ApiWorld) -> None:
        created = (await world.create(MUTATING, mutating("a", webhook("ok")))).body["webhooks"][0]
        assert (created["failurePolicy"], created["matchPolicy"]) == ("Fail", "Equivalent")
        assert (created["timeoutSeconds"], created["reinvocationPolicy"]) == (10, "Never")
        assert (created["namespaceSelector"], created["objectSelector"]) == ({}, {})
        assert created["rules"][0]["scope"] == "*"
        refused = await world.create(VALIDATING, validating("b", wrong))
        assert refused.code == 422
        assert {cause["field"].removeprefix("webhooks[0].") for cause in refused.body["details"]["causes"]} == {
            "name",
            "admissionReviewVersions",
            "clientConfig.url",
            "sideEffects",
            "timeoutSeconds",
            "rules[0].operations[0]",
            "matchConditions[0].expression",
        }

    tell(story, webhook_client=InProcessWebhooks())


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

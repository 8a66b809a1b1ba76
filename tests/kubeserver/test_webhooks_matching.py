"""Admission webhooks: which requests they see, and as what."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.transport import Response
from kubeserver.handlers.connecting import ConnectRequest
from tests.kubeserver.api_world import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    PODS,
    WIDGETS,
    ApiWorld,
    config_map,
    deployment,
    pod,
    tell,
    widget,
    widgets,
)
from tests.kubeserver.webhooks import (
    MUTATING,
    VALIDATING,
    InProcessWebhooks,
    allow,
    deny,
    mutating,
    patch,
    rule,
    validating,
    webhook,
)


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
